// Names and times of a run.
#pragma once

#include <string>

namespace reprobench {

// strftime's `format` of now, in UTC.
std::string utc_now(const char* format);

// "r-20261121-101502-348-7f3a": the names of a store's runs, sorted, are its runs in the order they began, to the
// millisecond, so that a command without a run's name finds the newest. The random tail keeps two hosts' runs apart.
std::string new_run_id();

}  // namespace reprobench
