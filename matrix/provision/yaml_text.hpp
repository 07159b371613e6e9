// Writes text of a stack file.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace reprobench {

// A double-quoted scalar of YAML, which takes every string of JSON.
inline std::string quoted_scalar(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace reprobench
