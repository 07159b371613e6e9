// Every Python that is started here is isolated (`-I`): neither the folder one stands in nor a PYTHON* variable nor the
// user's own site folder decides what it imports. A run folder or a checkout may hold a `json.py`.
#pragma once

#include <string>
#include <vector>

#include "matrix/exec/subprocess.hpp"

namespace reprobench {

// $REPROBENCH_PYTHON, python3 on PATH, /usr/bin/python3; absolute.
std::vector<std::string> python_candidates();

// First of them that can import `module`; empty if none can.
std::string find_python_with(const std::string& module);

SubprocessOptions isolated_python(const std::string& interpreter, const std::vector<std::string>& arguments);

}  // namespace reprobench
