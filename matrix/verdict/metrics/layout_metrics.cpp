#include "matrix/verdict/metrics/layout_metrics.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/verdict/metrics/over_repeats.hpp"
#include "matrix/verdict/metrics/rank_tensors.hpp"

namespace reprobench {
namespace {

int zero_stage_of(const AttemptRecord& attempt) { return reprobench::zero_stage_of(attempt.lead()); }

// How many records differ, and the first of them.
struct Differences {
  std::int64_t steps = 0;
  bool final_state = false;
  int rank = 0;                        // of `first`
  std::vector<std::size_t> holders{};  // of `first`, where ranks share it out
  std::optional<CheckDivergence> first;

  void add(const TensorsRecord& record) { record.is_final ? void(final_state = true) : void(++steps); }
  // "rank 1", or of what several hold pieces of, "what ranks 0 and 1 hold of it".
  std::string place() const {
    if (holders.size() < 2) return fmt::format("on rank {}", rank);
    return fmt::format("in what ranks {} hold of it together", fmt::join(holders, ", "));
  }
  double count() const { return static_cast<double>(steps + (final_state ? 1 : 0)); }
  std::string text(std::int64_t of_steps) const {
    if (steps == 0) return "in the state after the last step";
    return fmt::format("in {} of {} steps{}", steps, of_steps, final_state ? " and the state after them" : "");
  }
};

Divergence divergence_of(const TensorsRecord& record, const TensorRecord& ours, const std::string& theirs) {
  return {record.step, ours.name, std::string(to_string(ours.role)), ours.digest, theirs};
}

// Which rank diverges from the others: of two nobody can say, so the second.
std::size_t odd_rank(const std::vector<const TensorRecord*>& of_ranks) {
  const auto holders = [&](const TensorRecord* tensor) {
    return std::count_if(of_ranks.begin(), of_ranks.end(),
                         [&](const TensorRecord* other) { return other->digest == tensor->digest; });
  };
  const auto most = std::max_element(of_ranks.begin(), of_ranks.end(),
                                     [&](const auto* a, const auto* b) { return holders(a) < holders(b); });
  const auto odd = std::find_if(of_ranks.begin(), of_ranks.end(),
                                [&](const TensorRecord* tensor) { return tensor->digest != (*most)->digest; });
  return static_cast<std::size_t>(odd - of_ranks.begin());
}

using OfRanks = std::vector<const TensorRecord*>;

// Adds one tensor of which `ranks` have no equal records.
void add_first(const TensorsRecord& record, const OfRanks& of_ranks, const std::vector<std::size_t>& ranks,
               Differences& found) {
  if (found.first) return;
  const std::size_t odd = odd_rank(of_ranks);
  const std::size_t other = odd == 0 ? 1 : 0;
  found.rank = static_cast<int>(ranks[odd]);
  found.first = CheckDivergence{divergence_of(record, *of_ranks[odd], of_ranks[other]->digest),
                                fmt::format("rank {}", ranks[other])};
}

bool agree(const OfRanks& of_ranks) {
  return std::all_of(of_ranks.begin(), of_ranks.end(),
                     [&](const TensorRecord* tensor) { return tensor->digest == of_ranks.front()->digest; });
}

// What every rank recorded alike, in the order of its record.
std::vector<OfRanks> on_every_rank(const AttemptRecord& attempt, std::size_t number) {
  const int zero_stage = zero_stage_of(attempt);
  std::vector<OfRanks> of_ranks;
  for (const RankRecord& rank : attempt.ranks) {
    OfRanks& own = of_ranks.emplace_back();
    for (const TensorRecord& tensor : rank.trace->tensors[number].tensors) {
      if (!is_shared_out(tensor, zero_stage)) own.push_back(&tensor);
    }
  }
  return of_ranks;
}

using Key = TensorKey;

// The ranks that hold some of what is shared out, and each one's record of all of it.
struct Held {
  std::vector<std::size_t> ranks{};
  OfRanks tensors{};
};

std::map<Key, Held> shared_out(const AttemptRecord& attempt, std::size_t number) {
  const int zero_stage = zero_stage_of(attempt);
  std::map<Key, Held> held;
  for (std::size_t rank = 0; rank < attempt.ranks.size(); ++rank) {
    for (const TensorRecord& tensor : attempt.ranks[rank].trace->tensors[number].tensors) {
      if (!is_shared_out(tensor, zero_stage)) continue;
      Held& entry = held[{tensor.role, tensor.name}];
      entry.ranks.push_back(rank);
      entry.tensors.push_back(&tensor);
    }
  }
  return held;
}

// What no rank recorded although some rank has to hold it, or nothing. After the last step it is what was kept in that
// step.
std::string not_held(const AttemptRecord& attempt, std::size_t number, const std::map<Key, Held>& held) {
  const bool is_final = attempt.lead().trace->tensors[number].is_final;
  std::set<std::string> trained;
  for (const RankRecord& rank : attempt.ranks) {
    add_trained_parameters(rank.trace->tensors[is_final ? number - 1 : number], trained);
  }
  std::set<Key> keys;
  for (const auto& [key, _] : held) keys.insert(key);
  return without_holder(keys, trained, zero_stage_of(attempt), is_final);
}

// Adds what the ranks' `number`-th records differ in. Returns what keeps them from being compared, or nothing.
std::string compare_ranks(const AttemptRecord& attempt, std::size_t number, Differences& found) {
  const TensorsRecord& lead = attempt.lead().trace->tensors[number];
  const std::vector<OfRanks> records = on_every_rank(attempt, number);
  for (std::size_t rank = 0; rank < attempt.ranks.size(); ++rank) {
    const TensorsRecord& record = attempt.ranks[rank].trace->tensors[number];
    if (record.step == lead.step && record.is_final == lead.is_final && records[rank].size() == records[0].size())
      continue;
    return fmt::format("rank {} recorded other tensors than rank 0 of {}", rank, place_of(lead));
  }
  bool differs = false;
  std::vector<std::size_t> all(records.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  for (std::size_t i = 0; i < records[0].size(); ++i) {
    OfRanks of_ranks;
    for (const OfRanks& record : records) of_ranks.push_back(record[i]);
    const TensorRecord& first = *of_ranks.front();
    for (const TensorRecord* tensor : of_ranks) {
      if (tensor->role == first.role && is_shared(*tensor) == is_shared(first) &&
          (!is_shared(first) || tensor->name == first.name))
        continue;
      return fmt::format("`{}` of {} was not recorded by every rank", first.name, place_of(lead));
    }
    if (agree(of_ranks) || !is_shared(first)) continue;
    differs = true;
    add_first(lead, of_ranks, all, found);
  }
  const std::map<Key, Held> held = shared_out(attempt, number);
  if (const std::string missing = not_held(attempt, number, held); !missing.empty()) {
    return fmt::format("{} of {}", missing, place_of(lead));
  }
  // Each holder put the whole together, so that they differ says that something was lost on the way to one of them.
  for (const auto& [key, entry] : held) {
    if (agree(entry.tensors)) continue;
    differs = true;
    add_first(lead, entry.tensors, entry.ranks, found);
  }
  if (differs) found.add(lead);
  return "";
}

std::string agreement_of(const AttemptRecord& attempt, std::size_t steps) {
  const int zero_stage = zero_stage_of(attempt);
  const char* what = zero_stage == 0   ? "hold the same parameters, gradients and optimizer state"
                     : zero_stage == 1 ? "hold the same parameters and gradients, and among them the optimizer state,"
                     : zero_stage == 2 ? "hold the same parameters, and among them all gradients and optimizer state,"
                                       : "hold among them all parameters, gradients and optimizer state";
  return fmt::format("{} ranks {} in all {} steps", attempt.ranks.size(), what, steps);
}

// Of one rank: products of matrices may add up in another order with more of them.
std::string threads_of(const AttemptRecord& attempt) {
  const auto threads = said_of<&Settings::threads>(attempt.lead().result->knobs_resolved);
  return threads ? std::to_string(*threads) : "";
}

// Running statistics are each rank's own; what other replicas hold is replica_metrics.hpp's.
bool has_counterpart(const TensorRecord& tensor) {
  return tensor.role != TensorRole::buffer && replica_of(tensor).empty();
}

std::map<Key, const TensorRecord*> by_name(const TensorsRecord& record) {
  std::map<Key, const TensorRecord*> tensors;
  for (const TensorRecord& tensor : record.tensors) {
    if (has_counterpart(tensor)) tensors.emplace(Key{tensor.role, tensor.name}, &tensor);
  }
  return tensors;
}

std::vector<std::size_t> holders_of(const AttemptRecord& attempt, std::size_t number, const Key& key) {
  std::vector<std::size_t> holders;
  for (std::size_t rank = 0; rank < attempt.ranks.size(); ++rank) {
    if (by_name(attempt.ranks[rank].trace->tensors[number]).contains(key)) holders.push_back(rank);
  }
  return holders;
}

// As compare_ranks(), of every rank against `alone`.
std::string compare_with(const TensorsRecord& alone, const std::string& slug, const AttemptRecord& attempt,
                         std::size_t number, Differences& found) {
  const auto expected = by_name(alone);
  const int zero_stage = zero_stage_of(attempt);
  std::map<Key, const TensorRecord*> unseen = expected;
  using Order = std::tuple<TensorRole, bool, std::size_t, std::size_t>;
  std::optional<Order> earliest;
  for (std::size_t rank = 0; rank < attempt.ranks.size(); ++rank) {
    const TensorsRecord& record = attempt.ranks[rank].trace->tensors[number];
    const auto own = by_name(record);
    for (const auto& [key, tensor] : expected) {
      if (!is_shared(*tensor) || is_shared_out(*tensor, zero_stage) || own.contains(key)) continue;
      return fmt::format("rank {} recorded no `{}` of {}", rank, tensor->name, place_of(alone));
    }
    for (std::size_t i = 0; i < record.tensors.size(); ++i) {
      const TensorRecord& tensor = record.tensors[i];
      if (!has_counterpart(tensor)) continue;
      const auto same = expected.find({tensor.role, tensor.name});
      if (same == expected.end() || record.step != alone.step || record.is_final != alone.is_final) {
        return fmt::format("{} recorded no `{}` of {}", slug, tensor.name, place_of(record));
      }
      unseen.erase(same->first);
      const Order order{tensor.role, !is_of_one_micro_batch(tensor), rank, i};
      if (tensor.digest == same->second->digest || (earliest && *earliest < order)) continue;
      earliest = order;
      if (found.steps > 0) continue;  // an earlier step was named
      found.rank = static_cast<int>(rank);
      found.holders.clear();
      if (is_shared_out(tensor, zero_stage)) found.holders = holders_of(attempt, number, same->first);
      found.first = CheckDivergence{divergence_of(record, tensor, same->second->digest), slug};
    }
  }
  if (!unseen.empty()) {
    return fmt::format("no rank recorded `{}` of {}", unseen.begin()->second->name, place_of(alone));
  }
  if (earliest) found.add(alone);
  return "";
}

// Bytes that each rank reports of itself, and how they are spoken of.
struct BytesOfRank {
  std::int64_t CellResult::*bytes;
  const char* verb;
  const char* verb_of_several;
  const char* what;
};

// Of the fullest rank, times `factor`, as a share of what one rank has alone. All together have to have as much.
Measurement share_of_one_rank(const CellEvidence& cell, const CellEvidence& alone, const BytesOfRank& of,
                              double factor) {
  const std::int64_t all_bytes = (*alone.repeats.front().lead().result).*of.bytes;
  if (all_bytes <= 0) return no_value(fmt::format("{} measured no {}", alone.slug, of.what));
  Measurement worst;
  for (const AttemptRecord& attempt : cell.repeats) {
    std::int64_t together_bytes = 0;
    for (std::size_t rank = 0; rank < attempt.ranks.size(); ++rank) {
      const std::int64_t bytes = (*attempt.ranks[rank].result).*of.bytes;
      if (bytes < 0) return no_value(fmt::format("rank {} of repeat {} measured none", rank, attempt.repeat));
      together_bytes += bytes;
      const double share = static_cast<double>(bytes) * factor / static_cast<double>(all_bytes);
      if (worst.value && share <= *worst.value) continue;
      worst = {share, std::nullopt, ""};
      worst.repeat = attempt.repeat;
      worst.statement = fmt::format("rank {} of {} {} {} B of {}, {} {} {} B", rank, attempt.ranks.size(), of.verb,
                                    bytes, of.what, alone.slug, of.verb, all_bytes);
    }
    if (together_bytes < all_bytes) {
      return no_value(fmt::format("the ranks of repeat {} say that they {} {} B together, {} {} {} B", attempt.repeat,
                                  of.verb_of_several, together_bytes, alone.slug, of.verb, all_bytes));
    }
  }
  return worst;
}

Measurement differing_from(const CellEvidence& alone, const AttemptRecord& ours) {
  const AttemptRecord& theirs = alone.repeats.front();
  if (const auto threads = threads_of(ours); threads.empty() || threads != threads_of(theirs)) {
    return no_value(fmt::format("a rank has `{}` threads, {} has `{}`", threads, alone.slug, threads_of(theirs)));
  }
  if (!adds_up_a_subtree(ours.lead())) {
    return no_value(fmt::format("accumulate is `{}`: equal bits are promised for 1, 2, 4 and further powers of two",
                                accumulate_of(ours.lead())));
  }
  for (const AttemptRecord* attempt : {&ours, &theirs}) {
    if (const std::string why = incomplete(*attempt); !why.empty()) return no_value(why);
  }
  const TensorsList& records = theirs.lead().trace->tensors;
  if (records.size() != ours.lead().trace->tensors.size()) return no_value("of other steps than " + alone.slug);
  Differences found;
  for (std::size_t number = 0; number < records.size(); ++number) {
    const std::string why = compare_with(records[number], alone.slug, ours, number, found);
    if (!why.empty()) return no_value(why);
  }
  const auto steps = static_cast<std::int64_t>(records.size()) - 1;
  Measurement measured{found.count(), found.first, ""};
  measured.repeat = ours.repeat;
  measured.statement = found.first
                           ? fmt::format("differs from {} {}, first {}", alone.slug, found.text(steps), found.place())
                           : fmt::format("has the bits of {} in all {} steps", alone.slug, steps);
  return measured;
}

}  // namespace

Measurement differing_ranks_of_training(const CellEvidence& cell, const CellEvidence*) {
  Measurement worst{0.0, std::nullopt, ""};
  const std::size_t ranks = cell.repeats.front().ranks.size();
  if (ranks < 2) return no_value("needs several ranks, the cell has 1");
  const std::size_t steps = cell.repeats.front().lead().trace->steps.size();
  for (const AttemptRecord& attempt : cell.repeats) {
    const auto cannot = [&](const std::string& why) {
      return no_value(fmt::format("repeat {}: {}", attempt.repeat, why));
    };
    if (const std::string why = incomplete(attempt); !why.empty()) return cannot(why);
    Differences found;
    for (std::size_t number = 0; number < attempt.lead().trace->tensors.size(); ++number) {
      if (const std::string why = compare_ranks(attempt, number, found); !why.empty()) return cannot(why);
    }
    if (found.count() <= *worst.value) continue;
    worst = {found.count(), found.first, ""};
    worst.repeat = attempt.repeat;
    worst.statement = fmt::format("in repeat {} rank {} differs from {} {}", attempt.repeat, found.rank,
                                  found.first->against, found.text(static_cast<std::int64_t>(steps)));
  }
  if (*worst.value == 0) {
    worst.statement = agreement_of(cell.repeats.front(), steps);
  }
  return worst;
}

Measurement differing_from_one_rank(const CellEvidence& cell, const CellEvidence* alone) {
  return worst_of_repeats(cell, [&](const AttemptRecord& repeat) { return differing_from(*alone, repeat); });
}

Measurement optimizer_state_share(const CellEvidence& cell, const CellEvidence* alone) {
  if (alone->repeats.front().lead().result->optimizer_state_bytes == 0) return no_value("the optimizer keeps no state");
  return share_of_one_rank(cell, *alone, {&CellResult::optimizer_state_bytes, "keeps", "keep", "optimizer state"},
                           static_cast<double>(cell.repeats.front().ranks.size()));
}

Measurement model_state_share(const CellEvidence& cell, const CellEvidence* alone) {
  return share_of_one_rank(cell, *alone, {&CellResult::model_state_peak_bytes, "held", "held", "model state"}, 1);
}

}  // namespace reprobench
