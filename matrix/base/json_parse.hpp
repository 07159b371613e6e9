// JSON text as a value, where two equal keys in one object are an error: readers of JSON disagree on which of the two
// counts, so a document that holds both means different things to different readers. So is one that is nested deeper
// than any document is: who writes, compares or shows a value goes into it.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace reprobench {

struct ParsedJson {
  nlohmann::json value;
  // Empty: none; "not JSON", "`loss` stands twice in one object", "a number too large for any type", "nested deeper
  // than 256".
  std::string problem;
  std::string doubled_key;     // of that problem
  bool is_malformed = false;   // not JSON
  std::size_t error_byte = 0;  // of that, from 0
};

inline constexpr std::size_t kMostJsonDepth = 256;

ParsedJson parse_json(std::string_view text);

// As nlohmann's parser without exceptions does, "discarded" where there is any problem.
nlohmann::json json_or_discarded(std::string_view text);

}  // namespace reprobench
