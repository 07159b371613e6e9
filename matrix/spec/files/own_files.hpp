// The kinds of user's files, which workloads take them, and the requests that they then get.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/contract/capability.hpp"
#include "matrix/contract/request.hpp"
#include "matrix/spec/diagnostics.hpp"
#include "matrix/spec/matrix_spec.hpp"
#include "matrix/spec/vocabulary.hpp"

namespace reprobench {

// Writes the SHA-256 and the path of a file into a workload that takes it. Reports at the mark why the two do not fit
// each other.
using GiveOwnFile = std::function<void(WorkloadRequest&, const Mark&, Diagnostics&)>;

// One row for each kind. The worker decides what a file replaces.
struct OwnFileKind {
  const OwnFileField& field;
  const char* value_name;       // of its option
  const char* help;             // of its option
  std::string_view taker_does;  // "reads instructions"
  std::string_view other_does;  // "reads no instructions"
  // Models that take one, as their workers describe them; null for a file that a probe takes.
  std::map<std::string, std::string> Vocabulary::*takers;
  std::string WorkloadDescription::*described;
  std::string MatrixSpec::*path;  // for all workloads of a matrix
  Mark MatrixSpec::*mark;
  // Reads and checks all of the file. Throws SpecError.
  GiveOwnFile (*read)(const std::string& path);
  std::string_view probe = {};  // the probe that takes one; empty: models do

  bool is_of_probe() const { return !probe.empty(); }
  std::string option() const { return "--" + std::string(field.name); }
};

std::span<const OwnFileKind> own_file_kinds();

// Why that model takes no such file, with the names of those that do. Empty if it does, or if no installed worker has
// described it; then its own worker will decide.
std::string refusal_of_own_file(const OwnFileKind& kind, const std::string& model, const Vocabulary& vocabulary);

// For a workload whose other keys have been read. Reports at `mark` a model that takes none, and the errors that `give`
// finds.
void give_own_file(const OwnFileKind& kind, const GiveOwnFile& give, WorkloadRequest& workload, const Mark& mark,
                   const Vocabulary& vocabulary, Diagnostics& diagnostics);

// Reports a worker's problems with the weights of a workload, before it is asked to begin with them. `hint` comes after
// the first of the problems.
void report_refused_weights(const WorkloadRequest& workload, const std::vector<std::string>& problems,
                            const std::string& hint, Diagnostics& diagnostics);

}  // namespace reprobench
