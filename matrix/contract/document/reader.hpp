// Reads a described struct from JSON. Any mistake is a ContractError in one sentence that names document and field:
// "result: `fingerprint/threads` is missing".
#pragma once

#include "matrix/contract/document/writer.hpp"

namespace reprobench {
namespace document_detail {

// `name` is the document's name in messages.
void read_document(const nlohmann::json& json, const char* name, const Shape& shape, void* value);
void read_fields(const nlohmann::json& json, const char* name, Callback<void(FieldVisitor&)> fields);

}  // namespace document_detail

// Throws ContractError. `name` is the document's name in messages.
template <Described T>
T read_document(const nlohmann::json& json, const char* name = Description<T>::about.name) {
  T value;
  document_detail::read_document(json, name, document_detail::shape_of<T>, &value);
  return value;
}

// The inverse of written_fields. `name` is the document's name in messages.
template <class Fields>
void read_fields_of(const nlohmann::json& json, const char* name, const Fields& fields) {
  document_detail::read_fields(json, name, document_detail::Callback<void(FieldVisitor&)>(fields));
}

}  // namespace reprobench
