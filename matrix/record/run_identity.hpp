// Names and times of a run.
#pragma once

#include <string>

namespace reprobench {

// strftime's `format` of now, in UTC.
std::string utc_now(const char* format);

// "r-20261121-101502-7f3a": sortable by time for people; the random tail keeps two runs of one second apart.
std::string new_run_id();

}  // namespace reprobench
