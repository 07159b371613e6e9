#include "matrix/evidence/attempt_judge.hpp"

#include <algorithm>
#include <csignal>
#include <sstream>

#include "ci/catch.hpp"
#include "matrix/evidence/run_record.hpp"
#include "matrix/record/run_directory.hpp"
#include "matrix/record/sample_attempt.hpp"

namespace reprobench {
namespace {

// An attempt of ranks that all left what a good worker leaves; a test spoils some.
struct RanksOnDisk {
  explicit RanksOnDisk(int ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
      SampleAttempt& sample = samples.emplace_back();
      sample.request.world_size = ranks;
      sample.request.rank = rank;
      sample.exit.rank = rank;
      sample.exit.duration_ns = 10'000;
      sample.result.rank = rank;
      sample.lines[0]["rank"] = rank;
    }
  }

  AttemptRecord load(const KnownEnd& known = {}) {
    for (const SampleAttempt& sample : samples) {
      sample.write(folder.path / "a" / rank_folder_name(sample.request.rank));
    }
    return load_again(known);
  }
  AttemptRecord load_again(const KnownEnd& known = {}) {
    CellRequest request = samples[0].request;
    request.rank = 0;
    return load_attempt(folder.path.string(), "a", request, known);
  }

  void crash(std::size_t rank, std::int64_t after_ns) {
    samples[rank].exit.exit_code.reset();
    samples[rank].exit.signal = SIGSEGV;
    samples[rank].exit.duration_ns = after_ns;
  }
  void give_up(std::size_t rank, std::optional<int> waited_for, std::int64_t after_ns, bool calls_differ = false) {
    samples[rank].exit.exit_code = 1;
    samples[rank].exit.duration_ns = after_ns;
    samples[rank].result.failure = WorkerFailure{"collective", "call 7, all_reduce", 0, waited_for, calls_differ};
  }
  void stop(std::size_t rank) {
    samples[rank].exit.exit_code.reset();
    samples[rank].exit.signal = SIGTERM;
    samples[rank].exit.stopped_by = StoppedBy::runner;
  }

