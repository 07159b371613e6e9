// The sentence of a run, word for word, for each way in which a run can end.
#include "ci/catch.hpp"
#include "matrix/verdict/summary.hpp"

namespace reprobench {
namespace {

// Cells on one stack and device unless a test says otherwise; `add` names them a, b, c ...
struct Told {
  CellVerdict& add(Outcome outcome, const char* stack = "new", const char* device = "cpu") {
    CellVerdict cell;
    cell.cell_id = cell.slug = std::string(1, static_cast<char>('a' + run.cells.size()));
    cell.coordinates = {{"stack", stack}, {"device", device}};
    cell.outcome = outcome;
    cell.sentence = "why " + cell.slug;
    if (outcome != Outcome::skipped && outcome != Outcome::unfinished) cell.attempts.resize(1);
    run.cells.push_back(cell);
    return run.cells.back();
  }
  std::string sentence(const char* word, ExitCode code) {
    run.matrix = "m";
    summarise(run);
    CHECK(run.word == word);
    CHECK(run.exit_code == code);
    return run.sentence;
  }

  RunVerdict run;
};

TEST_CASE("a run that passed says on what, and how many only recorded", "[verdict]") {
  Told told;
  told.add(Outcome::passed);
  CHECK(told.sentence("passed", ExitCode::passed) == "m qualified on cpu: the one cell that ran passed");
  told.add(Outcome::passed);
  told.add(Outcome::passed, "new", "sm_90");
  CHECK(told.sentence("passed", ExitCode::passed) == "m qualified on cpu, sm_90: all 3 cells that ran passed");
  told.add(Outcome::recorded);
  CHECK(told.sentence("passed", ExitCode::passed) ==
        "m qualified on cpu, sm_90: all 3 cells with an armed check passed, 1 was only recorded");
  told.add(Outcome::recorded, "new", "sm_80");
  CHECK(told.sentence("passed", ExitCode::passed) ==
        "m qualified on cpu, sm_90: all 3 cells with an armed check passed, 2 were only recorded; nothing was asked on "
        "sm_80");
  for (CellVerdict& cell : told.run.cells) cell.coordinates.clear();
  CHECK(told.sentence("passed", ExitCode::passed) ==
        "m qualified: all 3 cells with an armed check passed, 2 were only recorded");
}

TEST_CASE("a run that failed counts the rest and names the first", "[verdict]") {
  Told told;
  told.add(Outcome::passed);
  told.add(Outcome::failed);
  CHECK(told.sentence("failed", ExitCode::failed) ==
        "m NOT qualified: 1 of 2 cells that ran failed, 1 passed. First: b: why b");
  for (const Outcome outcome : {Outcome::failed, Outcome::errored, Outcome::inconclusive, Outcome::inconclusive,
                                Outcome::unfinished, Outcome::recorded, Outcome::skipped}) {
    told.add(outcome);
  }
  CHECK(told.sentence("failed", ExitCode::failed) ==
        "m NOT qualified: 2 of 7 cells that ran failed, 1 errored, 2 inconclusive, 1 unfinished, 1 passed, 1 recorded; "
        "1 cell was skipped. First: b: why b");
  CHECK(told.run.totals.planned == 9);
}

TEST_CASE("a run that is open says by what, infrastructure first", "[verdict]") {
  Told told;
  told.add(Outcome::passed);
  told.add(Outcome::unfinished);
  CHECK(told.sentence("undecided", ExitCode::undecided) ==
        "m UNDECIDED: no cell failed, but 1 unfinished. First: b: why b");
  told.add(Outcome::inconclusive);
  CHECK(told.sentence("undecided", ExitCode::undecided) ==
        "m UNDECIDED: no cell failed, but 1 inconclusive, 1 unfinished. First: c: why c");
  told.add(Outcome::errored);
  told.add(Outcome::errored);
  CHECK(told.sentence("undecided", ExitCode::undecided) ==
        "m UNDECIDED: no cell failed, but 2 errored, 1 inconclusive, 1 unfinished. First: d: why d");
}

TEST_CASE("a run that was stopped says how, and what had ended by then", "[verdict]") {
  Told told;
  told.add(Outcome::failed);
  told.add(Outcome::passed);
  told.add(Outcome::unfinished);
  told.add(Outcome::skipped);
  told.run.info.interrupted = true;
  CHECK(
      told.sentence("interrupted", ExitCode::interrupted) ==
      "m UNDECIDED: the run was interrupted after 2 of 3 cells; 1 failed, 1 unfinished, 1 passed; 1 cell was skipped");
  told.run.info.terminated = true;
  CHECK(told.sentence("interrupted", ExitCode::terminated) ==
        "m UNDECIDED: the run was terminated after 2 of 3 cells; 1 failed, 1 unfinished, 1 passed; 1 cell was skipped");
}

TEST_CASE("a run that asked for nothing, or ran nothing, says so", "[verdict]") {
  Told told;
  told.add(Outcome::recorded);
  CHECK(told.sentence("undecided", ExitCode::undecided) ==
        "m UNDECIDED: no check was armed: 1 cell ran, and nothing was asked");
  told.add(Outcome::recorded);
  CHECK(told.sentence("undecided", ExitCode::undecided) ==
        "m UNDECIDED: no check was armed: 2 cells ran, and nothing was asked");
  for (CellVerdict& cell : told.run.cells) cell.outcome = Outcome::skipped;
  CHECK(told.sentence("nothing_ran", ExitCode::nothing_ran) ==
        "m UNDECIDED: nothing ran; nothing ran on cpu; nothing ran of new");
  for (CellVerdict& cell : told.run.cells) cell.reason = kDeselected;
  CHECK(told.sentence("nothing_ran", ExitCode::nothing_ran) ==
        "0 of 2 cells selected: no verdict on m; nothing ran; the selection is empty");
}

TEST_CASE("a device or stack on which nothing ran is named once, and one that was left out on purpose is not",
          "[verdict]") {
  Told told;
  told.add(Outcome::passed);
  told.add(Outcome::skipped, "old", "cpu");
  told.add(Outcome::skipped, "new", "sm_90");
  told.add(Outcome::skipped, "new", "cpu");
  told.add(Outcome::skipped, "new", "cpu");
  CHECK(told.sentence("passed", ExitCode::passed) ==
        "m qualified on cpu: the one cell that ran passed; nothing ran on sm_90; nothing ran of old; 2 more cells were "
        "skipped");
  told.run.cells.pop_back();
  CHECK(told.sentence("passed", ExitCode::passed) ==
        "m qualified on cpu: the one cell that ran passed; nothing ran on sm_90; nothing ran of old; 1 more cell was "
        "skipped");
  for (CellVerdict& cell : told.run.cells) {
    if (cell.outcome == Outcome::skipped) cell.reason = kDeselected;
  }
  CHECK(told.sentence("passed", ExitCode::passed) ==
        "1 of 4 cells selected: no verdict on m; the one cell that ran passed");
  told.add(Outcome::unfinished, "new", "sm_80");  // was never started
  CHECK_THAT(told.sentence("undecided", ExitCode::undecided), Catch::Contains("; nothing ran on sm_80. First: e"));
  told.run.cells.back().attempts.resize(1);
  CHECK_THAT(told.sentence("undecided", ExitCode::undecided), !Catch::Contains("nothing ran"));
}

TEST_CASE("every reason for which a run gives no verdict is told, a drill first", "[verdict]") {
  Told told;
  told.add(Outcome::passed);
  told.add(Outcome::skipped).reason = kDeselected;
  told.run.request.changed_by = {"--repeat 1", "--steps 5"};
  CHECK(told.sentence("passed", ExitCode::passed) ==
        "1 of 2 cells selected, run with --repeat 1 --steps 5: no verdict on m; the one cell that ran passed");
  told.run.planted = {"hang at step 3 in 1 cell", "nan at step 1 in 2 cells"};
  CHECK(
      told.sentence("undecided", ExitCode::undecided) ==
      "DRILL, planted: hang at step 3 in 1 cell; nan at step 1 in 2 cells, 1 of 2 cells selected, run with --repeat 1 "
      "--steps 5: no verdict on m; no check failed: the fault was not found");
}

TEST_CASE("a fault that was refused wherever it was to sit is a mistake of who asked for it", "[verdict]") {
  Told told;
  told.add(Outcome::passed);
  told.run.planted = {"nan at step 1 in 1 cell"};
  CellVerdict& refused = told.add(Outcome::errored);
  refused.reason = kBadInjection;
  refused.attempts.resize(2);
  refused.attempts[1].injected = "nan at step 1";
  CHECK(told.sentence("undecided", ExitCode::usage) ==
        "DRILL, planted: nan at step 1 in 1 cell: no verdict on m; the fault could not be planted anywhere. First: b: "
        "why b");
  told.add(Outcome::passed).attempts[0].injected = "nan at step 1";  // where it was planted
  CHECK(told.sentence("undecided", ExitCode::undecided) ==
        "DRILL, planted: nan at step 1 in 1 cell: no verdict on m; no cell failed, but 1 errored. First: b: why b");
}

TEST_CASE("the reference alone, or a required cell that did not run, leaves a matrix open", "[verdict]") {
  Told told;
  told.add(Outcome::passed, "old");
  CellVerdict& candidate = told.add(Outcome::skipped, "new");
  candidate.reference_cell_id = "a";
  CHECK(told.sentence("undecided", ExitCode::undecided) ==
        "m UNDECIDED: only cells of the reference ran, and nothing was compared with it; nothing ran of new");
  told.add(Outcome::passed, "newer").reference_cell_id = "a";
  CHECK(told.sentence("passed", ExitCode::passed) ==
        "m qualified on cpu: all 2 cells that ran passed; nothing ran of new");
  told.run.cells[1].required = true;
  CHECK(told.sentence("undecided", ExitCode::undecided) ==
        "m UNDECIDED: no cell that ran failed, but a required one did not run; nothing ran of new. First: b: why b");
}

TEST_CASE("a candidate of which every check is only recorded qualifies nothing", "[verdict]") {
  Told told;
  told.add(Outcome::passed, "old");
  CellVerdict& candidate = told.add(Outcome::recorded, "new");
  candidate.reference_cell_id = "a";
  CHECK(told.sentence("undecided", ExitCode::undecided) ==
        "m UNDECIDED: of what is compared with the reference every check is only recorded");
  candidate.required = true;
  CHECK(told.sentence("undecided", ExitCode::undecided) ==
        "m UNDECIDED: no cell failed, but of a required one every check is only recorded. First: b: why b");
  candidate.required = false;
  told.add(Outcome::passed, "newer").reference_cell_id = "a";
  CHECK(told.sentence("passed", ExitCode::passed) ==
        "m qualified on cpu: all 2 cells with an armed check passed, 1 was only recorded");
}

TEST_CASE("several stacks of which none is compared with another qualify no candidate", "[verdict]") {
  Told told;
  told.add(Outcome::passed, "old");
  told.add(Outcome::passed, "new").required = true;
  CHECK(told.sentence("undecided", ExitCode::undecided) ==
        "m UNDECIDED: no cell failed, but of 2 stacks none was compared with another; `reference: {stack: NAME}` says "
        "with which");
  // Of a reference of the same stack, such as one that has other threads.
  told.run.cells[1].reference_cell_id = "b";
  CHECK_THAT(told.sentence("undecided", ExitCode::undecided), Catch::Contains("of 2 stacks none was compared"));
  told.run.cells[1].required = false;
  CHECK(told.sentence("passed", ExitCode::passed) ==
        "m qualified on cpu: all 2 cells that ran passed; no stack was compared with another");
  told.run.cells[1].reference_cell_id = "a";
  CHECK(told.sentence("passed", ExitCode::passed) == "m qualified on cpu: all 2 cells that ran passed");
  // One stack alone has no other.
  told.run.cells[1].reference_cell_id = {};
  told.run.cells[1].required = true;
  told.run.cells[0].coordinates["stack"] = "new";
  CHECK(told.sentence("passed", ExitCode::passed) == "m qualified on cpu: all 2 cells that ran passed");
}

TEST_CASE("checks that allow more than their suites do are counted beside a pass", "[verdict]") {
  Told told;
  CheckResult check;
  check.metric = "memory.peak_anonymous";
  check.bound = "max_regression: 1000%";
  check.loosens = "max_regression: 10% (memory.yaml:12:26)";
  told.add(Outcome::passed).checks = {check};
  const std::string first =
      ", first memory.peak_anonymous: max_regression: 1000% for max_regression: 10% (memory.yaml:12:26)";
  CHECK(told.sentence("passed", ExitCode::passed) ==
        "m qualified on cpu: the one cell that ran passed; 1 check allows more than its suite does" + first);
  CheckResult recorded = check;
  recorded.gate = Gate::record_only;
  told.run.cells[0].checks = {recorded, check, check};
  CHECK(told.sentence("passed", ExitCode::passed) ==
        "m qualified on cpu: the one cell that ran passed; 2 checks allow more than their suites do" + first);
}

TEST_CASE("a run of two images speaks of them by their digests", "[verdict]") {
  Told told;
  told.add(Outcome::passed, "candidate");
  told.run.images = {{"candidate", {"new.tar", "sha256:0c", "clean", "clean: 0 warnings", ""}},
                     {"reference", {"old.tar", "sha256:0a", "warned", "warned: 1 warning", ""}}};
  CHECK(told.sentence("passed", ExitCode::passed) ==
        "candidate sha256:0c qualified against reference sha256:0a on cpu: the one cell that ran passed");
  // Of the reference a failing inspection decides nothing; of either what could not be judged does.
  told.run.info.changed_images = {"candidate", "reference"};
  CHECK(told.sentence("undecided", ExitCode::undecided) ==
        "candidate sha256:0c UNDECIDED against reference sha256:0a: what ran is not known: files of candidate and "
        "reference were changed since they were inspected");
  told.run.info.changed_images.clear();
  told.run.images["reference"].inspection = "refused";
  CHECK(told.sentence("passed", ExitCode::passed).starts_with("candidate sha256:0c qualified against"));
  told.run.images["reference"].inspection = "undecided";
  CHECK(
      told.sentence("undecided", ExitCode::undecided) ==
      "candidate sha256:0c UNDECIDED against reference sha256:0a: no cell failed, but the image reference could not be "
      "judged: warned: 1 warning");
  told.run.images["candidate"].inspection = "refused";
  CHECK(told.sentence("failed", ExitCode::failed) ==
        "candidate sha256:0c NOT qualified against reference sha256:0a: the image is not what it says: clean: 0 "
        "warnings");
  told.add(Outcome::failed, "candidate");
  CHECK(told.sentence("failed", ExitCode::failed) ==
        "candidate sha256:0c NOT qualified against reference sha256:0a: 1 of 2 cells that ran failed, 1 passed. First: "
        "b: why b");
}

}  // namespace
}  // namespace reprobench
