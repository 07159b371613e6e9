// What a cell comes to by how its attempts ended.
#include "ci/catch.hpp"
#include "matrix/verdict/judge.hpp"
#include "matrix/verdict/sample_run.hpp"

namespace reprobench {
namespace {

using sample::candidate;
using sample::threshold;

const std::vector<CellThreshold> kRepeatable = {threshold("numerics.repeat_mismatches", Bound::Kind::max, 0, false)};

struct EndCase {
  AttemptEnd end;
  Outcome outcome;
  ExitCode exit_code;
};

TEST_CASE("an attempt's end decides its cell by who is to blame", "[verdict]") {
  const auto expected =
      GENERATE(values<EndCase>({{AttemptEnd::crash, Outcome::failed, ExitCode::failed},
                                {AttemptEnd::hang, Outcome::failed, ExitCode::failed},
                                {AttemptEnd::contract, Outcome::failed, ExitCode::failed},
                                {AttemptEnd::leaked, Outcome::failed, ExitCode::failed},
                                {AttemptEnd::launch, Outcome::errored, ExitCode::undecided},
                                {AttemptEnd::lost, Outcome::errored, ExitCode::undecided},
                                {AttemptEnd::interrupted, Outcome::unfinished, ExitCode::undecided}}));
  RunRecord run = sample::run(3, 1.0, kRepeatable);
  candidate(run).attempts[1].end = expected.end;
  const RunVerdict verdict = judge(run);
  CHECK(candidate(verdict).outcome == expected.outcome);
  CHECK(candidate(verdict).checks.size() == 1);
  CHECK(candidate(verdict).checks[0].status == CheckStatus::inconclusive);
  CHECK(verdict.exit_code == expected.exit_code);
}

TEST_CASE("an attempt that completed with other bits is not mended by making it again", "[verdict]") {
  RunRecord run = sample::run(3, 1.0, kRepeatable);
  AttemptRecord again = candidate(run).attempts[0];
  again.attempt = 1;
  candidate(run).attempts.push_back(again);
  CHECK(candidate(judge(run)).outcome == Outcome::passed);
  SECTION("bits of one process") {
    candidate(run).attempts[0].lead().result->chain = std::string(32, 'f');
    const CellVerdict cell = candidate(judge(run));
    CHECK(cell.outcome == Outcome::inconclusive);
    CHECK(cell.reason == "replaced_bits");
    CHECK(cell.sentence == "repeat 0 completed with other bits before it was made again (attempt 0)");
    // Where no equal bits are promised, and of one that did not complete, they say nothing.
    candidate(run).attempts[0].end = AttemptEnd::crash;
    CHECK(candidate(judge(run)).outcome == Outcome::passed);
    candidate(run).attempts[0].end = AttemptEnd::completed;
    set<&Settings::determinism>(run.plan.cells[1].cell.request.knobs, Determinism::fast);
    CHECK(candidate(judge(run)).outcome == Outcome::passed);
  }
  SECTION("a failed check weighs more") {
    candidate(run).attempts[0].lead().result->chain = std::string(32, 'f');
    candidate(run).attempts[2] = sample::attempt(2, 1000, "other");
    CHECK(candidate(judge(run)).outcome == Outcome::failed);
  }
}

TEST_CASE("an infrastructure failure that a retry mended does not count", "[verdict]") {
  RunRecord run = sample::run(3, 1.0, kRepeatable);
  AttemptRecord lost = candidate(run).attempts[1];
  lost.end = AttemptEnd::lost;
  candidate(run).attempts[1].attempt = 1;
  candidate(run).attempts.push_back(lost);
  CHECK(candidate(judge(run)).outcome == Outcome::passed);
  CHECK(candidate(judge(run)).attempts.size() == 4);
}

TEST_CASE("what a stack does not support is inconclusive, not a regression", "[verdict]") {
  RunRecord run = sample::run(3, 1.0, kRepeatable);
  candidate(run).attempts[0].end = AttemptEnd::worker_error;
  candidate(run).attempts[0].lead().result->failure = WorkerFailure{"unsupported", "no bf16 autocast", 0};
  CHECK(candidate(judge(run)).outcome == Outcome::inconclusive);
  candidate(run).attempts[0].lead().result->failure->cause = "exception";
  CHECK(candidate(judge(run)).outcome == Outcome::failed);
}

TEST_CASE("of attempts that ended in several ways the worst decides, whatever their order", "[verdict]") {
  struct Row {
    AttemptEnd ends[2];
    Outcome outcome;
    const char* reason;
  };
  for (const Row& row : {
           Row{{AttemptEnd::crash, AttemptEnd::launch}, Outcome::failed, "crash"},
           Row{{AttemptEnd::crash, AttemptEnd::interrupted}, Outcome::failed, "crash"},
           Row{{AttemptEnd::launch, AttemptEnd::interrupted}, Outcome::errored, "launch"},
           Row{{AttemptEnd::launch, AttemptEnd::completed}, Outcome::errored, "launch"},
           Row{{AttemptEnd::interrupted, AttemptEnd::completed}, Outcome::unfinished, "interrupted"},
       }) {
    for (const bool swapped : {false, true}) {
      RunRecord run = sample::run(3, 1.0, kRepeatable);
      candidate(run).attempts[1].end = row.ends[swapped ? 1 : 0];
      candidate(run).attempts[2].end = row.ends[swapped ? 0 : 1];
      const CellVerdict cell = candidate(judge(run));
      CHECK(cell.outcome == row.outcome);
      CHECK(cell.reason == row.reason);
      CHECK(cell.checks.at(0).status == CheckStatus::inconclusive);
      CHECK(cell.checks.at(0).reason == "incomplete_repeats");
    }
  }
}

TEST_CASE("what is unsupported in one repeat comes after any other trouble and before nothing", "[verdict]") {
  for (const auto& [other, outcome] :
       {std::pair{AttemptEnd::crash, Outcome::failed}, std::pair{AttemptEnd::launch, Outcome::errored},
        std::pair{AttemptEnd::completed, Outcome::inconclusive},
        std::pair{AttemptEnd::interrupted, Outcome::inconclusive}}) {
    RunRecord run = sample::run(3, 1.0, kRepeatable);
    candidate(run).attempts[0].end = AttemptEnd::worker_error;
    candidate(run).attempts[0].lead().result->failure = WorkerFailure{"unsupported", "no bf16", 0};
    candidate(run).attempts[1].end = other;
    CHECK(candidate(judge(run)).outcome == outcome);
  }
}

TEST_CASE("a repeat without an attempt, or beyond those that were asked for, is not one that completed", "[verdict]") {
  RunRecord run = sample::run(3, 1.0, kRepeatable);
  SECTION("missing") { candidate(run).attempts.pop_back(); }
  SECTION("another number") { candidate(run).attempts[2].repeat = 3; }
  SECTION("a negative one") { candidate(run).attempts[2].repeat = -1; }
  CHECK(candidate(judge(run)).outcome == Outcome::unfinished);
}

}  // namespace
}  // namespace reprobench
