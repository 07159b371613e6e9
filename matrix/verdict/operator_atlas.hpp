// Operators by release: every call of a run's list on every stack that made it, each held against one reference column.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "matrix/evidence/run_record.hpp"
#include "matrix/verdict/call_comparison.hpp"

namespace reprobench {

struct AtlasColumn {
  std::string name;     // the stack's, with what else the cell's coordinates say: "torch-2.9.0-cu128 threads=2"
  std::string release;  // "2.9.0"; of two columns of one release with the rest of the name
  std::string cell_id;
  std::string problem;  // why it has no records; empty: it has
};

struct AtlasRow {
  std::string call;
  std::vector<CallComparison> by_column;
};

struct OperatorAtlas {
  std::string run;
  std::string cpu;                   // of all columns: "AMD EPYC 9R14, AVX512"; several where they differ
  std::vector<std::string> planted;  // faults: whatever the table shows, it is a drill
  std::size_t reference = 0;         // the column that the others are held against
  std::vector<AtlasColumn> columns;  // oldest release first
  std::vector<AtlasRow> rows;        // in the order of the list
};

template <>
struct Description<AtlasColumn> {
  static constexpr About about = About::part("atlas_column");
  static void fields(auto& field, AtlasColumn& column) {
    field("name", column.name, rule::not_empty);
    field("release", column.release);
    field("cell_id", column.cell_id);
    field("problem", column.problem, "Why it has no records; empty: it has.");
  }
};

template <>
struct Description<AtlasRow> {
  static constexpr About about = About::part("atlas_row");
  static void fields(auto& field, AtlasRow& row) {
    field("call", row.call, rule::not_empty);
    field("by_column", row.by_column, "In the order of the columns.");
  }
};

template <>
struct Description<OperatorAtlas> {
  static constexpr About about = About::document("atlas", "Operator calls by release, against one of them");
  static void fields(auto& field, OperatorAtlas& atlas) {
    field("run", atlas.run);
    field("cpu", atlas.cpu);
    field("planted", atlas.planted, "Faults: whatever the table shows, it is a drill.");
    field("reference", atlas.reference, "The column that the others are held against.");
    field("columns", atlas.columns);
    field("rows", atlas.rows);
    field.hold(atlas.columns.empty() || atlas.reference < atlas.columns.size(), "has a `reference` that is no column");
  }
};

// Nothing: the run has no cell that made operator calls. `reference`: the name of a column, its release or its stack;
// empty: the one the run's cells were compared with. Throws UsageError for a name that no column has.
std::optional<OperatorAtlas> operator_atlas(const RunRecord& run, const std::string& reference = "");

nlohmann::json to_json(const OperatorAtlas& atlas);

}  // namespace reprobench
