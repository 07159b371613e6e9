// One point of the matrix, everything about it decided except which process runs it when.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "matrix/contract/reason.hpp"
#include "matrix/contract/request.hpp"
#include "matrix/plan/shared_list.hpp"
#include "matrix/spec/matrix_spec.hpp"

namespace reprobench {

// The two checks that leave no difference from the reference unjudged: it is rounding, or there is none.
inline constexpr std::string_view kBeyondRounding = "numerics.beyond_rounding";
inline constexpr std::string_view kReferenceMismatches = "numerics.reference_mismatches";
inline constexpr std::string_view kRepeatMismatches = "numerics.repeat_mismatches";
// What a training that is stopped and resumed is about.
inline constexpr std::string_view kResumeMismatches = "numerics.resume_mismatches";

// A threshold as it holds for one cell, after suite, matrix and `where` rules were applied.
struct CellThreshold {
  std::string metric;
  Gate gate = Gate::armed;
  Bound bound;
  Mark mark;  // where the bound was set
  MeasurementSelection of = {};
  Mark gate_mark = {};       // where a later rule changed the gate alone; no file: the bound's own rule says it
  std::string loosens = {};  // the suite's bound that allowed less, as written, and where; empty: none did
};

template <>
struct TextForm<Mark> {
  static std::string text(const Mark& mark) { return to_string(mark); }
  static Mark value(const std::string& text) { return mark_from(text); }
};
template <>
struct Description<CellThreshold> {
  static constexpr About about = About::part("threshold");
  static void fields(auto& field, CellThreshold& threshold) {
    field("metric", threshold.metric);
    field("gate", threshold.gate);
    field("bound", threshold.bound);
    field("origin", threshold.mark, "file:line:column of where the bound was set.");
    field.optional("of", threshold.of);
    field.optional("gate_origin", threshold.gate_mark,
                   "Where a later rule changed the gate alone. Absent: the bound's own rule says it.");
    field.optional("loosens", threshold.loosens, "The suite's bound, as written, that allowed less than this one.");
  }
};

// A question that a required cell cannot answer, however its checks come out. It leaves the run undecided.
struct Gap {
  Dimension dimension = Dimension::numerics;
  std::string reason;    // "unarmed" or "own_reference"
  std::string sentence;  // names the threshold
};
template <>
struct Description<Gap> {
  static constexpr About about = About::part("gap", "What a required cell cannot answer, however its checks come out.");
  static void fields(auto& field, Gap& gap) {
    field("dimension", gap.dimension);
    field("reason", gap.reason, "A code.");
    field("sentence", gap.sentence);
  }
};

struct Cell {
  // The cell_id is set; nonce, repeat, attempt and inject are left for the executor. A cell that was planned in this
  // process holds only knobs that are off their default (all 24 of 100,000 cells would be 290 MB). plan.json has every
  // knob, and so does a cell that was read from it. Ask setting_in().
  CellRequest request;
  std::string slug;  // "determinism-mlp-torch-2.9.0-cu128-cpu-fp32": readable part of the id, unique within a plan
  Coordinates coordinates;                       // suite, workload, stack, device, world_size and the axes' knobs
  std::optional<std::string> reference_cell_id;  // nothing: this cell is a reference, or the matrix names none
  std::string run;                               // in a merged run, the one in which it ran
  bool required = false;
  bool required_if_present = false;  // only where this host has its device; not part of plan.json
  std::vector<Gap> gaps;             // of a required cell alone
  int repeat = 1;
  int max_repeat = 0;  // where noise leaves a ratio open (evidence/planned_looks.hpp); 0: never more than `repeat`
  bool poison_last_repeat = false;
  bool exclusive = false;
  std::int64_t memory_bytes = 0;  // host memory that its worker says an attempt will take; 0: not predicted
  TimeLimits limits;
  SharedList<CellThreshold> thresholds;
  std::map<int, Injection> injections;  // by repeat
};

// The same as with_defaults(), for the few knobs of a planned cell. It is one map a thread, which the next call
// changes: a plan of 100,000 cells spent a seventh of its time on making as many maps of 50 knobs.
const KnobValues& every_knob(const KnobValues& chosen);

// Why a cell cannot run here, or was not asked to.
struct Skip {
  std::string rule;    // id of a row of compat_rules.cpp, "device-class", or kDeselected
  std::string reason;  // one sentence with the numbers
};
template <>
struct Description<Skip> {
  static constexpr About about = About::part("skip");
  static void fields(auto& field, Skip& skip) {
    field("rule", skip.rule);
    field("reason", skip.reason);
  }
};

struct PlannedCell {
  Cell cell;
  std::optional<Skip> skip;
  std::vector<std::string>
      notes;  // findings that do not stop it: "driver 550.54.14 is under toolkit 12.8's 570.26: minor-version mode"
};

// An entry of Cell::injections, as plan.json lists them.
struct PlannedInjection {
  int repeat = 0;
  Injection injection;
};
template <>
struct Description<PlannedInjection> {
  static constexpr About about = About::part("planned_injection");
  static void fields(auto& field, PlannedInjection& planned) {
    field("repeat", planned.repeat, rule::at_least(0));
    field("injection", planned.injection);
  }
};

template <>
struct Description<PlannedCell> {
  static constexpr About about = About::part("cell");
  static void fields(auto& field, PlannedCell& planned) {
    Cell& cell = planned.cell;
    field("cell_id", cell.request.cell_id, rule::not_empty);
    field("slug", cell.slug);
    field("coordinates", cell.coordinates, "suite, workload, stack, device, world_size and the axes' knobs, by name.");
    field.group("request", [&](auto& part) { canonical_fields(part, cell.request, every_knob); });
    file_fields(field, cell.request.workload);
    field.optional(
        "turn_steps", cell.request.turn_steps,
        rule::at_least(1).says("Its workers stay up beside those of its group and do so many steps a turn."));
    field.optional("peaks", cell.request.peaks);
    afterwards_fields(field, cell.request);
    field("reference_cell_id", cell.reference_cell_id, rule::not_empty);
    field.optional("run", cell.run, rule::not_empty.says("Of a merged run: the one in which it ran."));
    field("required", cell.required);
    field.optional("gaps", cell.gaps, rule::not_empty_list.says("Of a required cell: the run is undecided."));
    field("repeat", cell.repeat, rule::at_least(1));
    field.optional("max_repeat", cell.max_repeat,
                   rule::at_least(1).says("Where noise leaves a ratio open, repeats are doubled up to here."));
    field("poison_last_repeat", cell.poison_last_repeat);
    field("exclusive", cell.exclusive);
    field.optional("memory_bytes", cell.memory_bytes,
                   rule::at_least(1).says("Of the host, that its worker says an attempt will take."));
    field("limits", cell.limits);
    field.as(
        "thresholds", [&]() -> const auto& { return cell.thresholds.items(); },
        [&](const std::vector<CellThreshold>& list) { cell.thresholds = list; });
    field.as(
        "injections",
        [&] {
          std::vector<PlannedInjection> list;
          for (const auto& [repeat, injection] : cell.injections) list.push_back({repeat, injection});
          return list;
        },
        [&](const std::vector<PlannedInjection>& list) {
          for (const PlannedInjection& entry : list) cell.injections[entry.repeat] = entry.injection;
        });
    field("skip", planned.skip);
    field("notes", planned.notes);
  }
};

}  // namespace reprobench
