#include "matrix/contract/json_parse.hpp"

#include <set>
#include <vector>

namespace reprobench {
namespace {

using nlohmann::json;
using Event = json::parse_event_t;

std::size_t keys_in(const json& value) {
  std::size_t count = value.is_object() ? value.size() : 0;
  if (value.is_structured()) {
    for (const json& item : value) count += keys_in(item);
  }
  return count;
}

// The slow way, asked only where a key is known to stand twice: which one.
std::string first_doubled_key(std::string_view text) {
  std::vector<std::set<std::string>> keys;  // of the objects around the place, by depth
  std::string doubled;
  const auto watch = [&](int depth, Event event, json& value) {
    const auto at = static_cast<std::size_t>(depth);
    if (event == Event::object_start) {
      keys.resize(at + 1);
      keys.back().clear();
    } else if (event == Event::key && doubled.empty()) {
      const auto name = value.get<std::string>();
      if (!keys[at - 1].insert(name).second) doubled = name;
    }
    return true;
  };
  const json ignored = json::parse(text, watch, /*allow_exceptions=*/false);
  return doubled;
}

}  // namespace

ParsedJson parse_json(std::string_view text) {
  ParsedJson parsed;
  std::size_t keys = 0;
  const auto count = [&](int, Event event, json&) {
    keys += event == Event::key ? 1 : 0;
    return true;
  };
  try {
    parsed.value = json::parse(text, count);
  } catch (const json::parse_error& error) {
    parsed.error_byte = error.byte > 0 ? error.byte - 1 : 0;
    parsed.problem = "not JSON";
    parsed.is_malformed = true;
    return parsed;
  } catch (const json::out_of_range&) {
    parsed.problem = "a number too large for any type";
    return parsed;
  }
  if (keys == keys_in(parsed.value)) return parsed;
  parsed.doubled_key = first_doubled_key(text);
  parsed.problem = "`" + parsed.doubled_key + "` stands twice in one object";
  return parsed;
}

}  // namespace reprobench
