// The timers of an attempt to the millisecond: a limit that is reached is not yet exceeded.
#include "matrix/exec/attempt_watch.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr TimeLimits kWatchLimits{seconds(10), seconds(5), seconds(60), seconds(2)};

AttemptWatch started_watch(int ranks = 1) {
  AttemptWatch watch(kWatchLimits, ranks, seconds(0));
  for (int rank = 0; rank < ranks; ++rank) watch.started(rank, seconds(0));
  return watch;
}

// What the attempt is stopped for at this time: "" for nothing.
std::string stopped_for(AttemptWatch& watch, nanoseconds now) {
  watch.check_limits(now);
  return watch.detail();
}

TEST_CASE("a limit that is reached is not yet exceeded", "[exec]") {
  AttemptWatch first = started_watch();
  CHECK(stopped_for(first, seconds(10)).empty());
  CHECK(stopped_for(first, seconds(10) + milliseconds(1)) == "no first heartbeat within 10 s");

  AttemptWatch gap = started_watch();
  gap.heartbeat(0, seconds(9));
  CHECK(stopped_for(gap, seconds(14)).empty());
  CHECK(stopped_for(gap, seconds(14) + milliseconds(1)) == "no heartbeat for 5 s");
  CHECK(gap.known().end == AttemptEnd::hang);
  CHECK(gap.known().rank == 0);

  AttemptWatch total = started_watch();
  total.heartbeat(0, seconds(60));
  CHECK(stopped_for(total, seconds(60)).empty());
  CHECK(stopped_for(total, seconds(60) + milliseconds(1)) == "no end within the limit of 60 s");
  CHECK(total.known().end == AttemptEnd::timeout);
}

TEST_CASE("the queue limit counts from the submission, and nothing else counts before the start", "[exec]") {
  AttemptWatch watch(kWatchLimits, 2, seconds(100), seconds(30));
  watch.started(1, seconds(101));  // one of two ranks is not the attempt
  CHECK(stopped_for(watch, seconds(130)).empty());
  CHECK(stopped_for(watch, seconds(130) + milliseconds(1)) == "not started within the queue limit of 30 s");
  CHECK(watch.known().end == AttemptEnd::launch);
  CHECK_FALSE(watch.known().rank);

  AttemptWatch patient(kWatchLimits, 1, seconds(0));
  CHECK(stopped_for(patient, seconds(1'000'000)).empty());
}

TEST_CASE("the total limit counts from the last rank's start", "[exec]") {
  AttemptWatch watch(kWatchLimits, 3, seconds(0));
  watch.started(0, seconds(1));
  watch.started(1, seconds(4));
  watch.started(2, seconds(2));
  for (int rank = 0; rank < 3; ++rank) watch.heartbeat(rank, seconds(63));
  CHECK(stopped_for(watch, seconds(64)).empty());
  CHECK(stopped_for(watch, seconds(64) + milliseconds(1)) == "no end within the limit of 60 s");
}

TEST_CASE("no limit runs while it is another's turn, and heartbeats begin anew", "[exec]") {
  AttemptWatch watch = started_watch();
  watch.heartbeat(0, seconds(1));
  watch.pause(seconds(2));
  watch.pause(seconds(40));  // it rests already
  CHECK(watch.is_paused());
  CHECK(stopped_for(watch, seconds(500)).empty());
  watch.resume(seconds(502));
  CHECK_FALSE(watch.is_paused());
  watch.resume(seconds(505));  // and is awake already
  CHECK(stopped_for(watch, seconds(507)).empty());
  watch.heartbeat(0, seconds(559));
  CHECK(stopped_for(watch, seconds(560)).empty());  // 60 s of its own: 2 before the rest and 58 after it
  CHECK(stopped_for(watch, seconds(560) + milliseconds(1)) == "no end within the limit of 60 s");
}

TEST_CASE("several rests add up", "[exec]") {
  AttemptWatch watch = started_watch();
  watch.pause(seconds(10));
  watch.resume(seconds(20));
  watch.pause(seconds(30));
  watch.resume(seconds(70));
  watch.heartbeat(0, seconds(110));
  CHECK(stopped_for(watch, seconds(110)).empty());
  CHECK(stopped_for(watch, seconds(110) + milliseconds(1)) == "no end within the limit of 60 s");
}

