// What `bisect` was asked, and the search for its answer over an axis of stacks or over the components of two ends.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "matrix/cli/verbs/verb.hpp"
#include "matrix/inquiry/bisect/checked_cell.hpp"
#include "matrix/spec/files/call_list.hpp"

namespace reprobench {

struct BisectOptions {
  std::string given_good;  // a stack, or an image
  std::string given_bad;
  std::string good;  // of images the names of their stacks
  std::string bad;
  bool images = false;
  std::vector<std::string> axis;
  std::string call;
  std::string calls_file;
  std::string workload;  // MODEL/PRESET
  std::int64_t steps = 20;
  std::int64_t batch = 0;
  double slower_percent = 0;       // 0: bits are asked
  std::vector<std::string> check;  // CELL METRIC; empty: no check is asked
  std::string run;                 // of that cell
  std::vector<std::string> knobs;  // NAME=VALUE
  std::vector<std::string> workers;
  bool components = false;
  bool install = false;
  bool again = false;
  bool json = false;
};

// A whole call, or an operator of which the list has calls. Throws UsageError.
CallList chosen_calls(const BisectOptions& options, const Project& project);

// Searches, prints the answer and returns how the command ends. `checked`: the cell of --check, nothing without it.
ExitCode bisected(const BisectOptions& options, std::optional<CheckedCell> checked, Context& context);

}  // namespace reprobench
