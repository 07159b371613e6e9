// The JSON Schema (draft-07) of a described document or of the lines of a file.
#pragma once

#include <span>

#include <nlohmann/json.hpp>

#include "matrix/contract/document/shape.hpp"

namespace reprobench {

// The keys keep the order of the description, in which people read them.
using SchemaJson = nlohmann::ordered_json;

namespace document_detail {

SchemaJson document_schema(const Shape& shape);
SchemaJson lines_schema(const char* title, std::span<const Shape* const> lines);

}  // namespace document_detail

template <Described T>
SchemaJson document_schema() {
  return document_detail::document_schema(document_detail::shape_of<T>);
}

// The schema of a file of lines, each of which is one of `Lines`.
template <Described... Lines>
SchemaJson lines_schema(const char* title) {
  static constexpr std::array<const document_detail::Shape*, sizeof...(Lines)> shapes = {
      &document_detail::shape_of<Lines>...};
  return document_detail::lines_schema(title, shapes);
}

}  // namespace reprobench
