#include "matrix/evidence/attempt_judge.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace reprobench {
namespace {

// A program that upset the GPU may end in any of these ways, or not notice at all.
bool may_hide_an_xid(AttemptEnd end) {
  return end == AttemptEnd::completed || end == AttemptEnd::nonzero || end == AttemptEnd::crash ||
         end == AttemptEnd::worker_error || end == AttemptEnd::contract;
}

// A device fault explains every end but the user's own; an error of the application class only one that nobody of us
// brought about, since killing a program on the GPU reports some of them too (reliability rule R12).
void blame_gpu(JudgedEnd& judged, const TelemetrySummary& telemetry, bool was_stopped) {
  const auto fault = worst_fault(telemetry);
  if (!fault) return;
  if (fault->is_device && side_of(judged.end) != Side::user) {
    judged = {AttemptEnd::gpu_hw, fault->sentence + "; " + judged.detail};
  } else if (!fault->is_device && !was_stopped && may_hide_an_xid(judged.end)) {
    judged = {AttemptEnd::xid, fault->sentence + "; " + judged.detail};
  } else {
    judged.detail += "; " + fault->sentence;
  }
}

// All ranks train the same workload. The odd one is named; of two that differ, the second.
void compare_workloads(const AttemptFiles& files, std::vector<JudgedEnd>& ranks) {
  std::map<std::string, int> counts;
  const std::string* usual = nullptr;
  for (const RankFiles& rank : files.ranks) {
    if (rank.result.value) ++counts[rank.result.value->workload_digest];
  }
  for (const RankFiles& rank : files.ranks) {
    if (!rank.result.value) continue;
    const std::string& digest = rank.result.value->workload_digest;
    if (usual == nullptr || counts[digest] > counts[*usual]) usual = &digest;
  }
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i].end != AttemptEnd::completed) continue;
    const std::string& digest = files.ranks[i].result.value->workload_digest;
    if (digest == *usual) continue;
    ranks[i] = {AttemptEnd::contract,
                fmt::format("result.json: workload_digest {}, the other ranks have {}", digest, *usual)};
  }
}

bool was_stopped(const RankFiles& rank) { return rank.exit.value && rank.exit.value->stopped_by == StoppedBy::runner; }

// Nothing: every rank is completed. Of several that ended badly by themselves the first, since it may have taken the
// others along; a rank without an exit record does not say when.
std::optional<std::size_t> first_to_fail(const AttemptFiles& files, const std::vector<JudgedEnd>& ranks) {
  std::optional<std::size_t> first;
  const auto order = [&](std::size_t i) {
    const auto& exit = files.ranks[i].exit.value;
    return std::tuple(was_stopped(files.ranks[i]), !exit, exit ? exit->duration_ns : 0, i);
  };
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i].end == AttemptEnd::completed) continue;
    if (!first || order(i) < order(*first)) first = i;
  }
  return first;
}

// Where nobody says which rank it was, the one that came least far speaks for the attempt.
std::size_t slowest_of(const AttemptFiles& files) {
  const auto steps = [](const RankFiles& rank) { return rank.trace ? rank.trace->steps.size() : 0; };
  const auto slowest = std::min_element(files.ranks.begin(), files.ranks.end(),
                                        [&](const auto& a, const auto& b) { return steps(a) < steps(b); });
  return static_cast<std::size_t>(slowest - files.ranks.begin());
}

bool gave_up(const RankFiles& rank) {
  return rank.result.value && rank.result.value->failure && rank.result.value->failure->cause == "collective";
}

// The rank that most of those name that gave up, itself among them: one that calls another collective than the others
// gives up like them, and perhaps later. Nothing if no more than half name one. `only_differing`: who merely waits for
// a rank does not name it.
std::optional<std::size_t> named_by_most(const AttemptFiles& files, bool only_differing = false) {
  std::map<int, std::size_t> votes;
  std::size_t voters = 0;
  for (const RankFiles& rank : files.ranks) {
    if (!gave_up(rank)) continue;
    ++voters;
    const WorkerFailure& failure = *rank.result.value->failure;
    if (failure.waited_for && (failure.calls_differ || !only_differing)) ++votes[*failure.waited_for];
  }
  for (const auto& [rank, count] : votes) {
    const bool is_rank = rank >= 0 && static_cast<std::size_t>(rank) < files.ranks.size();
    if (is_rank && count > 1 && 2 * count > voters) return static_cast<std::size_t>(rank);
  }
  return std::nullopt;
}

// A rank whose call is another one than the others' made whatever came of it, even the death of a rank that it sent
// something too large to: Gloo ends the receiver's process.
std::optional<std::size_t> alone_in_its_call(const AttemptFiles& files) {
  const auto named = named_by_most(files, true);
  if (!named || !gave_up(files.ranks[*named]) || was_stopped(files.ranks[*named])) return std::nullopt;
  return named;
}

