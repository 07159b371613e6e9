// Operators by release: every call of a run's list on every stack that made it, compared with one reference column. For
// two runs, every column of one is compared with its partner in the other, such as today's nightly with last week's.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "matrix/evidence/run_record.hpp"
#include "matrix/numerics/steps/fingerprint_differences.hpp"
#include "matrix/verdict/atlas/call_comparison.hpp"

namespace reprobench {

struct AtlasColumn {
  std::string name;     // the stack's, with what else the cell's coordinates say: "torch-2.9.0-cu128 threads=2"
  std::string release;  // "2.9.0"; of two columns of one release with the rest of the name
  std::string cell_id;
  std::string problem;  // why it has no records; empty: it has
  // Only in an atlas of two runs:
  std::string run = {};                   // whose column it is
  std::optional<std::size_t> against{};   // the column that it is held against
  std::string not_compared = {};          // why it is held against none, or none against it, records or not
  std::vector<SideDifference> changed{};  // what is not the same on both sides
};

struct AtlasRow {
  std::string call;
  std::vector<CallComparison> by_column;
};

struct OperatorAtlas {
  std::string run;
  std::string expected_run = {};     // that `run` is held against; empty: its own reference
  std::string cpu;                   // of all columns: "AMD EPYC 9R14, AVX512"; several where they differ
  std::vector<std::string> planted;  // faults: whatever the table shows, it is a drill
  std::size_t reference = 0;         // of one run: the column that the others are held against
  std::vector<AtlasColumn> columns;  // oldest release first; of two runs those of `run` first
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
    field.optional("run", column.run, "Of an atlas of two runs: whose column it is.");
    field.optional("against", column.against, "Of two runs: the column that it is held against; absent: none.");
    field.optional("not_compared", column.not_compared, "Of two runs: why it is in no pair, or not in this one.");
    field.optional("changed", column.changed, "Of two runs: what is not the same on both sides.");
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
    field.optional("expected_run", atlas.expected_run, "That `run` is held against; absent: its own reference.");
    field("cpu", atlas.cpu);
    field("planted", atlas.planted, "Faults: whatever the table shows, it is a drill.");
    field("reference", atlas.reference,
          "The column that the others are held against; of two runs each column has its own.");
    field("columns", atlas.columns);
    field("rows", atlas.rows);
    field.hold(atlas.columns.empty() || atlas.reference < atlas.columns.size(), "has a `reference` that is no column");
    field.hold(std::ranges::all_of(atlas.columns,
                                   [&](const AtlasColumn& column) {
                                     return !column.against || *column.against < atlas.columns.size();
                                   }),
               "has a column `against` what is no column");
  }
};

// The column that this one is compared with. Nothing if others are compared with it, or if it is in no pair.
std::optional<std::size_t> reference_of(const OperatorAtlas& atlas, std::size_t column);

// The atlas of one run; nothing if the run has no cell that made operator calls. `reference` is the name of a column,
// its release or its stack; empty stands for the one that the run's cells were compared with. With `cell`, a slug or
// id, only that cell and the reference are in it. Throws UsageError for a name that no column has.
std::optional<OperatorAtlas> operator_atlas(const RunRecord& run, const std::string& reference = "",
                                            const std::string& cell = "");

// A run, or one of its cells, by slug or id.
struct AtlasSide {
  const RunRecord& run;
  std::string cell;  // empty: all
};

// Compares every column of one run with its partner in the other (evidence/cell_partner.hpp). A column without a
// partner, or with other work than its partner, is listed and says so. Nothing if neither run has a cell that made
// operator calls.
std::optional<OperatorAtlas> operator_atlas(const AtlasSide& measured, const AtlasSide& expected);

nlohmann::json to_json(const OperatorAtlas& atlas);

}  // namespace reprobench
