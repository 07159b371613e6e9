// The course of a run: a line a cell in a file, and one line that is redrawn on a terminal.
#include "matrix/cli/text/progress.hpp"

#include <regex>

#include "ci/catch.hpp"
#include "matrix/cli/text/install_progress.hpp"
#include "matrix/cli/text/pseudo_terminal.hpp"
#include "matrix/cli/verbs/verb_fixture.hpp"

namespace reprobench {
namespace {

Cell cell_called(const std::string& id, int repeat) {
  Cell cell = sample_cell(id, "stack");
  cell.slug = "slug-" + id;
  cell.repeat = repeat;
  return cell;
}

// Two cells of two repeats and one, a third that is skipped.
Plan three_cells() {
  Plan plan = sample_plan({cell_called("a", 2), cell_called("b", 1), cell_called("c", 5)});
  plan.cells[2].skip = Skip{"device-class", "no GPU"};
  return plan;
}

AttemptRecord ended_as(AttemptEnd end, const std::string& nonce = "", const std::string& detail = "") {
  AttemptRecord attempt;
  attempt.end = end;
  attempt.nonce = nonce;
  attempt.detail = detail;
  return attempt;
}

CellRequest request_of(const std::string& nonce, int repeat) {
  CellRequest request;
  request.nonce = nonce;
  request.repeat = repeat;
  return request;
}

Terminal file_terminal() {
  Terminal terminal;
  terminal.configure(ColorChoice::never, false);
  return terminal;
}

TEST_CASE("in a file every cell that ended is a line, counted, with what went wrong last", "[cli]") {
  const Caught err(STDERR_FILENO);
  const Terminal terminal = file_terminal();
  const Plan plan = three_cells();
  RunProgress progress(plan, {}, terminal);
  const ExecutionObserver observer = progress.observer();
  observer.attempt_started(plan.cells[0].cell, request_of("n", 0));
  observer.tick();
  observer.cell_ended(plan.cells[0].cell, {"a", {ended_as(AttemptEnd::completed), ended_as(AttemptEnd::completed)}});
  CHECK(err.text() == "[1/2] ran      slug-a  2 attempts\n");
  observer.cell_ended(plan.cells[1].cell, {"b", {ended_as(AttemptEnd::completed)}});
  observer.cell_ended(plan.cells[1].cell,
                      {"b",
                       {ended_as(AttemptEnd::launch, "", "first"), ended_as(AttemptEnd::crash, "", "SIG\nSEGV"),
                        ended_as(AttemptEnd::completed)}});
  CHECK(err.text() ==
        "[1/2] ran      slug-a  2 attempts\n"
        "[2/2] ran      slug-b  1 attempt\n"
        "[3/2] trouble  slug-b  crash: SIG SEGV\n");
}

TEST_CASE("the count is as wide as the number of cells", "[cli]") {
  const Caught err(STDERR_FILENO);
  const Terminal terminal = file_terminal();
  Plan plan;
  for (int i = 0; i < 10; ++i) plan.cells.push_back({cell_called("x", 1), std::nullopt, {}});
  RunProgress progress(plan, {}, terminal);
  progress.observer().cell_ended(plan.cells[0].cell, {"x", {ended_as(AttemptEnd::completed)}});
  CHECK(err.text() == "[ 1/10] ran      slug-x  1 attempt\n");
}

TEST_CASE("a check that fails is said with its cell, reason and sentence, in one line", "[cli]") {
  const Caught err(STDERR_FILENO);
  const Terminal terminal = file_terminal();
  RunProgress progress(three_cells(), {}, terminal);
  CellVerdict cell;
  cell.slug = "slug-a";
  cell.reason = "numerics.final_loss";
  cell.sentence = "too\nlarge";
  progress.check_failed(cell);
  CHECK(err.text() == "failed   slug-a · numerics.final_loss: too large\n");
}

TEST_CASE("libraries that could not be read anew are named where that is most of them", "[cli]") {
  const Caught err(STDERR_FILENO);
  const Terminal terminal = file_terminal();
  RunProgress progress(three_cells(), {}, terminal);
  progress.observer().libraries_read_anew({"a", "b"}, ReadAnew{.bytes = 5 << 20, .kept_bytes = 5 << 20});
  CHECK(err.text().empty());
  progress.observer().libraries_read_anew({"a", "b"}, ReadAnew{.bytes = 5 << 20, .kept_bytes = 6 << 20});
  CHECK(err.text() == "note     libraries of a, b stayed in the page cache, 6 MB of 11: times may lean to one side\n");
}

TEST_CASE("a cell that noise leaves open is said with its sentence, and what is repeated counts as to be done",
          "[cli]") {
  const TemporaryVariable term("TERM", "xterm");
  const PseudoTerminal screen;
  const Terminal terminal = file_terminal();
  const Plan plan = three_cells();
  RunProgress progress(plan, {{"a", std::chrono::seconds(30)}, {"b", std::chrono::seconds(60)}}, terminal);
  CellVerdict cell;
  cell.slug = "slug-a";
  cell.sentence = "x1.05 [0.9, 1.2]:\nopen";
  progress.left_open(cell);
  progress.observer().repeats_added(plan.cells[0].cell, {0, 2, 5});
  const std::string text = screen.text();
  CHECK_THAT(text, Catch::Contains("noise    slug-a · x1.05 [0.9, 1.2]: open\n"));
  CHECK_THAT(text, Catch::Contains("again    slug-a  3 more repeats, 5 in all\n"));
  CHECK_THAT(text, Catch::Contains("  0/6 attempts  "));
  CHECK_THAT(text, Catch::EndsWith("ETA 3m30s]"));  // 5 of 30 s and 1 of 60 s
}

// The last status line, times of this run taken out.
std::string shown_on(const PseudoTerminal& screen) {
  const std::string text = screen.text();
  const std::string last = text.substr(text.rfind("\x1b[K") + 3);
  const std::string timed = std::regex_replace(last, std::regex("  [0-9.]+s  ETA"), "  T  ETA");
  return std::regex_replace(timed, std::regex("ETA [0-9.]+s"), "ETA E");
}

TEST_CASE("a terminal shows what was done, what runs and how long it will take", "[cli]") {
  using namespace std::chrono_literals;
  const TemporaryVariable term("TERM", "xterm");
  const Plan plan = three_cells();
  const PseudoTerminal screen;
  const Terminal terminal = file_terminal();
  RunProgress progress(plan, {{"a", 30s}, {"b", 60s}}, terminal);
  const ExecutionObserver observer = progress.observer();
  observer.tick();
  CHECK(shown_on(screen) == "[0/2 cells  0/3 attempts  0 in trouble  T  ETA 2m00s]");
  observer.attempt_started(plan.cells[0].cell, request_of("n1", 0));
  CHECK(shown_on(screen) == "[0/2 cells  0/3 attempts  0 in trouble  T  ETA 2m00s]  slug-a #0");
  observer.attempt_started(plan.cells[0].cell, request_of("n2", 1));
  CHECK(shown_on(screen) == "[0/2 cells  0/3 attempts  0 in trouble  T  ETA 2m00s]  slug-a #0  slug-a #1");
  observer.attempt_ended(plan.cells[0].cell, ended_as(AttemptEnd::completed, "n1"));
  CHECK(shown_on(screen) == "[0/2 cells  1/3 attempts  0 in trouble  T  ETA E]  slug-a #1");
  observer.attempt_ended(plan.cells[0].cell, ended_as(AttemptEnd::crash, "n2"));
  CHECK(shown_on(screen) == "[0/2 cells  2/3 attempts  1 in trouble  T  ETA E]");
  observer.cell_ended(plan.cells[0].cell, {"a", {ended_as(AttemptEnd::completed)}});
  const std::string text = screen.text();
  CHECK_THAT(text, Catch::Contains("\r\x1b[K[1/2] ran      slug-a  1 attempt\n\r\x1b[K[1/2 cells  2/3 attempts"));
}

TEST_CASE("without any record nobody knows how long a run will take", "[cli]") {
  const TemporaryVariable term("TERM", "xterm");
  const PseudoTerminal screen;
  const Terminal terminal = file_terminal();
  RunProgress progress(three_cells(), {}, terminal);
  progress.check_failed({});
  CHECK_THAT(shown_on(screen), Catch::EndsWith("T  ETA ?]"));
}

TEST_CASE("pairs are counted from one, and the rest takes as long as those that are done", "[cli]") {
  using namespace std::chrono_literals;
  CHECK(pair_progress_text(0, 8, 10s) == "[1/8] ETA ? ");
  CHECK(pair_progress_text(1, 8, 10s) == "[2/8] ETA 1m10s ");
  CHECK(pair_progress_text(7, 8, 70s) == "[8/8] ETA 10.0s ");
}

TEST_CASE("in a file an installation says each phase once", "[cli]") {
  const Caught err(STDERR_FILENO);
  const Caught out(STDOUT_FILENO);
  const Terminal terminal = file_terminal();
  InstallProgress progress(terminal);
  progress.show("new", "fetch: 1 of 2", 0.1);
  progress.show("new", "fetch: 2 of 2", 0.6);
  progress.show("old", "fetch: 1 of 1", 0.6);
  progress.show("new", "unpack", -1);
  progress.show("new", "fetch: 1 of 2", 0.1);
  progress.finish("new", "new: installed\n");
  progress.show("new", "fetch: again", 0.1);
  CHECK(err.text() == "new: fetch: 1 of 2\nold: fetch: 1 of 1\nnew: unpack\nnew: fetch: 1 of 2\nnew: fetch: again\n");
  CHECK(out.text() == "new: installed\n");
}

TEST_CASE("on a terminal installations share a line, each with its bar", "[cli]") {
  const TemporaryVariable term("TERM", "xterm");
  const PseudoTerminal screen;
  const Caught out(STDOUT_FILENO);
  const Terminal terminal = file_terminal();
  InstallProgress progress(terminal);
  progress.show("new", "fetch: torch", 0.49);
  CHECK(screen.text() == "\r\x1b[Knew: fetch: torch [#########...........]  49 %");
  progress.show("old", "unpack", -1);
  CHECK(screen.text() == "\r\x1b[Knew: fetch: torch [#########...........]  49 % | old: unpack");
  progress.show("new", "build", 1);
  CHECK(screen.text() == "\r\x1b[Knew: build [####################] 100 % | old: unpack");
  progress.show("old", "build", 0);
  CHECK(screen.text() == "\r\x1b[Knew: build [####################] 100 % | old: build [....................]   0 %");
  progress.finish("new", "new: installed\n");
  CHECK_THAT(screen.text(), Catch::EndsWith("\r\x1b[Kold: build [....................]   0 %"));
  CHECK(out.text() == "new: installed\n");
}

}  // namespace
}  // namespace reprobench
