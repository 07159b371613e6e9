// The user's files that the workloads of a matrix train on, begin with or run. They are named by the keys `data`,
// `weights` and `package`, or by options of those names.
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

// The files that the options of a command line name. It has only the kinds that are named.
using OwnFilePaths = std::map<const OwnFileKind*, std::string>;

enum class OwnFilesOf { all_workloads, trainings };

// Declares an option for every kind of file that such workloads take. An empty path names no file.
void add_own_file_options(CLI::App& verb, OwnFilePaths& paths, OwnFilesOf whose = OwnFilesOf::all_workloads);

// Gives the matrix's files to every workload of its suites whose model or probe takes that kind. The others stay as
// they are. Throws SpecError for a file that is wrong, and for one that no workload takes.
void give_own_files(const MatrixSpec& matrix, const Vocabulary& vocabulary, std::map<std::string, SuiteSpec>& suites);

// Checks a file that the command line names. Throws UsageError if only cells that were left out would use it.
void check_own_file_is_used(const OwnFileKind& kind, const std::vector<PlannedCell>& cells);

}  // namespace reprobench
