// `reprobench selftest`: planted faults that must be found and named, and clean pairs that must stay green.
//
// Up to three questions to every row of the table. Class A: does a run with the fault differ from a clean one, first at
// the step and the tensor where it was planted? Class B2: does one step from a common state, on many batches beside
// fp64, say `defect` for a defect and `rounding` for what is merely another order of summation? And for a fault that
// sits in an operator: does `compare --explain` blame that operator, with the right word?
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/contract/capability.hpp"
#include "matrix/contract/document/description.hpp"
#include "matrix/inquiry/replays.hpp"
#include "matrix/numerics/steps/lockstep.hpp"

namespace reprobench {

struct SelftestSettings {
  std::string stack;
  std::vector<std::pair<std::string, std::string>> workloads;  // model, preset
  std::vector<std::string> faults = {};                        // their kinds; none: all
  bool once = false;  // each fault on the first workload alone that can have it
  std::int64_t steps = 12;
  int placements = 2;       // of each fault
  int clean_pairs = 4;      // fresh processes held against the first
  int batches = 32;         // of the fp64 judgement
  int explained = 1;        // placements of a fault in an operator of which `compare --explain` is asked
  std::int64_t state = 10;  // the step after which its common state is taken
  std::uint64_t seed = 1;   // of the placements
};

// One kind of fault on one workload, all its placements together.
struct SelftestRow {
  std::string fault;     // "weight_ulp"; or the legitimate change: "threads=2", "nothing"
  std::string workload;  // "gpt2/tiny"
  int planted = 0;
  int without_effect = 0;  // the planted change gave the same bits
  int found = 0;           // bits differ, or the run ended as it must
  int located = 0;         // and the first difference is where it was planted
  int false_alarms = 0;
  std::string expected_word;  // of B2: "defect", "rounding", "any" (shown only) or empty: not asked
  std::string word;
  double error_ratio = 0;   // largest E over tensors and batches
  double pooled_ratio = 0;  // largest pooled E
  std::string worst_tensor;
  std::string expected_answer;  // of `compare --explain`: "rounding", "wrong", or empty: not asked
  int explained = 0;            // how often it was asked
  int explained_right = 0;
  int unrepeated = 0;  // of a setting: runs of a stack that did not repeat itself, asked again of another run
  std::string answer;  // its first wrong one, or the last: "defect at aten::addmm"
  bool passed = false;
  std::string problem;  // why it did not; empty if it did
};

// Throws ReplayFailed if a clean run does not end well, and UsageError for an unknown workload or fault.
std::vector<SelftestRow> run_selftest(const SelftestSettings& settings, const Capability& capability, Replays& replays,
                                      const Announce& announce);

inline constexpr std::string_view kExpectedAnswers[] = {"", "rounding", "wrong"};
inline constexpr std::string_view kExpectedWords[] = {"", "rounding", "defect", "any"};
inline constexpr std::string_view kSelftestWords[] = {"", "rounding", "defect", "undecided"};

template <>
struct Description<SelftestRow> {
  static constexpr About about = About::part("row");
  static void fields(auto& field, SelftestRow& row) {
    field("fault", row.fault);
    field("workload", row.workload);
    field("planted", row.planted, rule::at_least(0));
    field("without_effect", row.without_effect, rule::at_least(0));
    field("found", row.found, rule::at_least(0));
    field("located", row.located, rule::at_least(0));
    field("false_alarms", row.false_alarms, rule::at_least(0));
    field("expected_word", row.expected_word, rule::one_of(kExpectedWords));
    field("word", row.word, rule::one_of(kSelftestWords));
    field("error_ratio", row.error_ratio);
    field("pooled_ratio", row.pooled_ratio);
    field("worst_tensor", row.worst_tensor);
    field.optional("expected_answer", row.expected_answer,
                   rule::one_of(kExpectedAnswers).says("Of `compare --explain`; absent: not asked."));
    field.optional("explained", row.explained, rule::at_least(0).says("How often it was asked."));
    field.optional("explained_right", row.explained_right, rule::at_least(0));
    field.optional("unrepeated", row.unrepeated,
                   rule::at_least(1).says("Runs of a stack that did not repeat itself, asked again of another run."));
    field.optional("answer", row.answer, "Its first wrong one, or the last: word and operator.");
    field("passed", row.passed);
    field("problem", row.problem);
  }
};

struct SelftestDocument {
  SelftestSettings settings;
  std::vector<SelftestRow> rows;
};
template <>
struct Description<SelftestDocument> {
  static constexpr About about = About::document("selftest", "Planted faults on a stack, and what was found of them");
  static void fields(auto& field, SelftestDocument& selftest) {
    field("stack", selftest.settings.stack);
    field("steps", selftest.settings.steps, rule::at_least(0));
    field("batches", selftest.settings.batches, rule::at_least(0));
    field("state", selftest.settings.state, rule::at_least(0));
    field("seed", selftest.settings.seed, rule::at_least(0));
    field("rows", selftest.rows);
  }
};

}  // namespace reprobench
