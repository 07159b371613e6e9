// Reads JSON text as a value. Two equal keys in one object are an error. Readers of JSON disagree on which of the two
// counts, so a document that holds both means different things to different readers. Nesting deeper than that of any
// document is an error too, because code that writes, compares or shows a value calls itself for each level.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace reprobench {

struct ParsedJson {
  nlohmann::json value;
  // Empty if there is none. Others are "not JSON", "`loss` stands twice in one object", "a number too large for any
  // type", and "nested deeper than 256".
  std::string problem;
  std::string doubled_key;     // the key that stands twice
  bool is_malformed = false;   // the text is not JSON
  std::size_t error_byte = 0;  // where it stops being JSON, from 0
};

inline constexpr std::size_t kMostJsonDepth = 256;

ParsedJson parse_json(std::string_view text);

// The same for an object of a million members, which never stands in memory as a whole: each member is passed on as
// soon as it was read, and `value` stays an empty object. A key that stands twice in that object itself is passed on
// twice; within a member it is a problem. So is a member of more than kMostMemberValues values, which would stand in
// memory after all.
inline constexpr std::size_t kMostMemberValues = 100'000;
using AcceptMember = std::function<void(const std::string& key, const nlohmann::json& value)>;
ParsedJson parse_json_members(std::string_view text, const AcceptMember& accept);

// The value, or nlohmann's "discarded" if there is any problem, like nlohmann's parser without exceptions.
nlohmann::json json_or_discarded(std::string_view text);

}  // namespace reprobench
