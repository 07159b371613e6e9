#include "matrix/inquiry/replays.hpp"

#include <fmt/format.h>

namespace reprobench {

ReplayInterrupted::ReplayInterrupted(bool was_terminated)
    : std::runtime_error("stopped by the user while a replay ran"), was_terminated_(was_terminated) {}

void require_completed(const ReplayTask& task, const ReplayOutcome& outcome) {
  const AttemptRecord& attempt = outcome.attempt;
  if (attempt.end == AttemptEnd::completed) return;
  throw ReplayFailed(fmt::format("replay `{}` on {} ended as {}: {}; logs {}", task.purpose, task.request.stack,
                                 to_string(attempt.end), attempt.detail, outcome.folder.string()));
}

std::vector<ReplayOutcome> Replays::run(const std::vector<ReplayTask>& tasks) {
  auto outcomes = run_to_any_end(tasks);
  for (std::size_t i = 0; i < outcomes.size(); ++i) require_completed(tasks[i], outcomes[i]);
  return outcomes;
}

}  // namespace reprobench
