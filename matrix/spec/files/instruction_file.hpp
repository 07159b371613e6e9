// A user's file for models that learn to follow instructions, in the alpaca form: a JSON list of records, or JSON Lines
// with one record in each line.
//
//   {"instruction": "Name the colour.", "input": "grass", "output": "Green."}
//
// All three keys are text, and `input` may be empty. Other keys of a record are ignored. A worker reads the same file
// by itself (models/data/instructions); it takes only bytes with the SHA-256 that was found here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "matrix/spec/spec_error.hpp"

namespace reprobench {

inline constexpr std::size_t kMostInstructionBytes = std::size_t{256} << 20;
inline constexpr std::size_t kMostRecordTextBytes = 65'536;  // for the three texts of a record together

struct InstructionFile {
  std::string file;  // absolute
  std::string sha256;
  std::int64_t records = 0;
};

// Reads and checks all of it. Throws SpecError with every record that is wrong, each at its line and column. As for any
// file: RB001, RB002, RB003, RB005, RB007, RB015 and RB016. For records: RB008 a key twice, RB018 a key missing, RB019
// a value of another type, RB021 a record of more than kMostRecordTextBytes, RB023 no record or nothing to learn in
// one. RB027: the file cannot be read.
InstructionFile read_instruction_file(const std::string& path);

// The same for the text of a file.
InstructionFile parse_instruction_file(const std::string& text, const std::string& path);

}  // namespace reprobench
