#include "matrix/verdict/dimension_summary.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "matrix/verdict/metrics/metrics.hpp"
#include "matrix/verdict/reference_bits.hpp"

namespace reprobench {
namespace {

struct Pair {
  const CellVerdict* candidate;
  const CellVerdict* reference;
};

std::string coordinate(const CellVerdict& cell, const std::string& name) {
  const auto found = cell.coordinates.find(name);
  return found == cell.coordinates.end() ? "" : found->second;
}

// What names one side of a pair beside the other: "torch-2.8.0-cu128", "cpu" where devices are compared, "threads=1".
std::string name_of(const CellVerdict& side, const CellVerdict& other) {
  std::string name;
  for (const auto& [axis, value] : side.coordinates) {
    if (coordinate(other, axis) == value) continue;
    const bool names_itself = axis == "stack" || axis == "device";
    name += (name.empty() ? "" : " ") + (names_itself ? value : axis + "=" + value);
  }
  return name.empty() ? side.slug : name;
}

std::vector<Pair> pairs_of(const std::vector<CellVerdict>& cells) {
  std::unordered_map<std::string, const CellVerdict*> by_id;
  std::set<std::string> required_stacks;
  for (const CellVerdict& cell : cells) {
    by_id.emplace(cell.cell_id, &cell);
    if (cell.required && cell.reference_cell_id) required_stacks.insert(coordinate(cell, "stack"));
  }
  std::vector<Pair> pairs;
  for (const CellVerdict& cell : cells) {
    if (!cell.reference_cell_id || cell.outcome == Outcome::skipped) continue;
    if (!required_stacks.empty() && !required_stacks.contains(coordinate(cell, "stack"))) continue;
    const auto reference = by_id.find(*cell.reference_cell_id);
    if (reference != by_id.end()) pairs.push_back({&cell, reference->second});
  }
  return pairs;
}

const Divergence* divergence_from(const CellVerdict& cell, const CellVerdict& reference) {
  for (const CheckResult& check : cell.checks) {
    if (check.divergence && check.divergence->against == reference.slug) return &*check.divergence;
  }
  return nullptr;
}

std::string cells_text(std::size_t count) { return fmt::format("{} cell{}", count, count == 1 ? "" : "s"); }

void add_once(std::vector<std::string>& names, std::string name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
}

constexpr std::size_t kMostNames = 2;

// Beside each of its candidates one reference has another name.
std::string names_of_references(const std::vector<Pair>& pairs) {
  std::vector<std::string> names;
  for (const auto& [candidate, reference] : pairs) add_once(names, name_of(*reference, *candidate));
  return names.size() > kMostNames ? "their references" : fmt::format("{}", fmt::join(names, ", "));
}

// A line is about the candidates that are required, one as a rule; more than two are counted.
std::string names_of_candidates(const std::vector<Pair>& pairs) {
  std::vector<std::string> names;
  for (const auto& [candidate, reference] : pairs) add_once(names, name_of(*candidate, *reference));
  return names.size() > kMostNames ? fmt::format("{} candidates", names.size())
                                   : fmt::format("{}", fmt::join(names, ", "));
}

// ": all rounding", ": 7 rounding, 1 beyond rounding"; empty where no check asks what the differences are.
std::string diagnosed_text(const std::vector<const CellVerdict*>& differing) {
  std::map<CheckStatus, std::size_t> counts;
  for (const CellVerdict* cell : differing) {
    for (const CheckResult& check : cell->checks) {
      if (check.metric == kBeyondRounding) ++counts[check.status];
    }
  }
  if (counts.empty()) return "";
  if (counts[CheckStatus::passed] == differing.size()) return ": all rounding";
  std::vector<std::string> parts;
  for (const auto& [status, word] :
       {std::pair(CheckStatus::passed, "rounding"), std::pair(CheckStatus::failed, "beyond rounding"),
        std::pair(CheckStatus::inconclusive, "undecided")}) {
    if (counts[status] > 0) parts.push_back(fmt::format("{} {}", counts[status], word));
  }
  return fmt::format(": {}", fmt::join(parts, ", "));
}

std::string numerics_text(const std::vector<Pair>& pairs) {
  std::size_t equal = 0;
  std::vector<const CellVerdict*> differing;
  std::string first;
  for (const auto& [candidate, reference] : pairs) {
    const Match bits = reference_bits(*candidate, *reference);
    equal += bits == Match::equal ? 1 : 0;
    if (bits != Match::differs) continue;
    differing.push_back(candidate);
    const Divergence* at = divergence_from(*candidate, *reference);
    if (at == nullptr || !first.empty()) continue;
    first =
        fmt::format("; first at step {} in {} of {}", at->step,
                    at->tensor.empty() ? at->role : fmt::format("`{}` ({})", at->tensor, at->role), candidate->slug);
  }
  const std::size_t open = pairs.size() - equal - differing.size();
  std::string text = fmt::format("{}: bits equal to {} in {} of {}", names_of_candidates(pairs),
                                 names_of_references(pairs), equal, cells_text(pairs.size()));
  if (!differing.empty())
    text += fmt::format(", other bits in {}{}{}", differing.size(), diagnosed_text(differing), first);
  if (open > 0) text += fmt::format("; {} could not be compared", open);
  return text;
}

struct WorstRatio {
  const CheckResult* check = nullptr;
  const CellVerdict* cell = nullptr;
  int count = 0;
};

// A metric that compares already has the ratio as its value; of numbers that is a distance.
std::optional<double> ratio_of(const CheckResult& check) {
  if (check.ratio) return check.ratio;
  const Metric* metric = find_metric(check.metric);
  const bool is_ratio = metric != nullptr && metric->against == Against::reference && check.unit == "rel" &&
                        check.dimension != Dimension::numerics;
  return is_ratio ? check.measured : std::nullopt;
}

double worsening(const CheckResult& check) {
  return check.better == Better::lower ? *ratio_of(check) : 1 / *ratio_of(check);
}

// "step_time x1.012 [0.968, 1.060] at worst, gpt2 fp32 (10 % allowed)", one clause a metric.
std::string ratios_text(const std::vector<Pair>& pairs, Dimension dimension) {
  std::vector<std::pair<std::string, WorstRatio>> worst;  // by metric, in order of first appearance
  for (const Pair& pair : pairs) {
    for (const CheckResult& check : pair.candidate->checks) {
      if (check.dimension != dimension || !ratio_of(check)) continue;
      auto found = std::find_if(worst.begin(), worst.end(), [&](const auto& row) { return row.first == check.metric; });
      if (found == worst.end()) found = worst.insert(worst.end(), {check.metric, {}});
      WorstRatio& row = found->second;
      ++row.count;
      if (row.check != nullptr && worsening(check) <= worsening(*row.check)) continue;
      row.check = &check;
      row.cell = pair.candidate;
    }
  }
  std::string text;
  for (const auto& [metric, row] : worst) {
    const CheckResult& check = *row.check;
    std::string interval;
    if (check.ratio_low && check.ratio_high && *check.ratio_low != *check.ratio_high) {
      interval = fmt::format(" [{:.3f}, {:.3f}]", *check.ratio_low, *check.ratio_high);
    }
    text += fmt::format("{}{} x{:.3f}{}{}, {}", text.empty() ? "" : "; ", metric.substr(metric.find('.') + 1),
                        *ratio_of(check), interval, row.count > 1 ? fmt::format(" at worst of {}", row.count) : "",
                        row.cell->slug);
    if (check.gate == Gate::record_only) text += " (recorded only)";
  }
  return text.empty() ? text
                      : fmt::format("{} against {}: {}", names_of_candidates(pairs), names_of_references(pairs), text);
}

struct Counts {
  int failed = 0;
  int inconclusive = 0;
  int passed = 0;
  int recorded = 0;
  int recorded_over = 0;
};

Counts counts_of(const std::vector<CellVerdict>& cells, Dimension dimension) {
  Counts counts;
  for (const CellVerdict& cell : cells) {
    for (const CheckResult& check : cell.checks) {
      if (check.dimension != dimension) continue;
      if (check.gate == Gate::record_only) {
        ++counts.recorded;
        counts.recorded_over += check.status == CheckStatus::failed ? 1 : 0;
      } else {
        ++(check.status == CheckStatus::failed   ? counts.failed
           : check.status == CheckStatus::passed ? counts.passed
                                                 : counts.inconclusive);
      }
    }
  }
  return counts;
}

std::string counts_text(const Counts& counts) {
  std::string text;
  const auto add = [&](int count, const char* what) {
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, what);
  };
  add(counts.failed, "failed");
  add(counts.inconclusive, "inconclusive");
  add(counts.passed, "passed");
  add(counts.recorded_over, "over the bound and only recorded");
  add(counts.recorded - counts.recorded_over, "recorded");
  return text;
}

std::string word_of(const Counts& counts) {
  if (counts.failed > 0) return "failed";
  if (counts.inconclusive > 0) return "inconclusive";
  if (counts.passed > 0) return "passed";
  return counts.recorded > 0 ? "recorded" : "not_checked";
}

// Whether no cell of a candidate has an armed check of it. What its reference passed by itself says nothing of the
// candidate.
bool asks_references_alone(const std::vector<CellVerdict>& cells, const std::vector<Pair>& pairs, Dimension dimension) {
  std::set<std::string> candidates;
  for (const Pair& pair : pairs) candidates.insert(coordinate(*pair.candidate, "stack"));
  return !candidates.empty() && std::ranges::none_of(cells, [&](const CellVerdict& cell) {
    return candidates.contains(coordinate(cell, "stack")) &&
           std::ranges::any_of(cell.checks, [&](const CheckResult& check) {
             return check.dimension == dimension && check.gate == Gate::armed;
           });
  });
}

}  // namespace

std::vector<DimensionSummary> dimension_summaries(const std::vector<CellVerdict>& cells) {
  const std::vector<Pair> pairs = pairs_of(cells);
  std::vector<DimensionSummary> summaries;
  for (const Dimension dimension :
       {Dimension::numerics, Dimension::throughput, Dimension::memory, Dimension::communication}) {
    const Counts counts = counts_of(cells, dimension);
    std::string text;
    if (!pairs.empty()) text = dimension == Dimension::numerics ? numerics_text(pairs) : ratios_text(pairs, dimension);
    const std::string checks = counts_text(counts);
    if (checks.empty()) {
      text = text.empty() ? "not checked" : text;
    } else {
      text += fmt::format("{}checks: {}", text.empty() ? "" : "; ", checks);
    }
    std::string word = word_of(counts);
    if (word == "passed" && asks_references_alone(cells, pairs, dimension)) {
      word = "not_checked";
      text += fmt::format("; nothing is asked of {}", names_of_candidates(pairs));
    }
    summaries.push_back({dimension, std::move(word), std::move(text)});
  }
  return summaries;
}

}  // namespace reprobench
