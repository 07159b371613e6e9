#include "matrix/inquiry/pair_inquiry.hpp"

#include "matrix/contract/version.hpp"
#include "matrix/inquiry/ensemble.hpp"

namespace reprobench {
namespace {

// A replay needs the devices of both sides here; a merged run also holds cells of devices that other hosts have.
std::string missing_device(const SidePair& pair, const std::set<std::string>& devices) {
  for (const ComparedSide* side : {&pair.first, &pair.second}) {
    if (devices.count(side->request.device) == 0) return side->request.device;
  }
  return "";
}

}  // namespace

CellComparison inquire(SidePair& pair, const PairQuestions& questions, Replays& replays, const Announce& announce) {
  auto& [measured, expected] = pair;
  read_trace_of(measured);
  read_trace_of(expected);
  ExplainSettings settings = questions.explain;
  const std::string missing = missing_device(pair, questions.devices);
  if (!missing.empty()) settings.explain = false;
  CellComparison comparison = compare_cells(measured, expected, settings, replays);
  if (comparison.word != Match::differs) return comparison;
  if (!missing.empty()) {
    if (questions.explain.explain) comparison.sentence += "; not replayed: this host has no " + missing;
    return comparison;
  }
  if (questions.trajectory) {
    answer(comparison, "trajectory", [&] {
      const auto around = envelope_around(expected, questions.members, false, questions.store, replays, announce);
      comparison.trajectory =
          judge_trajectory(*measured.attempt.lead().trace, *expected.attempt.lead().trace, around.envelope);
    });
  }
  if (questions.seeds > 0) {
    answer(comparison, "loss curves",
           [&] { comparison.equivalence = equivalence_of_stacks(pair, questions.seeds, replays); });
  }
  return comparison;
}

Match overall_word(const std::vector<CellComparison>& comparisons) {
  Match word = Match::equal;
  for (const CellComparison& comparison : comparisons) word = overall(word, comparison.word);
  return word;
}

nlohmann::json to_json(const std::vector<CellComparison>& comparisons) {
  nlohmann::json list = document("comparisons");
  list["comparisons"] = nlohmann::json::array();
  for (const CellComparison& comparison : comparisons) list["comparisons"].push_back(to_json(comparison));
  return list;
}

}  // namespace reprobench
