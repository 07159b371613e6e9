// Gives every worker the path of the CUDA driver in the same way: to describe itself, to predict, and in an attempt.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "matrix/exec/enclosed_command.hpp"

namespace reprobench {

// Adds the driver's folder to LD_LIBRARY_PATH in `environment`, behind the stack's own folders if there are any. No
// other folder of this process's LD_LIBRARY_PATH reaches a worker. Adds nothing if the loader needs no such folder
// (host/driver_folder.hpp). Inside `enclosure` the folder is the place where the driver is handed in, if it is. That
// has nothing but the driver, and stands first, so that both images of a comparison run on the host's.
void add_driver_path(std::map<std::string, std::string>& environment, const std::optional<Enclosure>& enclosure);

// What an enclosure hands in of this host's GPUs. The driver is looked for where a worker outside would find it, and
// else in `library_folders`, those of the loader.
GpuFiles gpu_files_of_host(std::vector<std::string> library_folders);

}  // namespace reprobench
