// matrix/stacks/NAME.lock: the wheels of a stack, each with its exact file, size and SHA-256. ci/lock_stack.sh writes
// it.
//
// Every line is also a pip requirement, so pip checks the same hash while it downloads:
//   torch==2.9.0 --hash=sha256:01cf...a772c6  # torch-2.9.0-cp312-cp312-manylinux_2_28_x86_64.whl 899738273 bytes
// Lines that start with `#` and empty lines are comments.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "matrix/spec/spec_error.hpp"
#include "matrix/spec/stack_spec.hpp"

namespace reprobench {

struct LockedWheel {
  std::string distribution;  // "nvidia-cuda-runtime-cu12"
  std::string version;
  std::string sha256;  // 64 lower-case hex digits
  std::string file;    // file name of the wheel; pip is asked for its tags
  std::int64_t size_bytes = 0;
};

// Throws SpecError with every damaged line (RB079).
std::vector<LockedWheel> parse_lock(const std::string& text, const std::string& file);

// The lock of a stack of wheels; empty for another stack. Throws SpecError (RB027) if it cannot be read, or is a link
// that leads out of the checkout, and read_lock() also if it is damaged.
std::string read_lock_text(const StackSpec& spec);
std::vector<LockedWheel> read_lock(const StackSpec& spec);

// The wheels of `lock` that `distributions` names, in the lock's order. Throws SpecError at `mark` (RB079) if the lock
// lacks one of them.
std::vector<LockedWheel> select_wheels(const std::vector<LockedWheel>& lock,
                                       const std::vector<std::string>& distributions, const Mark& mark);

// The line of a wheel in the form that pip reads.
std::string requirement_line(const LockedWheel& wheel);

}  // namespace reprobench
