// The verbs of reprobench-worker: see main.cpp.
#pragma once

namespace reprobench {

// Runs the verb that `argv` names and gives the exit code. What was thrown is said on stderr.
int run_command(int argc, char** argv);

}  // namespace reprobench
