// Writes a described struct as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "matrix/base/number.hpp"
#include "matrix/contract/document/shape.hpp"
#include "matrix/contract/version.hpp"

namespace reprobench {
namespace document_detail {

nlohmann::json written_part(const Shape& shape, void* value);
nlohmann::json written_fields(Callback<void(FieldVisitor&)> fields);

}  // namespace document_detail

// The whole document or line, with its head or its kind if it has them.
template <Described T>
nlohmann::json written(const T& value) {
  // `fields` serves readers too, so it takes a value that can be changed; a writer changes nothing.
  return document_detail::written_part(document_detail::shape_of<T>, const_cast<T*>(&value));
}

// Writes some fields of a struct, without a head: `written_fields([&](auto& field) { ... })`.
template <class Fields>
nlohmann::json written_fields(const Fields& fields) {
  return document_detail::written_fields(document_detail::Callback<void(FieldVisitor&)>(fields));
}

}  // namespace reprobench