// Who is behind the end of a rank that gave up in a collective: the first to end badly in another way, else the one
// that most name, else the one that it says it waited for. Nothing if that one gave up as well, or is done: then `rank`
// speaks for itself.
std::optional<std::size_t> missed_by(const AttemptFiles& files, const std::vector<JudgedEnd>& ranks, std::size_t rank) {
  if (!gave_up(files.ranks[rank])) return std::nullopt;
  std::vector<JudgedEnd> others = ranks;
  for (std::size_t i = 0; i < others.size(); ++i) {
    if (gave_up(files.ranks[i]) || was_stopped(files.ranks[i])) others[i].end = AttemptEnd::completed;
  }
  if (const auto first = first_to_fail(files, others)) return first;
  if (const auto most = named_by_most(files); most && gave_up(files.ranks[*most])) return most;
  const std::optional<int> named = files.ranks[rank].result.value->failure->waited_for;
  if (!named || static_cast<std::size_t>(*named) >= ranks.size()) return std::nullopt;
  const auto other = static_cast<std::size_t>(*named);
  // What we stopped may have gone on for a moment and then lost its peers: that is no word of its own.
  const bool speaks_for_itself = gave_up(files.ranks[other]) && !was_stopped(files.ranks[other]);
  if (ranks[other].end == AttemptEnd::completed || speaks_for_itself) return std::nullopt;
  return other;
}

// What is known of a rank that was stopped while it waited: the call in which others saw it, where that is another one
// than theirs. It may have begun later than they, and so was stopped before it gave up by itself.
std::optional<JudgedEnd> seen_in_another_call(const AttemptFiles& files, std::size_t rank) {
  for (std::size_t other = 0; other < files.ranks.size(); ++other) {
    if (!gave_up(files.ranks[other]) || was_stopped(files.ranks[other])) continue;
    const WorkerFailure& failure = *files.ranks[other].result.value->failure;
    if (!failure.calls_differ || failure.waited_for != static_cast<int>(rank)) continue;
    return JudgedEnd{AttemptEnd::worker_error, fmt::format("collective: rank {} saw it: {}", other, failure.detail)};
  }
  return std::nullopt;
}

}  // namespace

JudgedAttempt judge_attempt(const AttemptFiles& files, const std::optional<TelemetrySummary>& telemetry,
                            const CellRequest& request, const KnownEnd& known) {
  std::vector<JudgedEnd> ranks;
  CellRequest of_rank = request;
  for (const RankFiles& rank : files.ranks) {
    of_rank.rank = static_cast<int>(ranks.size());
    ranks.push_back(judge_rank(rank, of_rank));
  }
  compare_workloads(files, ranks);

  std::optional<std::size_t> guilty;
  if (known.rank && static_cast<std::size_t>(*known.rank) < ranks.size()) guilty = *known.rank;
  if (known.end) {
    const std::size_t spokesman = guilty.value_or(slowest_of(files));
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const bool ends_so = guilty ? i == *guilty : ranks[i].end != AttemptEnd::completed || i == spokesman;
      if (ends_so) ranks[i] = {*known.end, describe_stop(*known.end, files.ranks[i])};
    }
  }
  const bool has_several = ranks.size() > 1;
  const bool is_named = guilty && ranks[*guilty].end != AttemptEnd::completed;
  if (!is_named && !known.end) guilty = first_to_fail(files, ranks);
  const auto alone = known.end ? std::nullopt : alone_in_its_call(files);
  if (alone) guilty = alone;
  const auto absent = guilty && !alone && !known.end ? missed_by(files, ranks, *guilty) : std::nullopt;
  if (absent) {
    // It did not end by itself: nobody knows more of it than who waited.
    if (was_stopped(files.ranks[*absent])) {
      ranks[*absent] = {AttemptEnd::hang, fmt::format("rank {} waited for it: {}", *guilty,
                                                      files.ranks[*guilty].result.value->failure->detail)};
    }
    guilty = absent;
  }
  if (guilty && !known.end && was_stopped(files.ranks[*guilty])) {
    if (auto seen = seen_in_another_call(files, *guilty)) ranks[*guilty] = *std::move(seen);
  }

  JudgedAttempt judged;
  const std::size_t deciding = guilty.value_or(known.end ? slowest_of(files) : 0);
  judged.ended_by = static_cast<int>(deciding);
  judged.attempt = ranks[deciding];
  if (has_several && guilty) judged.attempt.detail = fmt::format("rank {}: {}", deciding, judged.attempt.detail);
  if (telemetry) blame_gpu(judged.attempt, *telemetry, known.end.has_value());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const bool is_innocent = guilty && i != *guilty && was_stopped(files.ranks[i]);
    judged.ranks.push_back(is_innocent ? std::nullopt : std::optional(std::move(ranks[i])));
  }
  return judged;
}

}  // namespace reprobench
