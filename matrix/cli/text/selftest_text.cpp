#include "matrix/cli/text/selftest_text.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "matrix/base/plain_text.hpp"
#include "matrix/cli/text/text_table.hpp"

namespace reprobench {
namespace {

// "2 of 2" answers of `compare --explain` were right.
std::string explained_text(const SelftestRow& row) {
  return row.explained == 0 ? "" : fmt::format("{} of {}", row.explained_right, row.explained);
}

struct SelftestTotals {
  int planted = 0;
  int found = 0;
  int located = 0;
  int without_effect = 0;
  int clean = 0;
  int false_alarms = 0;
  int failed = 0;
};

SelftestTotals totals_of(const std::vector<SelftestRow>& rows) {
  SelftestTotals totals;
  for (const SelftestRow& row : rows) {
    const bool is_clean = row.fault == "nothing";
    (is_clean ? totals.clean : totals.planted) += row.planted;
    totals.found += row.found;
    totals.located += row.located;
    totals.without_effect += row.without_effect;
    totals.false_alarms += row.false_alarms;
    totals.failed += !row.passed;
  }
  return totals;
}

// "gelu_constant beside cpu_isa=default" is of the kind `gelu_constant`.
bool is_of_kind(const SelftestRow& row, const std::string& kind) {
  return row.fault == kind || row.fault.starts_with(kind + " beside ");
}

bool is_tested(const SelftestRow& row) { return row.fault != "nothing" && row.planted > row.without_effect; }

// Empty: a planted fault changed bits, and one of every kind that was asked for.
std::string untested(const std::vector<SelftestRow>& rows, const std::vector<std::string>& kinds) {
  if (std::ranges::none_of(rows, is_tested)) return "no fault was planted that changed a bit";
  for (const std::string& kind : kinds) {
    const bool tested =
        std::ranges::any_of(rows, [&](const SelftestRow& row) { return is_tested(row) && is_of_kind(row, kind); });
    if (!tested) return fmt::format("no {} was planted that changed a bit", kind);
  }
  return "";
}

}  // namespace

std::string to_text(const std::vector<SelftestRow>& rows, const SelftestSettings& settings, const Terminal& terminal) {
  TextTable table("<4 <11 <20 >7 >6 >8 >5  <9  <10 >9 >9  <");
  table.line("SELFTEST on {}: does reprobench find what it plants? No verdict on the stack", settings.stack);
  table.row("", "workload", "planted", "times", "found", "located", "false", "explained", "by fp64", "E", "pooled E",
            "worst tensor");
  for (const SelftestRow& row : rows) {
    const bool is_judged = !row.expected_word.empty();
    table.row(terminal.paint(row.passed ? "ok" : "BAD", row.passed ? Style::green : Style::red), row.workload,
              row.fault, row.planted, row.found, row.located, row.false_alarms, explained_text(row),
              is_judged ? row.word : "", is_judged ? fmt::format("{:.3g}", row.error_ratio) : "",
              is_judged ? fmt::format("{:.3f}", row.pooled_ratio) : "", is_judged ? row.worst_tensor : "");
    if (!row.problem.empty()) table.row("", plain_line(row.problem));
  }
  const SelftestTotals totals = totals_of(rows);
  table.line(
      "{} faults planted: {} found, {} of them where they are, {} gave the same bits; {} clean runs: {} false alarms",
      totals.planted, totals.found, totals.located, totals.without_effect, totals.clean, totals.false_alarms);
  table.line("{} passed, {} failed", rows.size() - static_cast<std::size_t>(totals.failed), totals.failed);
  const std::string open = untested(rows, settings.faults);
  if (!open.empty()) table.line("UNDECIDED: {}", open);
  return table.text();
}

ExitCode exit_code_of(const std::vector<SelftestRow>& rows, const SelftestSettings& settings) {
  const bool all_passed = std::all_of(rows.begin(), rows.end(), [](const SelftestRow& row) { return row.passed; });
  if (!all_passed) return ExitCode::failed;
  return untested(rows, settings.faults).empty() ? ExitCode::passed : ExitCode::undecided;
}

}  // namespace reprobench
