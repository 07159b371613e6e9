// Instruction tuning data in the alpaca format: a JSON array of {"instruction": .., "input": .., "output": ..}, all
// text, `input` possibly empty; or JSON Lines, an object a line. Tokens are bytes (byte_tokens.hpp).
//
// A sample is BEGIN, the prompt, the response, END, padding, cut at the context. `input` has its tokens and `target`
// the token that follows each of them: kNoTarget except for the response and its END.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/data_set.hpp"

namespace reprobench {

struct InstructionRecord {
  std::string instruction;
  std::string input;
  std::string output;
};

inline constexpr std::size_t kMostRecordBytes = 65'536;

// The records of a text in that format. Throws std::runtime_error as load_instructions() does, with `name` in place of
// the file.
std::vector<InstructionRecord> instructions_in(std::string_view text, const std::string& name);

// Reads any file of that format. Throws std::runtime_error, with one sentence that begins with the file and, where it
// has one, the record. Errors of a file: there is none, it is no JSON, its text is not UTF-8, it has no array or an
// empty one. Errors of a record: it is no object, has a key that is missing or no string, an empty output, or a record
// of more than kMostRecordBytes.
std::vector<InstructionRecord> load_instructions(const std::filesystem::path& path);

// "### Instruction:\n..\n\n### Input:\n..\n\n### Response:\n", without the middle part if there is no input.
std::string prompt_of(const InstructionRecord& record);

// `input` and `target`, (context) int64 each. A record whose response does not begin within the context is no sample.
// Throws std::runtime_error if none is left.
std::unique_ptr<DataSet> instruction_samples(const std::vector<InstructionRecord>& records,
                                             std::int64_t context_length);

}  // namespace reprobench