  TemporaryFolder folder;
  std::vector<SampleAttempt> samples;
};

TEST_CASE("an attempt is completed by the proof of every rank", "[evidence][ranks]") {
  RanksOnDisk scene(3);
  const AttemptRecord attempt = scene.load();
  CHECK(attempt.end == AttemptEnd::completed);
  CHECK(attempt.detail == "exit code 0");
  REQUIRE(attempt.ranks.size() == 3);
  CHECK(attempt.ranks[2].trace->header.rank == 2);
}

TEST_CASE("of ranks that ended badly the first one is named, whatever its number", "[evidence][ranks]") {
  RanksOnDisk scene(3);
  scene.crash(0, 900);
  scene.crash(2, 500);
  scene.stop(1);
  const AttemptRecord attempt = scene.load();
  CHECK(attempt.end == AttemptEnd::crash);
  CHECK(attempt.detail == "rank 2: SIGSEGV; last step 3");
  CHECK(attempt.ended_by == 2);
  CHECK(attempt.ranks[0].end == AttemptEnd::crash);
  CHECK_FALSE(attempt.ranks[1].end);
}

TEST_CASE("who ran the attempt knows better than the durations which rank was first", "[evidence][ranks]") {
  RanksOnDisk scene(2);
  scene.crash(0, 500);
  scene.crash(1, 900);
  CHECK(scene.load({std::nullopt, 1}).ended_by == 1);
  CHECK(scene.load({std::nullopt, 7}).ended_by == 0);  // no such rank
}

TEST_CASE("a rank that gave up in a collective names the one that it waited for", "[evidence][ranks]") {
  RanksOnDisk scene(3);
  scene.give_up(0, 2, 400);
  scene.give_up(1, 2, 500);
  // Continued to be stopped, it finds its peers gone.
  if (GENERATE(false, true)) scene.give_up(2, 0, 900);
  scene.stop(2);
  const AttemptRecord attempt = scene.load({std::nullopt, 0});
  CHECK(attempt.end == AttemptEnd::hang);
  CHECK(attempt.ended_by == 2);
  CHECK(attempt.detail == "rank 2: rank 0 waited for it: call 7, all_reduce");
  CHECK(attempt.ranks[0].end == AttemptEnd::worker_error);
  CHECK(attempt.ranks[2].end == AttemptEnd::hang);
  // As the journal tells it later.
  const AttemptRecord later = scene.load_again({AttemptEnd::hang, 2});
  CHECK(later.ended_by == 2);
  CHECK(later.ranks[0].end == AttemptEnd::worker_error);
  CHECK(later.ranks[2].end == AttemptEnd::hang);
}

// Ranks that wait for each other at two places: the one at the wrong place began later and was stopped before it could
// say so itself.
TEST_CASE("a rank that was stopped in another call than the others' is told by who saw it there, and does not hang",
          "[evidence][ranks]") {
  RanksOnDisk scene(3);
  scene.give_up(0, 1, 400, true);
  if (GENERATE(false, true)) scene.give_up(1, 0, 900);  // stopped, and it says so after all
  scene.stop(1);
  scene.stop(2);
  const AttemptRecord attempt = scene.load({std::nullopt, 0});
  CHECK(attempt.end == AttemptEnd::worker_error);
  CHECK(attempt.ended_by == 1);
  CHECK(attempt.detail == "rank 1: collective: rank 0 saw it: call 7, all_reduce");
  CHECK_FALSE(attempt.ranks[2].end);
  const AttemptRecord later = scene.load_again({std::nullopt, 1});  // as the journal tells it
  CHECK(later.end == AttemptEnd::worker_error);
  CHECK(later.detail == attempt.detail);
  scene.stop(0);  // who was stopped itself is no witness
  CHECK(scene.load({std::nullopt, 1}).end != AttemptEnd::worker_error);
}

TEST_CASE("a rank that was stopped hangs where others merely wait for it, or see another one in another call",
          "[evidence][ranks]") {
  RanksOnDisk scene(3);
  scene.give_up(0, 1, 400);
  scene.give_up(2, 0, 500, true);
  scene.stop(1);
  const AttemptRecord attempt = scene.load({std::nullopt, 0});
  CHECK(attempt.end == AttemptEnd::hang);
  CHECK(attempt.ended_by == 1);
}

TEST_CASE("a rank that died is the cause, though one that lost it was seen to end first", "[evidence][ranks]") {
  RanksOnDisk scene(3);
  scene.give_up(0, std::nullopt, 400);
  scene.give_up(1, 0, 450);
  scene.crash(2, 500);
  const AttemptRecord attempt = scene.load({std::nullopt, 0});
  CHECK(attempt.end == AttemptEnd::crash);
  CHECK(attempt.ended_by == 2);
  CHECK(attempt.detail == "rank 2: SIGSEGV; last step 3");
}

TEST_CASE("a rank that calls another collective is the cause, though another rank died of it", "[evidence][ranks]") {
  RanksOnDisk scene(4);
  scene.crash(3, 300);
  scene.give_up(0, 2, 400, true);
  scene.give_up(1, 2, 500, true);
  scene.give_up(2, 2, 600, true);
  const AttemptRecord attempt = scene.load({std::nullopt, 3});
  CHECK(attempt.ended_by == 2);
  CHECK(attempt.end == AttemptEnd::worker_error);
  CHECK(attempt.detail == "rank 2: collective: call 7, all_reduce");
  CHECK(scene.load().ended_by == 2);
  CHECK(attempt.ranks[3].end == AttemptEnd::crash);
  // What the journal says of who was stopped, and why, stays.
  const AttemptRecord stopped = scene.load_again({AttemptEnd::hang, 0});
  CHECK(stopped.end == AttemptEnd::hang);
  CHECK(stopped.ended_by == 0);
}

TEST_CASE("a rank that died is the cause where others only wait for a third, or one alone sees another call",
          "[evidence][ranks]") {
  RanksOnDisk waiting(4);
  waiting.crash(3, 300);
  for (const std::size_t rank : {0, 1, 2}) waiting.give_up(rank, 2, 400);
  CHECK(waiting.load({std::nullopt, 3}).ended_by == 3);
  RanksOnDisk alone(4);
  alone.crash(3, 300);
  alone.give_up(0, 2, 400, true);
  alone.give_up(1, 3, 500);
  alone.give_up(2, 3, 600);
  CHECK(alone.load({std::nullopt, 3}).ended_by == 3);
  // What is named has to say so itself: of one that was stopped nobody knows what it would have said.
  RanksOnDisk stopped(4);
  stopped.crash(3, 300);
  stopped.give_up(0, 2, 400, true);
  stopped.give_up(1, 2, 500, true);
  stopped.stop(2);
  CHECK(stopped.load({std::nullopt, 3}).ended_by == 3);
}

TEST_CASE("a rank that calls another collective is named by most, though another one gave up first",
          "[evidence][ranks]") {
  RanksOnDisk scene(3);
  scene.give_up(0, 1, 400);
  scene.give_up(1, 1, 500);  // it says so of itself
  scene.give_up(2, 0, 600);  // the first to leave, which it lost
  const AttemptRecord attempt = scene.load({std::nullopt, 0});
  CHECK(attempt.end == AttemptEnd::worker_error);
  CHECK(attempt.ended_by == 1);
  CHECK(attempt.detail == "rank 1: collective: call 7, all_reduce");
  // One vote of three, or two of four, decide nothing.
  RanksOnDisk split(4);
  split.give_up(0, 1, 400);
  split.give_up(1, 1, 500);
  split.give_up(2, 3, 600);
  split.give_up(3, 2, 700);
  CHECK(split.load({std::nullopt, 2}).ended_by == 2);
  RanksOnDisk beyond(3);
  beyond.give_up(0, 9, 400);
  beyond.give_up(1, 9, 500);
  beyond.give_up(2, -1, 600);
  CHECK(beyond.load({std::nullopt, 2}).ended_by == 2);
}

TEST_CASE("ranks that wait for each other, or for one that is done, speak for themselves", "[evidence][ranks]") {
  RanksOnDisk each_other(2);
  each_other.give_up(0, 1, 400);
  each_other.give_up(1, 0, 500);
  CHECK(each_other.load().detail == "rank 0: collective: call 7, all_reduce");
  RanksOnDisk done(2);
  done.give_up(0, 1, 400);
  CHECK(done.load().detail == "rank 0: collective: call 7, all_reduce");
  RanksOnDisk nobody(2);
  nobody.give_up(0, 9, 400);
  nobody.stop(1);
  CHECK(nobody.load().detail == "rank 0: collective: call 7, all_reduce");
}

TEST_CASE("a known end is one rank's, or that of all that did not complete", "[evidence][ranks]") {
  RanksOnDisk scene(2);
  scene.stop(0);
  scene.stop(1);
  const AttemptRecord hang = scene.load({AttemptEnd::hang, 1});
  CHECK(hang.detail == "rank 1: no heartbeat within the limit; last step 3");
  CHECK_FALSE(hang.ranks[0].end);
  const AttemptRecord timeout = scene.load({AttemptEnd::timeout, std::nullopt});
  CHECK(timeout.detail == "over the total time limit; last step 3");
  CHECK(timeout.ranks[0].end == AttemptEnd::timeout);
}

TEST_CASE("where nobody says which rank it was, the one that came least far speaks", "[evidence][ranks]") {
  for (const std::vector<int>& steps : {std::vector<int>{1, 3, 2}, {3, 1, 2}, {2, 3, 1}, {2, 2, 3}}) {
    RanksOnDisk scene(3);
    scene.load();
    for (std::size_t rank = 0; rank < 3; ++rank) {
      std::ofstream trace(scene.folder.path / "a" / rank_folder_name(static_cast<int>(rank)) / "trace.jsonl");
      std::vector<std::string> lines;
      std::istringstream text(scene.samples[rank].trace_text());
      for (std::string line; std::getline(text, line);) lines.push_back(line);
      for (int i = 0; i <= steps[rank]; ++i) trace << lines[static_cast<std::size_t>(i)] << "\n";
    }
    const auto least = std::min_element(steps.begin(), steps.end());
    const AttemptRecord attempt = scene.load_again({AttemptEnd::timeout, std::nullopt});
    CHECK(attempt.detail == "over the total time limit; last step " + std::to_string(*least));
    CHECK(attempt.ended_by == least - steps.begin());
  }
}

TEST_CASE("an innocent rank is only one that was stopped: nobody is left to blame if none failed",
          "[evidence][ranks]") {
  RanksOnDisk scene(2);
  scene.stop(0);
  scene.stop(1);
  const AttemptRecord attempt = scene.load();
  CHECK(attempt.end == AttemptEnd::lost);
  CHECK(attempt.ranks[0].end == AttemptEnd::lost);
}

TEST_CASE("each way in which a rank lies is found", "[evidence][ranks]") {
  RanksOnDisk scene(2);
  SampleAttempt& liar = scene.samples[1];
  std::string expected;
  SECTION("a result of another rank") {
    liar.result.rank = 0;
    expected = "rank 1: result.json: rank 0 does not match expected 1";
  }
  SECTION("a trace of another rank") {
    liar.lines[0]["rank"] = 0;
    expected = "rank 1: trace.jsonl:1: rank 0 does not match expected 1; 0 complete lines kept";
  }
  SECTION("another workload, of one mind with itself") {
    liar.result.workload_digest = std::string(32, 'd');
    liar.lines[0]["workload_digest"] = std::string(32, 'd');
    liar.link_steps();
    expected =
        "rank 1: result.json: workload_digest dddddddddddddddddddddddddddddddd, the other ranks have "
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
  }
  SECTION("fewer steps") {
    liar.result.steps_completed = 2;
    expected = "rank 1: result.json: steps_completed 2 does not match the 3 steps asked for";
  }
  SECTION("a block of turns nobody gave") {
    liar.lines[2]["block"] = 0;
    expected = "rank 1: trace.jsonl: step 2 is of block 0, asked for no block";
  }
  const AttemptRecord attempt = scene.load();
  CHECK(attempt.end == AttemptEnd::contract);
  CHECK(attempt.detail == expected);
  CHECK(attempt.ranks[0].end == AttemptEnd::completed);
}

TEST_CASE("of three workloads the odd one is named, whichever rank it is", "[evidence][ranks]") {
  for (const int odd : {0, 1, 2}) {
    RanksOnDisk scene(3);
    SampleAttempt& sample = scene.samples[static_cast<std::size_t>(odd)];
    sample.result.workload_digest = std::string(32, 'd');
    sample.lines[0]["workload_digest"] = std::string(32, 'd');
    sample.link_steps();
    const AttemptRecord attempt = scene.load();
    CHECK(attempt.end == AttemptEnd::contract);
    CHECK(attempt.ended_by == odd);
    CHECK(attempt.detail == "rank " + std::to_string(odd) + ": result.json: workload_digest " + std::string(32, 'd') +
                                ", the other ranks have " + std::string(32, 'a'));
  }
}

TEST_CASE("of two workloads the second one is named", "[evidence][ranks]") {
  RanksOnDisk scene(2);
  scene.samples[0].result.workload_digest = std::string(32, 'd');
  scene.samples[0].lines[0]["workload_digest"] = std::string(32, 'd');
  scene.samples[0].link_steps();
  const AttemptRecord attempt = scene.load();
  CHECK(attempt.ended_by == 1);
  CHECK(attempt.ranks[0].end == AttemptEnd::completed);
}

TEST_CASE("an exit record of another rank, or none, is a lost rank", "[evidence][ranks]") {
  RanksOnDisk scene(2);
  scene.samples[1].exit.rank = 0;
  CHECK(scene.load().detail == "rank 1: exit.json: rank 0 does not match expected 1");
  std::filesystem::remove_all(scene.folder.path / "a" / "rank-1");
  const AttemptRecord attempt = scene.load_again();
  CHECK(attempt.end == AttemptEnd::lost);
  CHECK(attempt.detail == "rank 1: exit.json: missing");
}

}  // namespace
}  // namespace reprobench
