// Builds `reprobench-worker` against one stack, with the compiler of this host.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "matrix/provision/progress.hpp"

namespace reprobench {

// The compiler with which a worker is built: $CXX, else c++ on PATH.
struct Compiler {
  std::string path;     // empty: there is none
  std::string version;  // first line of `--version`
};

Compiler find_compiler();

// The folders below the root of which a worker is compiled, and their digest: a worker of other sources is built again.
std::vector<std::string> worker_source_folders();
std::string worker_sources_digest(const std::filesystem::path& source_root);

struct WorkerBuild {
  std::string stack;
  std::filesystem::path source_root;
  std::filesystem::path build_folder;  // created; the caller removes it
  std::filesystem::path log_file;      // the complete output of cmake and the compiler
  std::vector<std::string> include_dirs;
  std::vector<std::string> library_dirs;
  std::vector<std::string> run_dirs;  // where the worker finds the libraries if it runs elsewhere, before those
  int cxx11_abi = 1;
  bool with_cuda = false;  // the folders hold CUDA too
  Compiler compiler;
  std::filesystem::path shepherd;  // ends the build with this process
};

// Returns the program's path inside the build folder. Throws ProvisionError with the last lines of the log if the build
// fails, or with one sentence if a tool is missing.
std::filesystem::path build_worker(const WorkerBuild& build, const PhaseSink& progress);

// One sentence if `program` has a C++ runtime of its own, as a GCC without a shared runtime links it. LibTorch loads
// the shared one, and one of the two would free memory that the other allocated. Empty if there is nothing to report.
std::string find_runtime_problem(const std::filesystem::path& program, const Compiler& compiler);

// The share of a build in a line of Ninja ("[3/17] Building ...") or Make ("[ 41%] Building ..."); negative for any
// other line.
double build_fraction(std::string_view line);

}  // namespace reprobench
