#include "models/data/instructions/instructions.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <utility>

#include <nlohmann/json.hpp>

#include "models/data/byte_tokens.hpp"

namespace reprobench {
namespace {

using nlohmann::json;

std::string text_of(const json& record, const char* key, const std::string& where) {
  const auto found = record.find(key);
  if (found == record.end()) throw std::runtime_error(where + " has no `" + key + "`");
  if (!found->is_string()) {
    throw std::runtime_error(where + ": `" + key + "` is of type " + found->type_name() + ", expected text");
  }
  return found->get<std::string>();
}

InstructionRecord record_of(const json& document, const std::string& where) {
  if (!document.is_object()) {
    throw std::runtime_error(where + " is of type " + document.type_name() + ", expected an object");
  }
  InstructionRecord record{text_of(document, "instruction", where), text_of(document, "input", where),
                           text_of(document, "output", where)};
  if (record.output.empty()) throw std::runtime_error(where + " has an empty `output`");
  const std::size_t bytes = record.instruction.size() + record.input.size() + record.output.size();
  if (bytes > kMostRecordBytes) {
    throw std::runtime_error(where + " has " + std::to_string(bytes) + " bytes, at most " +
                             std::to_string(kMostRecordBytes) + " are taken");
  }
  return record;
}

json parse(std::string_view text, const std::string& name) {
  try {
    return json::parse(text);
  } catch (const json::parse_error& error) {
    // "[json.exception.parse_error.101] parse error at line 3, column 7: ...; last read: '...'". What was read last may
    // be no UTF-8, and then no result could quote it.
    std::string said = error.what();
    said.erase(0, said.find("parse error"));
    said.erase(std::min(said.find("; last read"), said.size()));
    throw std::runtime_error(name + ": " + said);
  }
}

constexpr std::string_view kSpace = " \t\r\n";

json parse_lines(std::string_view text, const std::string& name) {
  json records = json::array();
  for (int line = 1; !text.empty(); ++line) {
    const std::string_view content = text.substr(0, text.find('\n'));
    if (content.find_first_not_of(kSpace) != std::string_view::npos) {
      records.push_back(parse(content, name + ": line " + std::to_string(line)));
    }
    text.remove_prefix(std::min(content.size() + 1, text.size()));
  }
  return records;
}

// A list begins with `[`; where the first thing is an object, every line is one.
json parse_either(std::string_view text, const std::string& name) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const std::size_t first = text.find_first_not_of(kSpace);
  return first != std::string_view::npos && text[first] == '{' ? parse_lines(text, name) : parse(text, name);
}

struct Sample {
  std::vector<std::int64_t> tokens;  // one more than the context
  std::size_t response = 0;          // place of its first byte
  std::size_t end = 0;               // place behind END
};

Sample sample_of(const InstructionRecord& record, std::size_t context) {
  Sample sample;
  sample.tokens.push_back(kBeginToken);
  const auto add = [&](const std::string& text) {
    for (const char c : text) sample.tokens.push_back(static_cast<unsigned char>(c));
  };
  add(prompt_of(record));
  sample.response = sample.tokens.size();
  add(record.output);
  sample.tokens.push_back(kEndToken);
  sample.end = sample.tokens.size();
  sample.tokens.resize(context + 1, kPaddingToken);
  return sample;
}

class InstructionSamples final : public DataSet {
 public:
  InstructionSamples(const std::vector<InstructionRecord>& records, std::int64_t context) : context_(context) {
    counts_.records = std::ssize(records);
    for (const InstructionRecord& record : records) {
      Sample sample = sample_of(record, static_cast<std::size_t>(context));
      if (sample.response > static_cast<std::size_t>(context)) continue;
      counts_.cut += sample.end > sample.tokens.size() ? 1 : 0;
      samples_.push_back(std::move(sample));
    }
    counts_.samples = size();
    if (samples_.empty()) {
      throw std::runtime_error("no instruction leaves room for a response in a context of " + std::to_string(context) +
                               " bytes");
    }
  }

  std::int64_t size() const override { return static_cast<std::int64_t>(samples_.size()); }
  std::vector<FieldSpec> fields() const override {
    return {{"input", ElementType::int64, {context_}}, {"target", ElementType::int64, {context_}}};
  }

  void copy(std::int64_t index, std::size_t field, std::byte* to) const override {
    copy_sequence(index, field, context_, to);
  }

  // Its last tokens before the padding, so that the end of the response is among them: a sample that fits is whole.
  bool has_sequences() const override { return true; }
  void copy_sequence(std::int64_t index, std::size_t field, std::int64_t length, std::byte* to) const override {
    const Sample& sample = samples_[static_cast<std::size_t>(index)];
    const std::size_t last = std::min(sample.end, sample.tokens.size()) - 1;  // the last token that is a target
    const auto count = static_cast<std::size_t>(length);
    const std::size_t first = last > count ? last - count : 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t token = field == 0 ? sample.tokens[first + i] : target_of(sample, first + i + 1);
      std::memcpy(to + i * sizeof token, &token, sizeof token);
    }
  }

  std::optional<RecordCounts> record_counts() const override { return counts_; }

  Digest digest() const override {
    DigestBuilder builder;
    for (const Sample& sample : samples_) {
      builder.append(block_digest(std::as_bytes(std::span(sample.tokens))));
      builder.append(static_cast<std::uint64_t>(sample.response)).append(static_cast<std::uint64_t>(sample.end));
    }
    return builder.finish();
  }

 private:
  static std::int64_t target_of(const Sample& sample, std::size_t place) {
    return place >= sample.response && place < sample.end ? sample.tokens[place] : kNoTarget;
  }

  std::int64_t context_;
  std::vector<Sample> samples_;
  RecordCounts counts_;
};

}  // namespace

std::vector<InstructionRecord> instructions_in(std::string_view text, const std::string& name) {
  const json document = parse_either(text, name);
  if (!document.is_array()) {
    throw std::runtime_error(name + ": is of type " + document.type_name() + ", expected an array of records");
  }
  if (document.empty()) throw std::runtime_error(name + ": holds no record");
  std::vector<InstructionRecord> records;
  for (const json& record : document) {
    records.push_back(record_of(record, name + ": record " + std::to_string(records.size())));
  }
  return records;
}

std::vector<InstructionRecord> load_instructions(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path.string() + ": cannot be opened");
  return instructions_in(std::string{std::istreambuf_iterator<char>(file), {}}, path.string());
}

std::string prompt_of(const InstructionRecord& record) {
  std::string prompt = "### Instruction:\n" + record.instruction + "\n\n";
  if (!record.input.empty()) prompt += "### Input:\n" + record.input + "\n\n";
  return prompt + "### Response:\n";
}

std::unique_ptr<DataSet> instruction_samples(const std::vector<InstructionRecord>& records,
                                             std::int64_t context_length) {
  return std::make_unique<InstructionSamples>(records, context_length);
}

}  // namespace reprobench
