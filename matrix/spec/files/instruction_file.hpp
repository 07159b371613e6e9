// A file of the user's for models that learn to follow instructions, of the alpaca form: a JSON list of records, or
// JSON Lines, a record a line.
//
//   {"instruction": "Name the colour.", "input": "grass", "output": "Green."}
//
// All three keys are text, `input` may be empty; what a record has beside them is passed over. A worker reads the same
// file by itself (models/data/instructions): it takes no other bytes than those whose SHA-256 was found here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "matrix/spec/spec_error.hpp"

namespace reprobench {

inline constexpr std::size_t kMostInstructionBytes = std::size_t{256} << 20;
inline constexpr std::size_t kMostRecordTextBytes = 65'536;  // of a record's three texts together

struct InstructionFile {
  std::string file;  // absolute
  std::string sha256;
  std::int64_t records = 0;
};

// Reads and checks all of it. Throws SpecError with every record that is wrong, each at its line and column: RB001,
// RB002, RB003, RB005, RB007, RB015, RB016 as of any file; RB008 a key twice, RB018 a key missing, RB019 a value of
// another type, RB021 a record of more than kMostRecordTextBytes, RB023 no record or nothing to learn in one, RB027 no
// file that can be read.
InstructionFile read_instruction_file(const std::string& path);

// The same of the text of a file.
InstructionFile parse_instruction_file(const std::string& text, const std::string& path);

}  // namespace reprobench
