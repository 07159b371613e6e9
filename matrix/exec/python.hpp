// Every Python that is started here is isolated (`-I`). The current folder, PYTHON* variables and the user's own site
// folder do not decide what it imports. A run folder or a checkout may hold a `json.py`.
#pragma once

#include <string>
#include <vector>

#include "matrix/exec/subprocess.hpp"

namespace reprobench {

// The interpreters to try: $REPROBENCH_PYTHON, python3 on PATH, /usr/bin/python3; as absolute paths.
std::vector<std::string> python_candidates();

// The first of them that can import `module`; empty if none can.
std::string find_python_with(const std::string& module);

SubprocessOptions isolated_python(const std::string& interpreter, const std::vector<std::string>& arguments);

}  // namespace reprobench
