// Names and times of a run.
#pragma once

#include <string>

namespace reprobench {

// The current time in UTC, in strftime's `format`.
std::string utc_now(const char* format);

// "r-20261121-101502-348-7f3a". Sorted names of a store's runs are in the order in which the runs began, to the
// millisecond, so that a command without a run's name finds the newest. The random tail keeps two hosts' runs apart.
std::string new_run_id();

}  // namespace reprobench
