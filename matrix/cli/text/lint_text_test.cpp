// What the linter found, as text.
#include "matrix/cli/text/lint_text.hpp"

#include <fmt/format.h>

#include "ci/catch.hpp"

namespace reprobench {
namespace {

constexpr std::int64_t kGibibyte = std::int64_t{1} << 30;

LintFinding finding_at(int line, Severity severity, const std::string& what) {
  LintFinding finding;
  finding.code = "DS001";
  finding.severity = severity;
  finding.mark.line = line;
  finding.mark.column = 5;
  finding.what = what;
  finding.remedy = "change it";
  return finding;
}

TEST_CASE("a finding stands with its place, its severity and what to do", "[cli]") {
  LintDocument document;
  document.file = "ds.json";
  document.summary = "3 errors";
  document.memory.unknown = "not known";
  document.findings = {finding_at(3, Severity::error, "a key is wrong"), finding_at(0, Severity::warning, "no port"),
                       finding_at(12, Severity::note, "not judged")};
  CHECK(lint_text(document, Terminal()) ==
        "ds.json:3:5: error[DS001]: a key is wrong\n"
        "  do: change it\n"
        "environment: warning[DS001]: no port\n"
        "  do: change it\n"
        "ds.json:12:5: note[DS001]: not judged\n"
        "  do: change it\n"
        "3 errors\n");
  Terminal terminal;
  terminal.configure(ColorChoice::always, false);
  const std::string painted = lint_text(document, terminal);
  CHECK(painted.find(terminal.paint("error[DS001]", Style::red)) != std::string::npos);
  CHECK(painted.find(terminal.paint("warning[DS001]", Style::yellow)) != std::string::npos);
  CHECK(painted.find(terminal.paint("note[DS001]", Style::cyan)) != std::string::npos);
}

TEST_CASE("after a head of more than 56 columns the sentence begins a line of its own", "[cli]") {
  LintDocument document;
  document.memory.unknown = "not known";
  document.findings = {finding_at(3, Severity::error, "wrong")};
  const auto first_line_ends_in = [&](std::size_t file_columns, const char* end) {
    document.file = std::string(file_columns, 'f');
    const std::string text = lint_text(document, Terminal());
    return text.substr(0, text.find('\n')).ends_with(end);
  };
  CHECK(first_line_ends_in(36, ": wrong"));  // 36 + ":3:5" + ": " + "error[DS001]" + ": " = 56
  CHECK(first_line_ends_in(37, "error[DS001]:"));
}

TEST_CASE("the machine and the memory are listed with what they come to", "[cli]") {
  LintDocument document;
  document.summary = "clean";
  document.environment = {{"GPUs", "none"}, {"driver", "570.124.06"}};
  MemoryEstimate& memory = document.memory;
  memory.parameters = 1000;
  memory.element_bytes = 2;
  memory.ranks = 8;
  memory.ranks_per_host = 4;
  memory.stage = 3;
  memory.gpu.states = {{"parameters", "2 B x 1000 / 8", kGibibyte}};
  memory.gpu.buffers = {{"buckets", "2 B x 5", kGibibyte / 2}};
  memory.gpu.least_bytes = kGibibyte;
  memory.gpu.likely_bytes = 3 * kGibibyte / 2;
  memory.gpu.limit_bytes = 80 * kGibibyte;
  memory.gpu.limit_source = "--gpu-memory";
  memory.gpu.estimator_bytes = 2 * kGibibyte;
  memory.nvme_bytes = 3 * kGibibyte;
  memory.assumptions = {"all ranks on one host"};
  CHECK(lint_text(document, Terminal()) ==
        "GPUs        none\n"
        "driver      570.124.06\n"
        "memory      1000 parameters of 2 B, 8 ranks, 4 a host, stage 3; activations are\n"
        "            not counted\n"
        "  each GPU  at least 1.00 GiB, likely 1.50 GiB; there is 80.00 GiB\n"
        "            (--gpu-memory)\n"
        "               1.00 GiB  parameters = 2 B x 1000 / 8\n"
        "               0.50 GiB  buckets = 2 B x 5\n"
        "               2.00 GiB  DeepSpeed's own estimate\n"
        "  each host at least 0.00 GiB, likely 0.00 GiB\n"
        "  nvme      3.00 GiB a host\n"
        "  assumed   all ranks on one host\n"
        "clean\n");
  memory = {};
  memory.ranks = 1;
  const std::string small = lint_text(document, Terminal());
  CHECK(small.find("0 B, 1 rank, 0 a host") != std::string::npos);
  for (const char* absent : {"nvme", "estimate", "there is", "assumed"}) {
    CAPTURE(absent);
    CHECK(small.find(absent) == std::string::npos);
  }
}

// Two words that are `columns` wide with the space between them.
std::string two_words(std::size_t columns) { return std::string(30, 'a') + " " + std::string(columns - 31, 'b'); }

TEST_CASE("every text fills 80 columns, and a longer one breaks under its own beginning", "[cli]") {
  LintDocument document;
  document.file = "ds.json";
  document.memory.unknown = "no model";
  const auto broken = [](const std::string& head, std::size_t columns, std::size_t indent) {
    const std::string words = two_words(columns);
    return head + words.substr(0, 30) + "\n" + std::string(indent, ' ') + words.substr(31) + "\n";
  };
  document.summary = two_words(80);
  CHECK(lint_text(document, Terminal()) == two_words(80) + "\n");
  document.summary = two_words(81);
  CHECK(lint_text(document, Terminal()) == broken("", 81, 2));

  document.summary = "s";
  document.environment = {{"GPUs", two_words(68)}, {"driver", two_words(69)}};
  CHECK(lint_text(document, Terminal()) ==
        "GPUs        " + two_words(68) + "\n" + broken("driver      ", 69, 12) + "s\n");

  document.environment.clear();
  LintFinding finding;
  finding.code = "DS001";
  finding.what = two_words(80 - 29);
  finding.remedy = two_words(74);
  finding.mark.line = 3;
  finding.mark.column = 4;
  document.findings = {finding};
  const std::string head = "ds.json:3:4: " + fmt::format("{}[DS001]: ", to_string(finding.severity));
  document.findings[0].what = two_words(80 - head.size());
  CHECK(lint_text(document, Terminal()) == head + two_words(80 - head.size()) + "\n  do: " + two_words(74) + "\ns\n");
  document.findings[0].what = two_words(81 - head.size());
  document.findings[0].remedy = two_words(75);
  CHECK(lint_text(document, Terminal()) == broken(head, 81 - head.size(), 2) + broken("  do: ", 75, 6) + "s\n");

  document.findings.clear();
  document.memory.unknown.clear();
  document.memory.ranks = 1;
  document.memory.assumptions = {two_words(68), two_words(69)};
  CHECK_THAT(lint_text(document, Terminal()),
             Catch::EndsWith("\n  assumed   " + two_words(68) + "\n" + broken("  assumed   ", 69, 12) + "s\n"));
}

}  // namespace
}  // namespace reprobench
