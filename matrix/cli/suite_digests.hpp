// Which suites a run of `qualify` asked, by what they ask: a matrix names them, and its digest says no more.
#pragma once

#include <map>
#include <string>

#include "matrix/spec/suite_spec.hpp"

namespace reprobench {

// By name, the SHA-256 of the suite's file and of its operator calls, which stand in files of their own. Throws
// StoreError.
std::map<std::string, std::string> suite_digests(const std::map<std::string, SuiteSpec>& suites);

}  // namespace reprobench
