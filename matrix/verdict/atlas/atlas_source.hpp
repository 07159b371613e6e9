// Columns of an atlas while they are made: each is a cell with the results of all its processes.
#pragma once

#include <string>
#include <vector>

#include "matrix/verdict/atlas/operator_atlas.hpp"

namespace reprobench {

struct AtlasSource {
  AtlasColumn column;
  const RunRecord* run = nullptr;
  const Cell* cell = nullptr;
  std::size_t place = 0;                   // among those of its plan
  std::vector<const CellResult*> results;  // none where one process did not end well
  bool is_reference = false;               // of the cells of the run
};

// Every cell of the run that was to make operator calls, oldest release first. The columns point into the run.
std::vector<AtlasSource> atlas_sources(const RunRecord& run);

// Names the columns. A name is the stack and those coordinates that differ between columns. If several columns have one
// release and run, each shows its name in place of the release.
void name_columns(std::vector<AtlasSource>& sources);

// Fills columns and rows, with every call of their lists once. `atlas` has its reference; columns of two runs name
// their own.
void fill_atlas(const std::vector<AtlasSource>& sources, OperatorAtlas& atlas);

// "result_bit in call 2 of operators-torch-2.9.0-cu128-cpu", each once.
std::vector<std::string> planted_in(const RunRecord& run);

}  // namespace reprobench
