// How a worker is started inside an image, or where it sees of this host only what it needs: `reprobench-enclosure`
// comes before its command, with the paths of this host that the command names. They have the same names inside, so
// that requests and results need no translation.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "matrix/contract/request.hpp"
#include "matrix/exec/subprocess.hpp"
#include "matrix/host/gpu_files.hpp"

namespace reprobench {

struct Enclosure {
  std::filesystem::path program;                // reprobench-enclosure
  std::filesystem::path shepherd;               // PID 1 inside
  std::filesystem::path root;                   // the image, unpacked; empty: no image
  std::vector<std::filesystem::path> readable;  // for every command: the worker's folder, data
  std::int64_t file_bytes = 0;                  // that one file may have; 0: no bound
  GpuFiles gpu = {};                            // of this host; empty: the command has no GPU
};

// Without an image: the programs and libraries of this host, read-only. Nothing else of it, no home folder and no
// configuration but the loader's. `shepherd` has the program of the enclosure beside it.
Enclosure host_enclosure(const std::filesystem::path& shepherd);

// Further paths of this host that one command needs.
struct EnclosedPaths {
  std::vector<std::filesystem::path> readable;
  std::vector<std::filesystem::path> writable;
};

// The paths of one rank: the folder of its attempt, where the ranks meet, its checkpoints, and every file its request
// names.
EnclosedPaths paths_of_rank(const CellRequest& request, const std::filesystem::path& rank_folder);

// `network_of` is the process of the attempt's first rank, whose network the others share; 0 for a new network.
std::vector<std::string> enclosed_command(const Enclosure& enclosure, const EnclosedPaths& paths, int network_of,
                                          const std::vector<std::string>& command);

// For a helper that runs to its end (`describe`, `predict`), and ends with this process. Without an enclosure nothing
// changes.
void enclose(SubprocessOptions& options, const std::optional<Enclosure>& enclosure, const EnclosedPaths& paths);

}  // namespace reprobench
