// A described struct as JSON.
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

// With its head or its kind, where it has them.
template <Described T>
nlohmann::json written(const T& value) {
  // `fields` serves readers too, so it takes what it may change; a writer changes nothing.
  return document_detail::written_part(document_detail::shape_of<T>, const_cast<T*>(&value));
}

// Some fields of a struct, without head: `written_fields([&](auto& field) { ... })`.
template <class Fields>
nlohmann::json written_fields(const Fields& fields) {
  return document_detail::written_fields(document_detail::Callback<void(FieldVisitor&)>(fields));
}

}  // namespace reprobench
