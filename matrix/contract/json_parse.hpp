// JSON text as a value, where two equal keys in one object are an error: readers of JSON disagree on which of the two
// counts, so a document that holds both means different things to different readers.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace reprobench {

struct ParsedJson {
  nlohmann::json value;
  std::string
      problem;  // empty: none; "not JSON", "`loss` stands twice in one object", "a number too large for any type"
  std::string doubled_key;     // of that problem
  bool is_malformed = false;   // not JSON
  std::size_t error_byte = 0;  // of that, from 0
};

ParsedJson parse_json(std::string_view text);

}  // namespace reprobench
