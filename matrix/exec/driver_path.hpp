// Gives every worker the path of the CUDA driver in the same way: to describe itself, to predict, and in an attempt.
#pragma once

#include <map>
#include <string>

namespace reprobench {

// Adds the driver's folder to LD_LIBRARY_PATH in `environment`, behind the stack's own folders if there are any. No
// other folder of this process's LD_LIBRARY_PATH reaches a worker. Adds nothing if the loader needs no such folder
// (host/driver_folder.hpp).
void add_driver_path(std::map<std::string, std::string>& environment);

}  // namespace reprobench
