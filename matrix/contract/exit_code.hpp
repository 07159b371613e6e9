// The exit codes of `reprobench`. They are stable and documented in matrix/README.md; only main calls `exit`.
#pragma once

#include <array>

#include "matrix/contract/document/words.hpp"

namespace reprobench {

enum class ExitCode : int {
  passed = 0,         // every check of every cell that ran passed, and no required cell is missing
  failed = 1,         // at least one check failed; wins over the rest
  usage = 2,          // usage or spec error, nothing launched
  undecided = 3,      // inconclusive, errored or unfinished cells remain, or a required cell was skipped or left out
  nothing_ran = 4,    // empty selection, or every cell skipped
  store = 5,          // store or report I/O, corruption, lock held
  internal_bug = 70,  // EX_SOFTWARE of sysexits.h
  interrupted = 130,  // 128 + SIGINT
  terminated = 143,   // 128 + SIGTERM
};
template <>
struct Numbers<ExitCode> {
  static constexpr std::array<ExitCode, 9> table = {
      ExitCode::passed, ExitCode::failed,       ExitCode::usage,       ExitCode::undecided, ExitCode::nothing_ran,
      ExitCode::store,  ExitCode::internal_bug, ExitCode::interrupted, ExitCode::terminated};
};

}  // namespace reprobench
