// Builds `reprobench-worker` against one stack, with the compiler of this host.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "matrix/provision/progress.hpp"

namespace reprobench {

// The compiler a worker is built with: $CXX, else c++ on PATH.
struct Compiler {
  std::string path;     // empty: there is none
  std::string version;  // first line of `--version`
};

Compiler find_compiler();

// Digest of the sources a worker is made of.
std::string worker_sources_digest(const std::filesystem::path& source_root);

struct WorkerBuild {
  std::string stack;
  std::filesystem::path source_root;
  std::filesystem::path build_folder;  // created; the caller removes it
  std::filesystem::path log_file;      // whole output of cmake and the compiler
  std::vector<std::string> include_dirs;
  std::vector<std::string> library_dirs;
  std::vector<std::string> run_dirs;  // where the worker finds the libraries when it runs elsewhere, before those
  int cxx11_abi = 1;
  bool with_cuda = false;  // the folders hold CUDA too
  Compiler compiler;
  std::filesystem::path shepherd;  // ends the build with this process
};

// Returns the program's path inside the build folder. Throws ProvisionError with the last lines of the log where the
// build fails, or with one sentence where a tool is missing.
std::filesystem::path build_worker(const WorkerBuild& build, const PhaseSink& progress);

// One sentence where `program` brings a C++ runtime of its own: LibTorch loads the shared one, and what one of the two
// allocated the other would free. A GCC built without a shared runtime links so. Empty if there is nothing to say.
std::string find_runtime_problem(const std::filesystem::path& program, const Compiler& compiler);

// Share of a build that a line of Ninja ("[3/17] Building ...") or Make ("[ 41%] Building ...") reports; negative for
// any other line.
double build_fraction(std::string_view line);

}  // namespace reprobench
