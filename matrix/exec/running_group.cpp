#include "matrix/exec/running_group.hpp"

#include <algorithm>

#include "matrix/contract/turns.hpp"

namespace reprobench {
namespace {

RunningAttempt* attempt_of(RunningGroup& group, std::size_t member) {
  const auto found = std::find_if(group.attempts.begin(), group.attempts.end(),
                                  [&](const RunningAttempt& attempt) { return attempt.member == member; });
  return found == group.attempts.end() ? nullptr : &*found;
}

// True once whoever has the turn no longer needs it.
bool turn_is_over(RunningGroup& group, AttemptWatch::Time now) {
  if (!group.turn) return true;
  RunningAttempt* holder = attempt_of(group, group.turn->member);
  if (holder == nullptr) return true;
  if (group.turn->block + 1 == count_of_turns(holder->request) || !holder->resident->has_done_its_turn()) return false;
  holder->watch.pause(now);
  return true;
}

}  // namespace

bool all_have_loaded(RunningGroup& group, AttemptWatch::Time now) {
  bool all = true;
  for (RunningAttempt& attempt : group.attempts) {
    const bool has_loaded = attempt.resident != nullptr && attempt.resident->is_ready();
    if (has_loaded) attempt.watch.pause(now);
    all = all && has_loaded;
  }
  return all;
}

void pass_turns(RunningGroup& group, AttemptWatch::Time now) {
  if (!group.takes_turns()) return;
  if (!group.turns_have_begun && !all_have_loaded(group, now)) return;
  group.turns_have_begun = true;
  if (!turn_is_over(group, now)) return;
  while ((group.turn = group.order.next())) {
    RunningAttempt* next = attempt_of(group, group.turn->member);
    if (next == nullptr || next->watch.is_stopping()) continue;
    next->resident->give_turn(group.turn->block);
    next->watch.resume(now);
    return;
  }
}

}  // namespace reprobench
