#include "matrix/spec/files/instruction_file.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>

#include "matrix/base/sha256.hpp"
#include "matrix/spec/diagnostics.hpp"
#include "matrix/spec/files/input_text.hpp"
#include "matrix/spec/files/json_reader.hpp"
#include "matrix/spec/nearest_name.hpp"

namespace reprobench {
namespace {

constexpr std::array<std::string_view, 3> kRecordKeys = {"instruction", "input", "output"};

// A file that is wrong all over says so often enough.
constexpr std::size_t kMostRecordErrors = 100;

class RecordCheck {
 public:
  void take(const JsonNode& record) {
    ++records_;
    if (record.is(JsonNode::Kind::object)) {
      check_keys(record);
      check_texts(record);
    } else {
      diagnostics_.error(
          record.mark, "RB019",
          fmt::format("a record must be an object with `instruction`, `input` and `output`, got {}", shown(record)));
    }
    if (diagnostics_.size() >= kMostRecordErrors) diagnostics_.throw_if_any();
  }

  std::int64_t finish(const std::string& path) {
    diagnostics_.throw_if_any();
    if (records_ == 0) throw_spec_error({path, 1, 1}, "RB023", "the file has no record");
    return records_;
  }

 private:
  void check_keys(const JsonNode& record) {
    for (std::size_t i = 0; i < record.members.size(); ++i) {
      const JsonMember& member = record.members[i];
      const auto first = std::find_if(record.members.begin(), record.members.begin() + static_cast<std::ptrdiff_t>(i),
                                      [&](const JsonMember& earlier) { return earlier.key == member.key; });
      if (first == record.members.begin() + static_cast<std::ptrdiff_t>(i)) continue;
      diagnostics_.error(member.key_mark, "RB008",
                         fmt::format("key `{}` appears twice in this record; first at {}:{}", member.key,
                                     first->key_mark.line, first->key_mark.column));
    }
  }

  void check_texts(const JsonNode& record) {
    std::size_t bytes = 0;
    for (const std::string_view key : kRecordKeys) {
      const JsonMember* member = record.find(key);
      if (member == nullptr) {
        report_missing(record, key);
      } else if (!member->value.is(JsonNode::Kind::text)) {
        diagnostics_.error(member->value.mark, "RB019",
                           fmt::format("`{}` must be text, got {}", key, shown(member->value)));
      } else {
        check_text(key, member->value);
        bytes += member->value.text.size();
      }
    }
    if (bytes <= kMostRecordTextBytes) return;
    diagnostics_.error(
        record.mark, "RB021",
        fmt::format("this record has {} bytes of text, at most {} are taken", bytes, kMostRecordTextBytes));
  }

  void report_missing(const JsonNode& record, std::string_view key) {
    std::vector<std::string> others;
    for (const JsonMember& member : record.members) {
      if (std::find(kRecordKeys.begin(), kRecordKeys.end(), member.key) == kRecordKeys.end()) {
        others.push_back(member.key);
      }
    }
    const std::string near = nearest_name(key, others);
    diagnostics_.error(record.mark, "RB018", fmt::format("this record has no `{}`", key),
                       !near.empty()    ? fmt::format("it has `{}`", near)
                       : key == "input" ? R"(a task without one has `"input": ""`)"
                                        : "");
  }

  void check_text(std::string_view key, const JsonNode& value) {
    if (key == "output" && value.text.empty()) {
      diagnostics_.error(value.mark, "RB023", "`output` is empty, so there is nothing to learn");
    }
    if (value.text.find('\0') != std::string::npos) {
      diagnostics_.error(value.mark, "RB003", fmt::format("`{}` holds the character U+0000", key));
    }
  }

  std::int64_t records_ = 0;
  Diagnostics diagnostics_;
};

}  // namespace

InstructionFile read_instruction_file(const std::string& path) {
  return parse_instruction_file(read_input_file(path, kMostInstructionBytes), path);
}

InstructionFile parse_instruction_file(const std::string& text, const std::string& path) {
  if (text.size() > kMostInstructionBytes) {
    throw_spec_error({path, 1, 1}, "RB016", fmt::format("file is larger than {} bytes", kMostInstructionBytes));
  }
  RecordCheck check;
  read_json_items(text, path, [&](const JsonNode& record) { check.take(record); });
  InstructionFile file;
  file.records = check.finish(path);
  file.file = std::filesystem::absolute(path).string();
  file.sha256 = sha256_of_text(text);
  return file;
}

}  // namespace reprobench
