// Files of the user's that the workloads of a matrix begin with, train on or run: its keys `data`, `weights` and
// `package`, or options of those names.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "matrix/plan/cell.hpp"
#include "matrix/spec/files/own_files.hpp"
#include "matrix/spec/matrix_spec.hpp"

namespace CLI {
class App;
}

namespace reprobench {

// What the options of a command line name; the kinds that it does not name are not in it.
using OwnFilePaths = std::map<const OwnFileKind*, std::string>;

enum class OwnFilesOf { all_workloads, trainings };

// An option for every kind that such workloads take. An empty path names no file.
void add_own_file_options(CLI::App& verb, OwnFilePaths& paths, OwnFilesOf whose = OwnFilesOf::all_workloads);

// Gives the matrix's files to every workload of its suites whose model or probe takes one of the kind; the others stay
// as they are. Throws SpecError for a file that is wrong, and for one that no workload takes.
void give_own_files(const MatrixSpec& matrix, const Vocabulary& vocabulary, std::map<std::string, SuiteSpec>& suites);

// Of a file that the command line names. Throws UsageError if only cells that were left out would use it.
void check_own_file_is_used(const OwnFileKind& kind, const std::vector<PlannedCell>& cells);

}  // namespace reprobench
