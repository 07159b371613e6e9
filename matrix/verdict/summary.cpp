#include "matrix/verdict/summary.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "matrix/verdict/dimension_summary.hpp"
#include "matrix/verdict/reference_bits.hpp"

namespace reprobench {
namespace {

const CellVerdict* first_with(const RunVerdict& verdict, Outcome outcome) {
  const auto found = std::find_if(verdict.cells.begin(), verdict.cells.end(),
                                  [&](const CellVerdict& cell) { return cell.outcome == outcome; });
  return found == verdict.cells.end() ? nullptr : &*found;
}

bool is_deselected(const CellVerdict& cell) { return cell.outcome == Outcome::skipped && cell.reason == kDeselected; }

// --cell speaks of the cells it names alone; any other selection owes the required ones too.
const CellVerdict* skipped_required(const RunVerdict& verdict) {
  const auto found = std::find_if(verdict.cells.begin(), verdict.cells.end(), [&](const CellVerdict& cell) {
    return cell.required && cell.outcome == Outcome::skipped && !(verdict.request.names_cells && is_deselected(cell));
  });
  return found == verdict.cells.end() ? nullptr : &*found;
}

// A green run would say that it passed.
const CellVerdict* recorded_required(const RunVerdict& verdict) {
  const auto found = std::ranges::find_if(
      verdict.cells, [](const CellVerdict& cell) { return cell.required && cell.outcome == Outcome::recorded; });
  return found == verdict.cells.end() ? nullptr : &*found;
}

bool never_ran(const CellVerdict& cell) {
  return cell.outcome == Outcome::skipped || (cell.outcome == Outcome::unfinished && cell.attempts.empty());
}

std::string stack_of(const CellVerdict& cell) {
  const auto found = cell.coordinates.find("stack");
  return found == cell.coordinates.end() ? std::string() : found->second;
}

// What a run says of stacks beside each other.
struct StackComparison {
  bool is_planned = false;     // some cell has a reference of another stack
  bool has_run = false;        // one of these did
  bool is_asked = false;       // with an armed check
  std::size_t ran = 0;         // so many stacks
  bool has_candidate = false;  // a required one

