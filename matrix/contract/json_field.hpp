// Reads a field of a document: returns the value, or throws a ContractError that names document and field.
#pragma once

#include <cstdint>
#include <optional>
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

// Nothing if the document is older than the field and lacks it.
template <class T>
std::optional<T> optional_field(const char* document, const nlohmann::json& object, const char* key) {
  return object.contains(key) ? std::optional(required<T>(document, object, key)) : std::nullopt;
}

// The same for a moment or a duration: never negative, and at most the largest integer that every reader of JSON keeps
// exactly.
inline std::optional<std::int64_t> optional_time(const char* document, const nlohmann::json& object, const char* key) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 53;
  const auto value = optional_field<std::int64_t>(document, object, key);
  if (value && (*value < 0 || *value > kLargest)) {
    throw ContractError(std::string(document) + ": `" + key + "` is no time");
  }
  return value;
}

}  // namespace reprobench
