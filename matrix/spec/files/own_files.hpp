// Which workloads take a file of the user's, of each kind that there is, and what they are then asked to do.
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

// Writes what a file holds, and where it lies, into a workload that takes it. Reports at the mark what the two have
// against each other.
using GiveOwnFile = std::function<void(WorkloadRequest&, const Mark&, Diagnostics&)>;

// One row a kind. What a new one stands in for is the worker's affair.
struct OwnFileKind {
  const OwnFileField& field;
  const char* value_name;       // of its option
  const char* help;             // of its option
  std::string_view taker_does;  // "reads instructions"
  std::string_view other_does;  // "reads no instructions"
  // Models that take one, which their workers describe; null of a file that a probe takes.
  std::map<std::string, std::string> Vocabulary::*takers;
  std::string WorkloadDescription::*described;
  std::string MatrixSpec::*path;  // of all workloads of a matrix
  Mark MatrixSpec::*mark;
  // Reads and checks all of it. Throws SpecError.
  GiveOwnFile (*read)(const std::string& path);
  std::string_view probe = {};  // that takes one; empty: models do

  bool is_of_probe() const { return !probe.empty(); }
  std::string option() const { return "--" + std::string(field.name); }
};

std::span<const OwnFileKind> own_file_kinds();

// Why that model takes no such file, with the names of those that do; empty: it does, or no installed worker has
// described it, and its own will say.
std::string refusal_of_own_file(const OwnFileKind& kind, const std::string& model, const Vocabulary& vocabulary);

// Of a workload whose other keys have been read. Reports at `mark` a model that takes none, and what `give` does.
void give_own_file(const OwnFileKind& kind, const GiveOwnFile& give, WorkloadRequest& workload, const Mark& mark,
                   const Vocabulary& vocabulary, Diagnostics& diagnostics);

// What a worker has against the weights that a workload was given, before it is asked to begin with them. `hint` comes
// after the first of the problems.
void report_refused_weights(const WorkloadRequest& workload, const std::vector<std::string>& problems,
                            const std::string& hint, Diagnostics& diagnostics);

}  // namespace reprobench