TEST_CASE("a rank is blamed for a silence only if it was alone by more than 300 ms", "[exec]") {
  const auto [second_beat, sentence] = GENERATE(table<milliseconds, std::string>({
      {milliseconds(1'299), "no heartbeat for 5 s, several ranks fell silent together"},
      {milliseconds(1'300), "rank 0: no heartbeat for 5 s"},
      {milliseconds(701), "no heartbeat for 5 s, several ranks fell silent together"},
      {milliseconds(700), "rank 1: no heartbeat for 5 s"},
  }));
  AttemptWatch watch = started_watch(2);
  watch.heartbeat(0, milliseconds(1'000));
  watch.heartbeat(1, second_beat);
  CHECK(stopped_for(watch, seconds(8)) == sentence);
  CHECK(watch.known().rank.has_value() == sentence.starts_with("rank"));
}

TEST_CASE("#41: of silent ranks the one that is stopped is named, and nobody is asked before", "[exec]") {
  AttemptWatch watch = started_watch(3);
  for (int rank = 0; rank < 3; ++rank) watch.heartbeat(rank, seconds(1));
  int asked = 0;
  const auto stopped = [&] {
    ++asked;
    return std::vector<int>{2};
  };
  watch.check_limits(seconds(6), stopped);
  CHECK(asked == 0);
  watch.check_limits(seconds(7), stopped);
  CHECK(asked == 1);
  CHECK(watch.known().end == AttemptEnd::hang);
  CHECK(watch.known().rank == 2);
  CHECK(watch.detail() == "rank 2: no heartbeat for 5 s: a process of it is stopped (SIGSTOP or a debugger)");
}

TEST_CASE("a rank that has ended is not silent, nor company in silence", "[exec]") {
  AttemptWatch watch = started_watch(2);
  watch.heartbeat(0, milliseconds(1'000));
  watch.heartbeat(1, milliseconds(1'000));
  watch.ended(0);
  CHECK(stopped_for(watch, seconds(8)) == "rank 1: no heartbeat for 5 s");
  CHECK(watch.known().rank == 1);
}

TEST_CASE("the first reason to stop stays, with its rank", "[exec]") {
  AttemptWatch watch = started_watch(2);
  watch.stop(AttemptEnd::store, "", seconds(3), 1);
  watch.stop(AttemptEnd::interrupted, "stopped by the user", seconds(4));
  watch.stop_others(0, seconds(4));
  CHECK(watch.known().end == AttemptEnd::store);
  CHECK(watch.known().rank == 1);
  CHECK(watch.detail().empty());  // no sentence, so no rank before it
  CHECK(watch.due_signal(seconds(3)) == StopSignal::terminate);

  AttemptWatch alone = started_watch(1);
  alone.stop(AttemptEnd::hang, "silent", seconds(3), 0);
  CHECK(alone.detail() == "silent");  // the only rank needs no name
}

TEST_CASE("TERM comes once, after the grace eight KILLs a second apart, and a second later nobody waits", "[exec]") {
  AttemptWatch watch = started_watch();
  CHECK_FALSE(watch.is_stopping());
  CHECK_FALSE(watch.due_signal(seconds(1'000)));
  watch.stop(AttemptEnd::timeout, "late", seconds(100));
  CHECK(watch.is_stopping());
  CHECK_FALSE(watch.due_signal(seconds(100) - nanoseconds(1)));
  CHECK(watch.due_signal(seconds(100)) == StopSignal::terminate);
  CHECK_FALSE(watch.due_signal(seconds(102) - nanoseconds(1)));  // the grace
  for (int kill = 0; kill < 8; ++kill) {
    CHECK_FALSE(watch.is_given_up(seconds(1'000)));
    CHECK_FALSE(watch.due_signal(seconds(102 + kill) - nanoseconds(1)));
    CHECK(watch.due_signal(seconds(102 + kill)) == StopSignal::kill);
  }
  CHECK_FALSE(watch.due_signal(seconds(1'000)));
  CHECK_FALSE(watch.is_given_up(seconds(110) - nanoseconds(1)));
  CHECK(watch.is_given_up(seconds(110)));
}

TEST_CASE("ranks beside one that ended badly have a second to notice, without limits of their own", "[exec]") {
  AttemptWatch watch = started_watch(2);
  watch.stop_others(1, seconds(3));
  CHECK_FALSE(watch.known().end);  // the files say it
  CHECK(watch.known().rank == 1);
  CHECK_FALSE(watch.due_signal(seconds(4) - nanoseconds(1)));
  CHECK(stopped_for(watch, seconds(100)).empty());
  CHECK(watch.due_signal(seconds(4)) == StopSignal::terminate);
}

TEST_CASE("told to kill now, no TERM comes before, and nothing comes sooner for being told again", "[exec]") {
  AttemptWatch fresh = started_watch();
  fresh.stop(AttemptEnd::interrupted, "stopped by the user", seconds(1));
  fresh.kill_now(seconds(1));
  CHECK(fresh.due_signal(seconds(1)) == StopSignal::kill);
  fresh.kill_now(seconds(1));
  CHECK_FALSE(fresh.due_signal(seconds(1)));
  CHECK(fresh.due_signal(seconds(2)) == StopSignal::kill);

  AttemptWatch asked = started_watch();
  asked.stop(AttemptEnd::interrupted, "stopped by the user", seconds(1));
  CHECK(asked.due_signal(seconds(1)) == StopSignal::terminate);
  asked.kill_now(milliseconds(1'500));  // within the grace
  CHECK(asked.due_signal(milliseconds(1'500)) == StopSignal::kill);
}

}  // namespace
}  // namespace reprobench
