// Are the results of collectives right, and added up in one order?
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "matrix/contract/collective.hpp"
#include "matrix/verdict/metrics/collective_metrics.hpp"
#include "matrix/verdict/metrics/collectives_on_ranks.hpp"

namespace reprobench {
namespace {

bool is_left_out(const ProbeMeasurement* measurement) { return measurement->status == MeasurementStatus::left_out; }

// "reduce_scatter of 1MiB: rank 0: Gloo has none", of that rank.
std::string finding_of_rank(const OnRanks& ranks, OnRanks::const_iterator rank) {
  return fmt::format("{}: rank {}: {}", collective_name(**rank), rank - ranks.begin(), (*rank)->finding);
}

// A count over those collectives that `is_meant` names, as far as every rank has done them: what none can do is said,
// what some can do, and a count of nothing, has no value. `look` adds what it finds of one collective, and names what
// keeps it from looking.
using Look = std::string (*)(const OnRanks& ranks, Measurement& count);

Measurement counted(const AttemptRecord& attempt, const MeasurementSelection& of, std::string_view what,
                    bool (*is_meant)(const Collective* collective), Look look) {
  const SelectedOnRanks selection = selected(attempt, of);
  if (!selection.gap.empty()) return no_value(selection.gap);
  Measurement count{0.0, std::nullopt, ""};
  std::size_t done = 0;
  std::vector<std::string> not_done;
  std::string left_out;
  for (const OnRanks& ranks : selection.all) {
    if (!is_meant(find_collective(ranks.front()->operation))) continue;
    const auto lacking = std::ranges::find_if_not(ranks, &is_done_here);
    if (lacking != ranks.end()) {
      not_done.push_back(finding_of_rank(ranks, lacking));
      if (std::ranges::any_of(ranks, &is_done_here)) return no_value("not every rank has done " + not_done.back());
      const auto without_memory = std::ranges::find_if(ranks, &is_left_out);
      if (left_out.empty() && without_memory != ranks.end()) left_out = finding_of_rank(ranks, without_memory);
      continue;
    }
    ++done;
    if (const std::string why = look(ranks, count); !why.empty()) return no_value(why);
  }
  if (done == 0) {
    return no_value(not_done.empty() ? fmt::format("the probe made no {}", what)
                                     : fmt::format("no {} was done: {}", what, not_done.front()));
  }
  if (not_done.empty()) return count;
  // A stack that lacks a call lacks it on every host; what this host had no memory for may well be wrong.
  if (!left_out.empty() && *count.value == 0) return no_value("not all of it was done: " + left_out);
  if (!count.finding.empty()) count.finding += "; ";
  count.finding += fmt::format("{} more could not be done, first {}", not_done.size(), not_done.front());
  return count;
}

bool is_any(const Collective*) { return true; }
bool is_sum(const Collective* collective) { return collective != nullptr && collective->adds_up; }
bool is_same_sum(const Collective* collective) { return is_sum(collective) && collective->is_same_everywhere; }

std::string add_wrong(const OnRanks& ranks, Measurement& count) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank]->status != MeasurementStatus::wrong || ++*count.value > 1) continue;
    count.finding = fmt::format("first {} on rank {}: {}", collective_name(*ranks[rank]), rank, ranks[rank]->finding);
  }
  return "";
}

std::string add_differing_calls(const OnRanks& ranks, Measurement& count) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const ProbeMeasurement& one = *ranks[rank];
    if (one.results_compared == 0) return fmt::format("{} was not repeated on rank {}", collective_name(one), rank);
    if (one.results_differing > 0 && *count.value == 0) {
      count.finding = fmt::format("first {} on rank {}: {} calls with other bits than the first", collective_name(one),
                                  rank, one.results_differing);
    }
    *count.value += static_cast<double>(one.results_differing);
  }
  return "";
}

std::string add_differing_ranks(const OnRanks& ranks, Measurement& count) {
  const auto without_sum = std::ranges::find_if(ranks, [](const auto* one) { return one->digest.empty(); });
  if (without_sum != ranks.end()) {
    return fmt::format("rank {} left no sum of {}", without_sum - ranks.begin(), collective_name(**without_sum));
  }
  const auto other = std::ranges::find_if(ranks, [&](const auto* one) { return one->digest != ranks.front()->digest; });
  if (other == ranks.end() || ++*count.value > 1) return "";
  count.finding =
      fmt::format("first {}: rank {} holds other bits than rank 0", collective_name(**other), other - ranks.begin());
  return "";
}

