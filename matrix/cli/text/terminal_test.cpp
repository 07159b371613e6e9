// Which variables colour what is written, and what reaches a terminal, a file and a full disk.
#include "matrix/cli/text/terminal.hpp"

#include <signal.h>

#include "ci/catch.hpp"
#include "matrix/cli/text/pseudo_terminal.hpp"
#include "matrix/cli/verbs/verb_fixture.hpp"

namespace reprobench {
namespace {

// None of the variables that a terminal's colours depend on.
struct PlainEnvironment {
  TemporaryVariable no_color{"NO_COLOR", std::nullopt};
  TemporaryVariable force_color{"FORCE_COLOR", std::nullopt};
  TemporaryVariable cli_color{"CLICOLOR_FORCE", std::nullopt};
  TemporaryVariable term{"TERM", "xterm"};
};

Terminal terminal_with(ColorChoice choice, bool quiet = false) {
  Terminal terminal;
  terminal.configure(choice, quiet);
  return terminal;
}

std::string painted_to_file(ColorChoice choice) {
  const Caught out(STDOUT_FILENO);
  const Terminal terminal = terminal_with(choice);
  terminal.out(terminal.paint("word", Style::red) + "\n");
  return out.text();
}

constexpr const char* kRed = "\x1b[31mword\x1b[0m\n";

TEST_CASE("a file is coloured by --color always and by the variables that force it, and NO_COLOR wins over these",
          "[cli]") {
  const PlainEnvironment plain;
  CHECK(painted_to_file(ColorChoice::automatic) == "word\n");
  CHECK(painted_to_file(ColorChoice::never) == "word\n");
  CHECK(painted_to_file(ColorChoice::always) == kRed);
  for (const char* variable : {"FORCE_COLOR", "CLICOLOR_FORCE"}) {
    const TemporaryVariable forced(variable, "1");
    CHECK(painted_to_file(ColorChoice::automatic) == kRed);
    CHECK(painted_to_file(ColorChoice::never) == "word\n");
    const TemporaryVariable none("NO_COLOR", "1");
    CHECK(painted_to_file(ColorChoice::automatic) == "word\n");
    CHECK(painted_to_file(ColorChoice::always) == kRed);
  }
  const TemporaryVariable empty("FORCE_COLOR", "");
  CHECK(painted_to_file(ColorChoice::automatic) == "word\n");
}

TEST_CASE("a terminal is coloured unless it is dumb or none was named", "[cli]") {
  const PlainEnvironment plain;
  const auto logged = [] {
    const PseudoTerminal screen;
    const Terminal terminal = terminal_with(ColorChoice::automatic);
    terminal.log(terminal.paint_log("word", Style::red) + "\n");
    CHECK(terminal.paint("out", Style::red) == "out");  // stdout is none
    return screen.text();
  };
  const Caught out(STDOUT_FILENO);
  CHECK(logged() == kRed);
  const TemporaryVariable dumb("TERM", "dumb");
  CHECK(logged() == "word\n");
  const TemporaryVariable none("TERM", std::nullopt);
  CHECK(logged() == "word\n");
}

TEST_CASE("every style has its code, and a plain one none", "[cli]") {
  const PlainEnvironment plain;
  const Terminal terminal = terminal_with(ColorChoice::always);
  const auto shown = [&](Style style) {
    const Caught out(STDOUT_FILENO);
    terminal.out(terminal.paint("w", style));
    return out.text();
  };
  CHECK(shown(Style::plain) == "w");
  CHECK(shown(Style::bold) == "\x1b[1mw\x1b[0m");
  CHECK(shown(Style::red) == "\x1b[31mw\x1b[0m");
  CHECK(shown(Style::green) == "\x1b[32mw\x1b[0m");
  CHECK(shown(Style::yellow) == "\x1b[33mw\x1b[0m");
  CHECK(shown(Style::cyan) == "\x1b[36mw\x1b[0m");
  CHECK(shown(Style::dim) == "\x1b[2mw\x1b[0m");
}

TEST_CASE("what was not painted moves no cursor, and what looks like paint is none", "[cli]") {
  const PlainEnvironment plain;
  const auto shown = [](ColorChoice choice, const std::string& text) {
    const Caught out(STDOUT_FILENO);
    terminal_with(choice).out(text);
    return out.text();
  };
  CHECK(shown(ColorChoice::never,
              "a\x1b[31mb\xff"
              "2c") == "a?[31mb?2c");
  CHECK(shown(ColorChoice::always, "a\x1b[31mb") == "a?[31mb");
  CHECK(shown(ColorChoice::always,
              "a\xff"
              "9b") == "ab");
  CHECK(shown(ColorChoice::always, "a\xff!b") == "ab");
  CHECK(shown(ColorChoice::always, "a\xff") == "a");
}

TEST_CASE("--quiet leaves out the log and keeps data and errors", "[cli]") {
  const Caught out(STDOUT_FILENO);
  const Caught err(STDERR_FILENO);
  for (const bool quiet : {false, true}) {
    const Terminal terminal = terminal_with(ColorChoice::never, quiet);
    terminal.out("data\n");
    terminal.log("log\n");
    terminal.error("error\n");
  }
  CHECK(out.text() == "data\ndata\n");
  CHECK(err.text() == "log\nerror\nerror\n");
}

TEST_CASE("a document is written by one character in, its letters beyond ASCII escaped, and its parts as they are",
          "[cli]") {
  const Caught out(STDOUT_FILENO);
  const Terminal terminal = terminal_with(ColorChoice::never);
  terminal.out_document({{"a", "\u00b5"}});
  terminal.out_part("{\"b\": \"\u00b5\"}");
  CHECK(out.text() == "{\n \"a\": \"\\u00b5\"\n}\n{\"b\": \"\u00b5\"}");
}

TEST_CASE("the status line is redrawn in place, cut at the terminal's width, and gone before anything else is written",
          "[cli]") {
  const PlainEnvironment plain;
  const PseudoTerminal screen(10);
  const Caught out(STDOUT_FILENO);
  const Terminal terminal = terminal_with(ColorChoice::never);
  CHECK(terminal.has_status_line());
  terminal.status("");
  CHECK(screen.text().empty());
  terminal.status("one");
  CHECK(screen.text() == "\r\x1b[Kone");
  terminal.status("0123456789\n");
  CHECK(screen.text() == "\r\x1b[K012345678");
  terminal.error("gone\n");
  CHECK(screen.text() == "\r\x1b[Kgone\n");
  terminal.status("two");
  terminal.out("data");
  CHECK(screen.text() == "\r\x1b[Ktwo\r\x1b[K");
  terminal.log("log\n");
  CHECK(screen.text() == "log\n");
  CHECK_FALSE(terminal_with(ColorChoice::never, /*quiet=*/true).has_status_line());
  const TemporaryVariable dumb("TERM", "dumb");
  CHECK_FALSE(terminal_with(ColorChoice::never).has_status_line());
  const TemporaryVariable none("TERM", std::nullopt);
  CHECK_FALSE(terminal_with(ColorChoice::never).has_status_line());
}

TEST_CASE("a terminal that does not say how wide it is has 80 columns", "[cli]") {
  const PlainEnvironment plain;
  const PseudoTerminal screen(0);
  terminal_with(ColorChoice::never).status(std::string(100, 'x'));
  CHECK(screen.text() == "\r\x1b[K" + std::string(79, 'x'));
}

TEST_CASE("a file has no status line", "[cli]") {
  const PlainEnvironment plain;
  const Caught err(STDERR_FILENO);
  const Terminal terminal = terminal_with(ColorChoice::never);
  CHECK_FALSE(terminal.has_status_line());
  terminal.status("one");
  terminal.error("two\n");
  CHECK(err.text() == "two\n");
}

// Writes a word to a descriptor that is open on `path`, or on a pipe that nobody reads.
std::string problem_of_writing_to(const char* path) {
  const int before = dup(STDOUT_FILENO);
  int ends[2] = {-1, -1};
  if (path == nullptr) {
    REQUIRE(pipe(ends) == 0);
    close(ends[0]);
  } else {
    ends[1] = open(path, O_WRONLY);
  }
  signal(SIGPIPE, SIG_IGN);
  dup2(ends[1], STDOUT_FILENO);
  const Terminal terminal = terminal_with(ColorChoice::never);
  terminal.out("word");
  terminal.out("word");
  dup2(before, STDOUT_FILENO);
  close(before);
  close(ends[1]);
  return terminal.problem();
}

TEST_CASE("data that could not be written is a problem, a reader that went away none", "[cli]") {
  CHECK(problem_of_writing_to("/dev/full") == "cannot write to standard output: No space left on device");
  CHECK(problem_of_writing_to("/dev/null").empty());
  CHECK(problem_of_writing_to(nullptr).empty());
}

TEST_CASE("the colour of an outcome says whether it is good, bad or open", "[cli]") {
  CHECK(style_of(Outcome::passed) == Style::green);
  CHECK(style_of(Outcome::failed) == Style::red);
  for (const Outcome open : {Outcome::inconclusive, Outcome::errored, Outcome::unfinished}) {
    CHECK(style_of(open) == Style::yellow);
  }
  CHECK(style_of(Outcome::skipped) == Style::dim);
  CHECK(style_of(Outcome::recorded) == Style::plain);
}

}  // namespace
}  // namespace reprobench
