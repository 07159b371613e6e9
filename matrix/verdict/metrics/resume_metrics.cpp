#include "matrix/verdict/metrics/resume_metrics.hpp"

#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/digest/digest.hpp"
#include "matrix/verdict/metrics/rank_tensors.hpp"
#include "matrix/verdict/metrics/resumed_segments.hpp"

namespace reprobench {
namespace {

constexpr const char* kAgainstWhole = "the process that was never stopped";

// "the resumed process", of several ranks "rank 1 of the resumed process".
std::string named(const char* segment, const Ranks& ranks, std::size_t rank) {
  return ranks.size() == 1 ? fmt::format("the {} process", segment)
                           : fmt::format("rank {} of the {} process", rank, segment);
}

std::string incomplete_traces(const char* segment, const Ranks& ranks, std::int64_t first, std::int64_t last) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const Trace& trace = *ranks[rank].trace;
    if (trace.header.level != TraceLevel::tensor) return "digests of every tensor are needed: `trace: tensor`";
    const auto steps = static_cast<std::size_t>(last - first + 1);
    const bool is_whole = trace.steps.size() == steps && trace.tensors.size() == steps + 1 && steps > 0 &&
                          trace.steps.front().step == first && trace.steps.back().step == last &&
                          trace.tensors.back().is_final;
    if (is_whole) continue;
    return fmt::format("{} has not every tensor of the steps {} to {}", named(segment, ranks, rank), first, last);
  }
  return "";
}

// All ranks went on from the chain that those that were stopped ended with, put together (kernels/digest). Nothing:
// what one of them ended with is no digest.
std::optional<std::string> chain_of(const Ranks& stopped) {
  if (stopped.size() == 1) return stopped.front().trace->steps.back().chain;
  std::vector<Digest> chains;
  for (const RankRecord& rank : stopped) {
    const auto chain = digest_from_hex(rank.trace->steps.back().chain);
    if (!chain) return std::nullopt;
    chains.push_back(*chain);
  }
  return to_hex(chain_of_ranks(chains));
}

// The ranks of a training have one checkpoint together: the first of them writes it.
std::string unwritten(const ResumedSegments& of) {
  for (std::size_t rank = 0; rank < of.stopped.size(); ++rank) {
    const auto& checkpoints = of.stopped[rank].result->checkpoints;
    const bool has_written = checkpoints && !checkpoints->written.empty();
    if (rank > 0 && has_written)
      return fmt::format("rank {} says that it wrote a checkpoint beside that of rank 0", rank);
    if (rank > 0 || (has_written && checkpoints->written.back().step == of.stopped_after())) continue;
    return fmt::format("the stopped process wrote no checkpoint of step {}", of.stopped_after());
  }
  return "";
}

// What keeps that rank from being proof that it went on from what was written; empty: nothing.
std::string unproven_rank(const ResumedSegments& of, std::size_t rank) {
  const auto& resumed = of.resumed[rank].trace->header.resumed;
  const std::string who = named("resumed", of.resumed, rank);
  if (!resumed) return who + " does not say that it went on from a checkpoint";
  if (resumed->after_step != of.stopped_after()) {
    return fmt::format("{} went on after step {}, the other was stopped after {}", who, resumed->after_step,
                       of.stopped_after());
  }
  if (const std::string gap = unwritten(of); !gap.empty()) return gap;
  const WrittenCheckpoint& file = of.stopped.front().result->checkpoints->written.back();
  if (resumed->checksum != file.checksum || resumed->file != file.file ||
      resumed->written_by != of.stopped.front().trace->header.nonce) {
    return fmt::format("{} went on from {} with checksum {}, not from the {} with {} that was written", who,
                       resumed->file, resumed->checksum, file.file, file.checksum);
  }
  if (resumed->chain != chain_of(of.stopped)) {
    return who + " begins with another chain than the stopped one ended with";
  }
  return "";
}

// Equal bits are promised between layouts that add up micro-batches in one tree (ADR 23).
std::string other_sums(const ResumedSegments& of) {
  if (of.resumed.size() == of.whole.size()) return "";
  for (const Ranks* ranks : {&of.whole, &of.resumed}) {
    if (adds_up_a_subtree(ranks->front())) continue;
    return fmt::format("accumulate is `{}` on {} ranks: equal bits are promised for 1, 2, 4 and further powers of two",
                       accumulate_of(ranks->front()), ranks->size());
  }
  return "";
}