// Sums of two attempts held against each other, rank by rank.
struct ComparedOrders {
  std::size_t compared = 0;
  std::size_t changed = 0;
  std::string first_changed;
  std::size_t lone = 0;    // that one side alone can make
  std::string first_lone;  // "reduce_scatter of 8B on rank 0: Gloo has none"
  std::string problem;     // a sum that one side should have and has not
};

void hold_sum_against(const ProbeMeasurement* ours, const ProbeMeasurement* theirs, std::size_t rank,
                      ComparedOrders& orders) {
  const auto has_sum = [](const ProbeMeasurement* one) { return one != nullptr && !one->digest.empty(); };
  if (!has_sum(ours) && !has_sum(theirs)) return;
  const std::string name = fmt::format("{} on rank {}", collective_name(has_sum(ours) ? *ours : *theirs), rank);
  if (has_sum(ours) && has_sum(theirs)) {
    ++orders.compared;
    if (ours->digest != theirs->digest && orders.changed++ == 0) orders.first_changed = name;
    return;
  }
  const ProbeMeasurement* lacking = has_sum(ours) ? theirs : ours;
  if (lacking == nullptr || is_done_here(lacking)) {
    orders.problem = fmt::format("{} left a sum on one side alone", name);
  } else if (orders.lone++ == 0) {
    orders.first_lone = fmt::format("{}: {}", name, lacking->finding);
  }
}

ComparedOrders compare_orders(const AttemptRecord& measured, const AttemptRecord& expected) {
  ComparedOrders orders;
  if (measured.ranks.size() != expected.ranks.size()) {
    orders.problem = fmt::format("{} ranks against {}", measured.ranks.size(), expected.ranks.size());
    return orders;
  }
  for (std::size_t rank = 0; rank < measured.ranks.size(); ++rank) {
    const CellResult& ours = *measured.ranks[rank].result;
    const CellResult& theirs = *expected.ranks[rank].result;
    for (const ProbeMeasurement& one : ours.measurements) hold_sum_against(&one, find_alike(theirs, one), rank, orders);
    for (const ProbeMeasurement& one : theirs.measurements) {
      if (find_alike(ours, one) == nullptr) hold_sum_against(nullptr, &one, rank, orders);
    }
  }
  if (orders.problem.empty() && orders.compared == 0) {
    orders.problem = "no sum was made on both sides whose order could be compared";
  }
  return orders;
}

Measurement changed_orders(const ComparedOrders& orders, const std::string& against) {
  if (!orders.problem.empty()) return no_value(orders.problem);
  Measurement changed{static_cast<double>(orders.changed), std::nullopt, ""};
  if (orders.changed > 0) changed.finding = fmt::format("first {}, against {}", orders.first_changed, against);
  if (orders.lone == 0) return changed;
  if (!changed.finding.empty()) changed.finding += "; ";
  changed.finding += fmt::format("{} more made on one side alone, first {}", orders.lone, orders.first_lone);
  return changed;
}

}  // namespace

Measurement wrong_collectives(const AttemptRecord& attempt, const MeasurementSelection& of) {
  return counted(attempt, of, "collective", &is_any, &add_wrong);
}

Measurement differing_calls(const AttemptRecord& attempt, const MeasurementSelection& of) {
  return counted(attempt, of, "sum", &is_sum, &add_differing_calls);
}

Measurement differing_ranks(const AttemptRecord& attempt, const MeasurementSelection& of) {
  return counted(attempt, of, "sum that all ranks hold", &is_same_sum, &add_differing_ranks);
}

Measurement changed_orders_between_repeats(const CellEvidence& cell, const CellEvidence*) {
  if (cell.repeats.size() < 2) return no_value("needs at least 2 repeats, the cell has 1");
  Measurement worst{0.0, std::nullopt, ""};
  for (std::size_t i = 1; i < cell.repeats.size(); ++i) {
    ComparedOrders orders = compare_orders(cell.repeats[i], cell.repeats[0]);
    // One stack can make a sum or cannot.
    if (orders.lone > 0 && orders.changed == 0)
      orders.problem = "a sum was made in one repeat alone: " + orders.first_lone;
    Measurement one = changed_orders(orders, "repeat 0");
    if (!one.value) return one;
    one.repeat = cell.repeats[i].repeat;
    if (*one.value > *worst.value) worst = std::move(one);
  }
  return worst;
}

Measurement changed_orders_to_reference(const CellEvidence& cell, const CellEvidence* reference) {
  Measurement worst;
  for (const AttemptRecord& repeat : cell.repeats) {
    Measurement one = changed_orders(compare_orders(repeat, reference->repeats[0]), reference->slug);
    if (!one.value) return one;
    one.repeat = repeat.repeat;
    if (!worst.value || *one.value > *worst.value) worst = std::move(one);
  }
  return worst;
}

}  // namespace reprobench
