// A file of the user's instructions in place of the data of a matrix's workloads: its key `data`, or `--data FILE`.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "matrix/plan/cell.hpp"
#include "matrix/spec/matrix_spec.hpp"

namespace reprobench {

// Gives the matrix's file to every workload of its suites whose model takes one; the others keep their data. Throws
// SpecError for a file that is wrong, and for one that no workload takes.
void replace_data(const MatrixSpec& matrix, const Vocabulary& vocabulary, std::map<std::string, SuiteSpec>& suites);

// Of a file that the command line names. Throws UsageError if only cells that were left out would train on it.
void check_data_is_used(const std::vector<PlannedCell>& cells);

}  // namespace reprobench
