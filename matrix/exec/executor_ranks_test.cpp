// How an attempt of several ranks ends, and which rank is named.
#include "matrix/exec/executor_scene.hpp"

namespace reprobench {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// An attempt of two ranks that does this.
AttemptRecord attempt_of_two(const FakeAttempt& first, const FakeAttempt& second) {
  FakeAttempt script = first;
  script.other_ranks = {second};
  ExecutorScene scene({script});
  Plan plan = sample_plan({sample_cell("aaa", "stack-a")});
  plan.cells[0].cell.request.world_size = 2;
  plan.cells[0].cell.limits = {seconds(5), seconds(5), seconds(60), seconds(1)};
  scene.options.infra_retries = 0;
  const auto records = scene.run(plan);
  REQUIRE(records[0].attempts.size() == 1);
  REQUIRE(records[0].attempts[0].ranks.size() == 2);
  return records[0].attempts[0];
}

FakeAttempt after(FakeAttempt attempt, milliseconds time) {
  attempt.ends_after = time;
  return attempt;
}

TEST_CASE("an attempt is over when all its ranks are", "[exec][ranks]") {
  const AttemptRecord attempt = attempt_of_two(finishes_ok(), after(finishes_ok(), milliseconds(900)));
  CHECK(attempt.end == AttemptEnd::completed);
  CHECK(attempt.detail == "exit code 0");
  CHECK(attempt.ranks[1].result->rank == 1);
}

TEST_CASE("a rank that ends badly takes the others along and is the one that is named", "[exec][ranks]") {
  const AttemptRecord attempt = attempt_of_two(runs_for_ever(), after(exits_with(3), milliseconds(500)));
  CHECK(attempt.end == AttemptEnd::nonzero);
  CHECK(attempt.detail == "rank 1: exit code 3; last step 6");
  CHECK(attempt.ended_by == 1);
  CHECK_FALSE(attempt.ranks[0].end);
}

TEST_CASE("a rank that fails because another has ended is not named", "[exec][ranks]") {
  const AttemptRecord attempt =
      attempt_of_two(after(exits_with(1), milliseconds(900)), after(exits_with(3), milliseconds(500)));
  CHECK(attempt.ended_by == 1);
  CHECK(attempt.detail == "rank 1: exit code 3; last step 6");
  CHECK(attempt.ranks[0].end == AttemptEnd::nonzero);
}

TEST_CASE("the rank that fell silent first is the one that hangs", "[exec][ranks]") {
  FakeAttempt waits_for_peer = hangs();
  waits_for_peer.beats_until = milliseconds(1'500);
  const AttemptRecord attempt = attempt_of_two(waits_for_peer, hangs());
  CHECK(attempt.end == AttemptEnd::hang);
  CHECK(attempt.detail == "rank 1: no heartbeat for 5 s");
  CHECK(attempt.ended_by == 1);
  CHECK_FALSE(attempt.ranks[0].end);
}

TEST_CASE("ranks that fall silent together are not told apart", "[exec][ranks]") {
  const AttemptRecord attempt = attempt_of_two(hangs(), hangs());
  CHECK(attempt.end == AttemptEnd::hang);
  CHECK(attempt.detail == "no heartbeat for 5 s, several ranks fell silent together");
}

TEST_CASE("a rank that is done is not held to a heartbeat", "[exec][ranks]") {
  const AttemptRecord attempt = attempt_of_two(finishes_ok(), after(runs_for_ever(), seconds(30)));
  CHECK(attempt.end == AttemptEnd::completed);
}

TEST_CASE("a rank without files after its end is the lost one", "[exec][ranks]") {
  const AttemptRecord attempt = attempt_of_two(runs_for_ever(), is_lost());
  CHECK(attempt.end == AttemptEnd::lost);
  CHECK(attempt.detail == "rank 1: exit.json: missing");
}

}  // namespace
}  // namespace reprobench
