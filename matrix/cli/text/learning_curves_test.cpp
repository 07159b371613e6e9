// Where the curve of an attempt lies, and what is said when it cannot be written.
#include "matrix/cli/text/learning_curves.hpp"

#include "ci/catch.hpp"
#include "matrix/exec/sample_plan.hpp"
#include "matrix/record/event_file.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

Cell trained_cell() {
  Cell cell = sample_cell("aaa", "stack");
  cell.slug = "the-slug";
  return cell;
}

AttemptRecord trained(int repeat, int attempt, int steps = 2) {
  AttemptRecord record;
  record.repeat = repeat;
  record.attempt = attempt;
  Trace trace;
  for (int i = 1; i <= steps; ++i) {
    StepRecord step;
    step.step = i;
    step.loss = 2.5;
    trace.steps.push_back(step);
  }
  record.lead().trace = std::move(trace);
  return record;
}

TEST_CASE("every repeat's curve lies below its cell, one that was tried again beside the first", "[cli]") {
  const TemporaryFolder run;
  LearningCurves curves(run.path, "1970-01-02T00:00:10Z");
  curves.write(trained_cell(), trained(0, 0));
  curves.write(trained_cell(), trained(1, 0));
  curves.write(trained_cell(), trained(1, 2));
  CHECK(curves.problem().empty());
  const std::string expected = event_file_of(*trained(0, 0).lead().trace, 86410.0);
  for (const char* folder : {"repeat-0", "repeat-1", "repeat-1-attempt-2"}) {
    CHECK(read_file(run.path / "tensorboard/the-slug" / folder / "events.out.tfevents.86410.reprobench") == expected);
  }
}

TEST_CASE("an attempt without a step has no curve, and a time that is none is 1970", "[cli]") {
  const TemporaryFolder run;
  LearningCurves curves(run.path, "soon");
  curves.write(trained_cell(), trained(0, 0, 0));
  curves.write(trained_cell(), AttemptRecord());
  CHECK_FALSE(fs::exists(run.path / "tensorboard"));
  curves.write(trained_cell(), trained(0, 0));
  CHECK(fs::exists(run.path / "tensorboard/the-slug/repeat-0/events.out.tfevents.0.reprobench"));
}

TEST_CASE("the first curve that cannot be written is named, and no other is tried", "[cli]") {
  const TemporaryFolder run;
  LearningCurves curves(run.path, "1970-01-01T00:00:01Z");
  const fs::path file = run.path / "tensorboard/the-slug/repeat-0/events.out.tfevents.1.reprobench";
  fs::create_directories(file);  // a folder where the file should be
  curves.write(trained_cell(), trained(0, 0));
  CHECK(curves.problem() == "cannot write " + file.string() + ": Is a directory");
  curves.write(trained_cell(), trained(1, 0));
  CHECK_FALSE(fs::exists(run.path / "tensorboard/the-slug/repeat-1"));
}

}  // namespace
}  // namespace reprobench
