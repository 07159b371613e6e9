// Which workloads take a file of the user's in place of their model's own data, and what they are then asked to do.
#pragma once

#include <string>

#include "matrix/contract/request.hpp"
#include "matrix/spec/diagnostics.hpp"
#include "matrix/spec/instruction_file.hpp"
#include "matrix/spec/vocabulary.hpp"

namespace reprobench {

// Why that model takes no instructions of the user's, with the names of those that do; empty: it does, or no installed
// worker has described it, and its own will say.
std::string refusal_of_own_data(const std::string& model, const Vocabulary& vocabulary);

// Of a workload whose other keys have been read. Reports at `mark` a model that takes none, and a batch that the file's
// records cannot fill.
void give_own_data(WorkloadRequest& workload, const InstructionFile& data, const Mark& mark,
                   const Vocabulary& vocabulary, Diagnostics& diagnostics);

}  // namespace reprobench
