#include <map>

#include <fmt/format.h>

#include "matrix/spec/diagnostics.hpp"
#include "matrix/spec/files/json_reader.hpp"
#include "matrix/spec/files/weights_file.hpp"
#include "matrix/spec/nearest_name.hpp"

namespace reprobench {
namespace {

// An index that is wrong all over says so often enough.
constexpr std::size_t kMostIndexErrors = 100;

// An index names files beside it and none elsewhere: it may come from anybody.
bool is_name_beside(const std::string& name) {
  return name.size() > std::string_view(".safetensors").size() && name.ends_with(".safetensors") &&
         name.front() != '.' && name.find_first_of("/\\\n") == std::string::npos &&
         name.find('\0') == std::string::npos;
}

const JsonNode& map_of(const JsonNode& root) {
  const JsonMember* const member = root.find("weight_map");
  if (member == nullptr) {
    std::vector<std::string> keys;
    for (const JsonMember& other : root.members) keys.push_back(other.key);
    throw_spec_error(root.mark, "RB018", "an index of weights needs the key `weight_map`",
                     did_you_mean("weight_map", keys));
  }
  if (!member->value.is(JsonNode::Kind::object)) {
    throw_spec_error(member->value.mark, "RB019",
                     fmt::format("`weight_map` must be an object of file names, got {}", shown(member->value)));
  }
  if (member->value.members.empty()) throw_spec_error(member->value.mark, "RB023", "`weight_map` names no tensor");
  return member->value;
}

}  // namespace

WeightsIndex parse_weights_index(const std::string& text, const std::string& path) {
  const JsonNode root = read_json_object(text, path);
  WeightsIndex index;
  Diagnostics diagnostics;
  std::map<std::string, Mark> first;
  for (const JsonMember& member : map_of(root).members) {
    if (diagnostics.size() >= kMostIndexErrors) break;
    if (const auto [earlier, is_new] = first.try_emplace(member.key, member.key_mark); !is_new) {
      diagnostics.error(member.key_mark, "RB008",
                        fmt::format("tensor `{}` appears twice; first at {}:{}", member.key, earlier->second.line,
                                    earlier->second.column));
    } else if (!member.value.is(JsonNode::Kind::text)) {
      diagnostics.error(member.value.mark, "RB019",
                        fmt::format("`{}` must be the name of a file, got {}", member.key, shown(member.value)));
    } else if (!is_name_beside(member.value.text)) {
      diagnostics.error(member.value.mark, "RB027",
                        fmt::format("{} is no .safetensors file beside the index", shown(member.value)),
                        "an index names files of its own folder");
    } else {
      index.tensors.push_back({member.key, member.value.text, member.value.mark});
    }
  }
  diagnostics.throw_if_any();
  return index;
}

}  // namespace reprobench
