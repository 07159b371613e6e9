// Reading a field of a document: the value, or a ContractError that names document and field.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "matrix/contract/version.hpp"

namespace reprobench {

template <class T>
T required(const char* document, const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) throw ContractError(std::string(document) + ": `" + key + "` is missing");
  try {
    return found->get<T>();
  } catch (const nlohmann::json::exception&) {
    throw ContractError(std::string(document) + ": `" + key + "` has the wrong type");
  }
}

}  // namespace reprobench