// What keeps the resumed process from being proof; empty: nothing.
std::string unproven(const ResumedSegments& of) {
  for (const RankRecord& rank : of.whole) {
    if (rank.trace->header.resumed) return "the process that is to be whole began from a checkpoint";
  }
  for (const RankRecord& rank : of.stopped) {
    if (rank.trace->header.resumed) return "the process that was stopped began from a checkpoint itself";
  }
  if (of.stopped.size() != of.whole.size()) return "the stopped process has other ranks than the whole one";
  for (std::size_t rank = 0; rank < of.resumed.size(); ++rank) {
    if (const std::string gap = unproven_rank(of, rank); !gap.empty()) return gap;
  }
  for (const Ranks* ranks : {&of.whole, &of.stopped, &of.resumed}) {
    for (const RankRecord& rank : *ranks) {
      if (rank.trace->header.workload_digest == of.whole.front().trace->header.workload_digest) continue;
      return "the processes did not run the same workload: their digests differ";
    }
  }
  return other_sums(of);
}

// "two processes", of several ranks "two processes of 2 and 4 ranks".
std::string processes_text(const ResumedSegments& of) {
  if (of.stopped.size() == 1 && of.resumed.size() == 1) return "two processes";
  return fmt::format("two processes of {} and {} ranks", of.stopped.size(), of.resumed.size());
}

std::string one_text(const ResumedSegments& of) {
  return of.whole.size() == 1 ? "one" : fmt::format("one of {}", of.whole.size());
}

std::string text_of(const Differing& differing, const ResumedSegments& of) {
  const std::int64_t after = of.stopped_after();
  const std::int64_t rest = differing.steps - after;
  if (differing.count() == 0) {
    return fmt::format("{} + {} steps in {} have the bits of {} in {}", after, rest, processes_text(of),
                       differing.steps, one_text(of));
  }
  std::string text = fmt::format("of {} + {} steps in {} {} have other bits than in {}", after, rest,
                                 processes_text(of), differing.steps_differing, one_text(of));
  if (differing.stopped_state_differs) text += ", and so has the state that was stopped in";
  if (!differing.loaded_otherwise.empty()) {
    text += of.resumed.size() == 1 ? "; what was loaded is not the state that was stopped in"
                                   : fmt::format("; what rank {} loaded is not the state that was stopped in",
                                                 fmt::join(differing.loaded_otherwise, ", "));
  }
  if (differing.final_state_differs) text += "; the last state differs";
  if (!differing.where.empty()) text += ", first " + differing.where;
  return text;
}

std::string cannot_compare(const ResumedSegments& of) {
  if (of.stopped.front().trace->steps.empty()) return "the stopped process did no step";
  const std::int64_t after = of.stopped_after();
  const std::int64_t last = of.whole.front().trace->steps.empty() ? 0 : of.last_step();
  if (after >= last) return "no process was stopped before the last step";
  for (const std::string& gap :
       {incomplete_traces("whole", of.whole, 1, last), incomplete_traces("stopped", of.stopped, 1, after),
        incomplete_traces("resumed", of.resumed, after + 1, last)}) {
    if (!gap.empty()) return gap;
  }
  return unproven(of);
}

}  // namespace

Measurement differing_after_resuming(const CellEvidence& cell, const CellEvidence*) {
  Measurement worst;
  for (const AttemptRecord& attempt : cell.repeats) {
    const auto cannot = [&](const std::string& why) {
      return no_value(fmt::format("repeat {}: {}", attempt.repeat, why));
    };
    const bool has_segments = attempt.segments.size() == 2 && attempt.segments[0].segment == AttemptSegment::stopped &&
                              attempt.segments[1].segment == AttemptSegment::resumed;
    if (!has_segments) return cannot("nothing was stopped and resumed: its workload has no `resume_after`");
    const ResumedSegments of{attempt.ranks, attempt.segments[0].ranks, attempt.segments[1].ranks};
    if (const std::string why = cannot_compare(of); !why.empty()) return cannot(why);
    const Differing differing = compare_segments(of);
    if (!differing.missing.empty()) return cannot(differing.missing);
    if (worst.value && differing.count() <= *worst.value) continue;
    worst = {differing.count(), std::nullopt, ""};
    worst.repeat = attempt.repeat;
    worst.statement = fmt::format("in repeat {} {}", attempt.repeat, text_of(differing, of));
    if (differing.first) worst.divergence = CheckDivergence{*differing.first, kAgainstWhole};
  }
  return worst;
}

}  // namespace reprobench
