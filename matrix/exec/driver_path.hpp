// Every worker is told of the CUDA driver in the same way: to describe itself, to predict, and in an attempt.
#pragma once

#include <map>
#include <string>

namespace reprobench {

// Adds to `environment`, whose LD_LIBRARY_PATH is a stack's own or not there, the folder of the driver behind that: of
// this process's LD_LIBRARY_PATH no other folder reaches a worker. Nothing where the loader needs no such folder
// (host/driver_folder.hpp).
void add_driver_path(std::map<std::string, std::string>& environment);

}  // namespace reprobench