  explicit StackComparison(const RunVerdict& verdict) {
    std::unordered_map<std::string, std::string> stack_of_id;
    for (const CellVerdict& cell : verdict.cells) stack_of_id.emplace(cell.cell_id, stack_of(cell));
    std::set<std::string> stacks;
    for (const CellVerdict& cell : verdict.cells) {
      has_candidate = has_candidate || cell.required;
      if (!never_ran(cell)) stacks.insert(stack_of(cell));
      if (!cell.reference_cell_id || stack_of_id[*cell.reference_cell_id] == stack_of(cell)) continue;
      is_planned = true;
      has_run = has_run || !never_ran(cell);
      is_asked = is_asked || (!never_ran(cell) && cell.outcome != Outcome::recorded);
    }
    ran = stacks.size();
  }
};

// "3 failed, 1 inconclusive": the outcomes that occur, in the order given.
std::string counted(const RunTotals& totals, std::initializer_list<Outcome> outcomes) {
  std::string text;
  for (const Outcome outcome : outcomes) {
    const int count = totals[outcome];
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, to_string(outcome));
  }
  return text;
}

// What became of the cells of one value of an axis: of device sm_90, of stack torch-2.9.0-cu128.
struct AxisValue {
  std::string name;
  int passed = 0;
  int ran = 0;
  int left_out = 0;
};

// In plan order. Cells of a merged run count for the class of device they ran on.
std::vector<AxisValue> values_of(const RunVerdict& verdict, const std::string& axis) {
  std::vector<AxisValue> values;
  for (const CellVerdict& cell : verdict.cells) {
    const auto at = cell.coordinates.find(axis);
    if (at == cell.coordinates.end()) continue;
    auto found =
        std::find_if(values.begin(), values.end(), [&](const AxisValue& value) { return value.name == at->second; });
    if (found == values.end()) found = values.insert(values.end(), AxisValue{at->second});
    found->ran += never_ran(cell) ? 0 : 1;
    found->passed += cell.outcome == Outcome::passed ? 1 : 0;
    found->left_out += is_deselected(cell) ? 1 : 0;
  }
  return values;
}

template <class Predicate>
std::string names_where(const std::vector<AxisValue>& values, Predicate holds) {
  std::vector<std::string> names;
  for (const AxisValue& value : values) {
    if (holds(value)) names.push_back(value.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

// "; nothing ran on sm_80, sm_90; 3 more cells were skipped". What was left out on purpose is said elsewhere.
std::string coverage(const RunVerdict& verdict) {
  const auto devices = values_of(verdict, "device");
  const auto stacks = values_of(verdict, "stack");
  const auto ran_nowhere = [](const AxisValue& value) { return value.ran == 0 && value.left_out == 0; };
  const auto asked_nothing = [](const AxisValue& value) { return value.ran > 0 && value.passed == 0; };
  std::string text;
  const auto add = [&](const char* what, const std::string& names) {
    if (!names.empty()) text += fmt::format("; {} {}", what, names);
  };
  add("nothing ran on", names_where(devices, ran_nowhere));
  add("nothing ran of", names_where(stacks, ran_nowhere));
  if (verdict.word == "passed") add("nothing was asked on", names_where(devices, asked_nothing));
  const auto said = [&](const CellVerdict& cell, const std::vector<AxisValue>& values, const char* axis) {
    const auto at = cell.coordinates.find(axis);
    return at != cell.coordinates.end() && std::any_of(values.begin(), values.end(), [&](const AxisValue& value) {
             return value.name == at->second && ran_nowhere(value);
           });
  };
  const auto unsaid = std::count_if(verdict.cells.begin(), verdict.cells.end(), [&](const CellVerdict& cell) {
    return cell.outcome == Outcome::skipped && !is_deselected(cell) && !said(cell, devices, "device") &&
           !said(cell, stacks, "stack");
  });
  if (unsaid > 0) {
    text += fmt::format("; {} {}cell{} skipped", unsaid, text.empty() ? "" : "more ", unsaid == 1 ? " was" : "s were");
  }
  if (verdict.excluded > 0) {
    text += fmt::format("; the matrix excludes {} cell{}", verdict.excluded, verdict.excluded == 1 ? "" : "s");
  }
  return text;
}

// "; 2 checks allow more than their suites do, first memory.peak_anonymous: max_regression: 1000% for max_regression:
// 10% (...)".
std::string loosened(const RunVerdict& verdict) {
  int count = 0;
  const CheckResult* first = nullptr;
  for (const CellVerdict& cell : verdict.cells) {
    for (const CheckResult& check : cell.checks) {
      if (check.loosens.empty() || check.gate != Gate::armed) continue;
      ++count;
      first = first == nullptr ? &check : first;
    }
  }
  if (first == nullptr) return "";
  return fmt::format("; {} than {} suite{} do{}, first {}: {} for {}",
                     count == 1 ? "1 check allows more" : fmt::format("{} checks allow more", count),
                     count == 1 ? "its" : "their", count == 1 ? "" : "s", count == 1 ? "es" : "", first->metric,
                     first->bound, first->loosens);
}

// "; 3 attempts were made again (2 lost, 1 launch)". What a retry mended does not count, and is no secret.
std::string retries(const RunVerdict& verdict) {
  std::map<std::string, int> ends;
  int again = 0;
  for (const CellVerdict& cell : verdict.cells) {
    for (const AttemptSummary& attempt : cell.attempts) {
      const bool is_last = std::ranges::none_of(cell.attempts, [&](const AttemptSummary& other) {
        return other.repeat == attempt.repeat && other.attempt > attempt.attempt;
      });
      if (is_last) continue;
      ++again;
      ++ends[std::string(to_string(attempt.end))];
    }
  }
  std::vector<std::string> causes;
  for (const auto& [end, count] : ends) causes.push_back(fmt::format("{} {}", count, end));
  if (again == 0) return "";
  return fmt::format("; {} made again ({})", again == 1 ? "1 attempt was" : fmt::format("{} attempts were", again),
                     fmt::join(causes, ", "));
}

// What a verdict of this run is on: the matrix, or an image held against another.
struct Subject {
  std::string name;     // "v2.9", "candidate sha256:3f9c1e0a7b52..."
  std::string against;  // " against reference sha256:..."; empty: of a matrix
};

Subject subject_of(const RunVerdict& verdict) {
  const auto candidate = verdict.images.find("candidate");
  const auto reference = verdict.images.find("reference");
  if (candidate == verdict.images.end() || reference == verdict.images.end()) return {verdict.matrix, ""};
  return {fmt::format("candidate {}", candidate->second.digest),
          fmt::format(" against reference {}", reference->second.digest)};
}

// The image that its inspection let through, or did not; null: there is nothing to say against those of this run.
const std::pair<const std::string, PlanImage>* image_with(const RunVerdict& verdict, std::string_view inspection) {
  const auto found = std::find_if(verdict.images.begin(), verdict.images.end(),
                                  [&](const auto& image) { return image.second.inspection == inspection; });
  return found == verdict.images.end() ? nullptr : &*found;
}

// Why this run gives no verdict on its matrix; empty: it does.
std::string no_verdict_because(const RunVerdict& verdict) {
  const auto left_out = std::count_if(verdict.cells.begin(), verdict.cells.end(), is_deselected);
  std::vector<std::string> reasons;
  if (left_out > 0) {
    reasons.push_back(fmt::format("{} of {} cells selected",
                                  static_cast<std::ptrdiff_t>(verdict.cells.size()) - left_out, verdict.cells.size()));
  }
  if (!verdict.request.changed_by.empty()) {
    reasons.push_back(fmt::format("run with {}", fmt::join(verdict.request.changed_by, " ")));
  }
  if (!verdict.planted.empty()) {
    reasons.insert(reasons.begin(), fmt::format("DRILL, planted: {}", fmt::join(verdict.planted, "; ")));
  }
  return fmt::format("{}", fmt::join(reasons, ", "));
}

class Summary {
 public:
  explicit Summary(RunVerdict& verdict)
      : verdict_(verdict),
        totals_(verdict.totals),
        no_verdict_because_(no_verdict_because(verdict)),
        subject_(subject_of(verdict)) {}

  void write() {
    const int ran = count(Outcome::passed) + count(Outcome::failed) + count(Outcome::inconclusive) +
                    count(Outcome::errored) + count(Outcome::recorded);
    const int planned = totals_.planned;
    const std::string rest = counted(
        totals_, {Outcome::errored, Outcome::inconclusive, Outcome::unfinished, Outcome::passed, Outcome::recorded});
    const std::string and_rest = rest.empty() ? "" : ", " + rest;
    if (verdict_.info.interrupted) {
      const bool by_term = verdict_.info.terminated;
      return conclude(
          "interrupted", by_term ? ExitCode::terminated : ExitCode::interrupted, "UNDECIDED",
          fmt::format("the run was {} after {} of {} cells; {} failed{}", by_term ? "terminated" : "interrupted", ran,
                      planned - count(Outcome::skipped), count(Outcome::failed), and_rest));
    }
    if (count(Outcome::skipped) == planned) {
      const bool left_none = std::all_of(verdict_.cells.begin(), verdict_.cells.end(), is_deselected);
      return conclude("nothing_ran", ExitCode::nothing_ran, "UNDECIDED",
                      left_none ? "nothing ran; the selection is empty" : "nothing ran");
    }
    if (const CellVerdict* failed = first_with(verdict_, Outcome::failed)) {
      return conclude("failed", ExitCode::failed, "NOT qualified",
                      fmt::format("{} of {} cells that ran failed{}", count(Outcome::failed), ran, and_rest), failed);
    }
    if (const auto* image = image_with(verdict_, "refused"); image != nullptr && image->first == "candidate") {
      return conclude("failed", ExitCode::failed, "NOT qualified",
                      fmt::format("the image is not what it says: {}", image->second.summary));
    }
    if (!verdict_.info.changed_images.empty()) {
      return conclude("undecided", ExitCode::undecided, "UNDECIDED",
                      fmt::format("what ran is not known: files of {} were changed since they were inspected",
                                  fmt::join(verdict_.info.changed_images, " and ")));
    }
    if (no_fault_was_planted()) {
      return conclude("undecided", ExitCode::usage, "UNDECIDED", "the fault could not be planted anywhere",
                      first_with(verdict_, Outcome::errored));
    }
    for (const Outcome outcome : {Outcome::errored, Outcome::inconclusive, Outcome::unfinished}) {
      if (const CellVerdict* open = first_with(verdict_, outcome)) {
        return conclude(
            "undecided", ExitCode::undecided, "UNDECIDED",
            "no cell failed, but " + counted(totals_, {Outcome::errored, Outcome::inconclusive, Outcome::unfinished}),
            open);
      }
    }
    if (const CellVerdict* required = skipped_required(verdict_)) {
      return conclude("undecided", ExitCode::undecided, "UNDECIDED",
                      is_deselected(*required) ? "no cell that ran failed, but a required one was left out"
                                               : "no cell that ran failed, but a required one did not run",
                      required);
    }
    if (const CellVerdict* required = recorded_required(verdict_)) {
      return conclude("undecided", ExitCode::undecided, "UNDECIDED",
                      "no cell failed, but of a required one every check is only recorded", required);
    }
    if (const auto* image = image_with(verdict_, "undecided")) {
      return conclude(
          "undecided", ExitCode::undecided, "UNDECIDED",
          fmt::format("no cell failed, but the image {} could not be judged: {}", image->first, image->second.summary));
    }
    if (count(Outcome::passed) == 0) {
      return conclude("undecided", ExitCode::undecided, "UNDECIDED",
                      fmt::format("no check was armed: {} ran, and nothing was asked", cells_text(ran)));
    }
    const StackComparison stacks(verdict_);
    if (no_verdict_because_.empty() && stacks.is_planned && !stacks.is_asked) {
      return conclude("undecided", ExitCode::undecided, "UNDECIDED",
                      stacks.has_run ? "of what is compared with the reference every check is only recorded"
                                     : "only cells of the reference ran, and nothing was compared with it");
    }
    const bool compares_none = stacks.ran > 1 && !stacks.is_planned;
    if (no_verdict_because_.empty() && compares_none && stacks.has_candidate) {
      return conclude(
          "undecided", ExitCode::undecided, "UNDECIDED",
          fmt::format("no cell failed, but of {} stacks none was compared with another; `reference: {{stack: "
                      "NAME}}` says with which",
                      stacks.ran));
    }
    if (!verdict_.planted.empty()) {
      return conclude("undecided", ExitCode::undecided, "UNDECIDED", "no check failed: the fault was not found");
    }
    const auto devices = values_of(verdict_, "device");
    const std::string on = names_where(devices, [](const AxisValue& value) { return value.passed > 0; });
    conclude(
        "passed", ExitCode::passed, "qualified",
        count(Outcome::recorded) == 0
            ? fmt::format("{} that ran passed", all_cells_text(ran))
            : fmt::format("{} with an armed check passed, {} {} only recorded", all_cells_text(count(Outcome::passed)),
                          count(Outcome::recorded), count(Outcome::recorded) == 1 ? "was" : "were"),
        nullptr, on);
    if (compares_none) verdict_.sentence += "; no stack was compared with another";
  }

 private:
  int count(Outcome outcome) const { return totals_[outcome]; }
  static std::string cells_text(int count) { return fmt::format("{} cell{}", count, count == 1 ? "" : "s"); }
  static std::string all_cells_text(int count) { return count == 1 ? "the one cell" : "all " + cells_text(count); }

  // Every cell in which a fault was to sit refused it.
  bool no_fault_was_planted() const {
    bool refused = false;
    for (const CellVerdict& cell : verdict_.cells) {
      const bool planted = std::any_of(cell.attempts.begin(), cell.attempts.end(),
                                       [](const AttemptSummary& attempt) { return !attempt.injected.empty(); });
      if (planted && cell.reason != kBadInjection) return false;
      refused = refused || planted;
    }
    return refused;
  }

  // `word_of_subject` is said of the matrix or the candidate, where this run says anything of it; `on`: devices.
  void conclude(const char* word, ExitCode code, const std::string& word_of_subject, const std::string& body,
                const CellVerdict* first = nullptr, const std::string& on = "") {
    verdict_.word = word;
    verdict_.exit_code = code;
    const std::string head =
        no_verdict_because_.empty()
            ? fmt::format("{} {}{}{}{}", subject_.name, word_of_subject, subject_.against, on.empty() ? "" : " on ", on)
            : fmt::format("{}: no verdict on {}", no_verdict_because_, verdict_.matrix);
    verdict_.sentence = fmt::format("{}{} {}{}{}", head, no_verdict_because_.empty() ? ":" : ";", body,
                                    coverage(verdict_), loosened(verdict_) + retries(verdict_));
    if (first != nullptr) verdict_.sentence += fmt::format(". First: {}: {}", first->slug, first->sentence);
  }

  RunVerdict& verdict_;
  const RunTotals& totals_;
  const std::string no_verdict_because_;
  const Subject subject_;
};

}  // namespace

void summarise(RunVerdict& verdict) {
  verdict.totals = {static_cast<int>(verdict.cells.size())};
  for (const CellVerdict& cell : verdict.cells) ++verdict.totals[cell.outcome];
  state_reference_bits(verdict.cells);
  verdict.dimensions = dimension_summaries(verdict.cells);
  Summary(verdict).write();
}

}  // namespace reprobench
