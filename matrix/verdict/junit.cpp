#include "matrix/verdict/junit.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "matrix/base/plain_text.hpp"

namespace reprobench {
namespace {

void set(pugi::xml_node node, const char* name, const std::string& value) {
  node.append_attribute(name).set_value(plain_text(value).c_str());
}

// In milliseconds, as they are written: sums of what was rounded agree with what a reader adds up.
std::int64_t attempts_ms(const CellVerdict& cell) {
  std::int64_t sum_ns = 0;
  for (const AttemptSummary& attempt : cell.attempts) sum_ns += attempt.duration_ns.value_or(0);
  return (sum_ns + 500'000) / 1'000'000;
}

void set_time(pugi::xml_node node, std::int64_t time_ms) {
  set(node, "time", fmt::format("{}.{:03}", time_ms / 1000, time_ms % 1000));
}

std::int64_t time_ms_of(pugi::xml_node node) { return std::llround(node.attribute("time").as_double() * 1000); }

// The time of a cell's attempts stands with its first test case: its other checks read what that left, and a suite is
// the sum of its cases.
pugi::xml_node add_case(pugi::xml_node suite, const CellVerdict& cell, const std::string& name, bool is_first) {
  pugi::xml_node test_case = suite.append_child("testcase");
  set(test_case, "classname", cell.coordinates.count("stack") ? cell.coordinates.at("stack") : cell.slug);
  set(test_case, "name", name);
  set_time(test_case, is_first ? attempts_ms(cell) : 0);
  return test_case;
}

void add_result(pugi::xml_node test_case, const char* element, const std::string& type, const std::string& message,
                const std::string& text) {
  pugi::xml_node result = test_case.append_child(element);
  set(result, "type", type);
  set(result, "message", message);
  result.text().set(plain_text(text).c_str());
}

void add_cell_result(pugi::xml_node test_case, const CellVerdict& cell) {
  switch (cell.outcome) {
    case Outcome::passed:
      return;
    case Outcome::failed:
      return add_result(test_case, "failure", cell.reason, cell.sentence, cell.reproduce);
    case Outcome::skipped:
    case Outcome::recorded:
      return add_result(test_case, "skipped", cell.reason, cell.sentence, "");
    case Outcome::errored:
    case Outcome::inconclusive:
    case Outcome::unfinished:
      return add_result(test_case, "error", cell.reason, cell.sentence, cell.reproduce);
  }
}

void add_check(pugi::xml_node suite, const CellVerdict& cell, const CheckResult& check) {
  const bool is_first = &check == &cell.checks.front();
  // One metric may be asked of several measurements, and readers keep one result a name.
  const std::string what = check.of.empty() ? check.metric : fmt::format("{} of {}", check.metric, check.of);
  pugi::xml_node test_case = add_case(suite, cell, fmt::format("{} / {}", cell.slug, what), is_first);
  if (check.gate == Gate::record_only) {
    return add_result(test_case, "skipped", "record_only", check.sentence, "");
  }
  if (check.status == CheckStatus::failed) {
    add_result(test_case, "failure", check.reason, check.sentence,
               check.bound + " set at " + check.origin + "\n" + cell.next + "\n" + cell.reproduce);
  } else if (check.status == CheckStatus::inconclusive) {
    add_result(test_case, "error", check.reason, check.sentence, cell.reproduce);
  }
}

// Whether the checks say what the outcome says, so that the cell needs no test case of its own.
bool is_decided_by_checks(const CellVerdict& cell) {
  const auto has = [&](CheckStatus status) {
    return std::any_of(cell.checks.begin(), cell.checks.end(), [&](const CheckResult& check) {
      return check.gate == Gate::armed && check.status == status && check.reason != "incomplete_repeats";
    });
  };
  switch (cell.outcome) {
    case Outcome::passed:
      return has(CheckStatus::passed);
    case Outcome::failed:
      return has(CheckStatus::failed);
    case Outcome::inconclusive:
      return has(CheckStatus::inconclusive);
    default:
      return false;
  }
}

constexpr const char* kTotals[] = {"tests", "failures", "errors", "skipped"};

void count_suites(pugi::xml_node root) {
  for (const char* total : kTotals) {
    int sum = 0;
    for (const pugi::xml_node suite : root.children("testsuite")) sum += suite.attribute(total).as_int();
    root.append_attribute(total).set_value(sum);
  }
  std::int64_t time_ms = 0;
  for (const pugi::xml_node suite : root.children("testsuite")) time_ms += time_ms_of(suite);
  set_time(root, time_ms);
}

void count_children(pugi::xml_node suite) {
  int tests = 0;
  int failures = 0;
  int errors = 0;
  int skipped = 0;
  std::int64_t time_ms = 0;
  for (const pugi::xml_node test_case : suite.children("testcase")) {
    ++tests;
    failures += test_case.child("failure") ? 1 : 0;
    errors += test_case.child("error") ? 1 : 0;
    skipped += test_case.child("skipped") ? 1 : 0;
    time_ms += time_ms_of(test_case);
  }
  suite.append_attribute("tests").set_value(tests);
  suite.append_attribute("failures").set_value(failures);
  suite.append_attribute("errors").set_value(errors);
  suite.append_attribute("skipped").set_value(skipped);
  set_time(suite, time_ms);
}

// What the run says as a whole: a CI system that counts cells alone would show a run as green in which a required cell
// did not run.
void add_verdict(pugi::xml_node root, const RunVerdict& verdict) {
  pugi::xml_node suite = root.append_child("testsuite");
  set(suite, "name", "verdict");
  pugi::xml_node test_case = suite.append_child("testcase");
  set(test_case, "classname", verdict.matrix);
  set(test_case, "name", "verdict of the run");
  set_time(test_case, 0);
  if (verdict.word == "failed") add_result(test_case, "failure", verdict.word, verdict.sentence, "");
  if (verdict.word != "failed" && verdict.word != "passed") {
    add_result(test_case, "error", verdict.word, verdict.sentence, "");
  }
  if (verdict.word == "passed") test_case.append_child("system-out").text().set(plain_text(verdict.sentence).c_str());
  count_children(suite);
}

}  // namespace

std::string to_junit(const RunVerdict& verdict) {
  pugi::xml_document document;
  pugi::xml_node root = document.append_child("testsuites");
  set(root, "name", (verdict.planted.empty() ? "" : "DRILL ") + verdict.matrix);
  add_verdict(root, verdict);
  std::map<std::string, pugi::xml_node> suites;
  for (const CellVerdict& cell : verdict.cells) {
    const std::string stack = cell.coordinates.count("stack") ? cell.coordinates.at("stack") : "";
    auto [suite, is_new] = suites.try_emplace(stack);
    if (is_new) {
      suite->second = root.append_child("testsuite");
      set(suite->second, "name", stack);
    }
    if (!is_decided_by_checks(cell)) {
      add_cell_result(add_case(suite->second, cell, cell.slug, true), cell);
    } else {
      for (const CheckResult& check : cell.checks) add_check(suite->second, cell, check);
    }
  }
  for (auto& [stack, suite] : suites) count_children(suite);
  count_suites(root);
  std::ostringstream text;
  document.save(text, "  ");
  return text.str();
}

}  // namespace reprobench
