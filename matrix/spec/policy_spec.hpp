// What a matrix of somebody else may ask of this host, as its administrator wrote it for `run --untrusted`. Every key
// is optional, and a bound that is not given keeps its default:
//
//   schema: 1
//   stacks: [torch-2.9.0-cu128, torch-2.8.0-cu128]
//   workloads: [mlp, gpt2]
//   cells: 50                 # that run
//   repeats: 10               # of a cell
//   attempt: 10m
//   run: 1h                   # after this nothing more is launched
//   attempt_disk: 256MiB
#pragma once

#include <chrono>
#include <cstdint>
#include <set>
#include <string>

#include "matrix/spec/spec_error.hpp"

namespace reprobench {

struct UntrustedPolicy {
  std::set<std::string> stacks = {};     // empty: every stack that is installed
  std::set<std::string> workloads = {};  // models and probes; empty: all of them
  int cells = 1'000;
  int repeats = 100;
  std::chrono::milliseconds attempt = std::chrono::hours(1);
  std::chrono::milliseconds run = std::chrono::hours(24);
  std::int64_t attempt_disk_bytes = std::int64_t{1} << 30;
};

// Both throw SpecError. load_policy also does so for a file that cannot be read.
UntrustedPolicy parse_policy(const std::string& text, const std::string& file);
UntrustedPolicy load_policy(const std::string& path);

}  // namespace reprobench
