// Writes a described struct as JSON text, without a tree of values in between and with keys in the order of the
// description. It serves documents of many equal parts, and text that is hashed.
#pragma once

#include "matrix/base/json_text.hpp"
#include "matrix/contract/document/shape.hpp"

namespace reprobench {
namespace document_detail {

void write_text_part(JsonText& out, const Shape& shape, void* value);
void write_text_fields(JsonText& out, Callback<void(FieldVisitor&)> fields);

}  // namespace document_detail

// Writes some fields of a struct, like written_fields.
template <class Fields>
void write_text_fields(JsonText& out, const Fields& fields) {
  document_detail::write_text_fields(out, document_detail::Callback<void(FieldVisitor&)>(fields));
}

template <Described T>
void write_text(JsonText& out, const T& value) {
  // As in writer.hpp, the value is not changed.
  document_detail::write_text_part(out, document_detail::shape_of<T>, const_cast<T*>(&value));
}

}  // namespace reprobench
