#include "matrix/verdict/junit.hpp"

#include <set>

#include <pugixml.hpp>

#include "ci/catch.hpp"
#include "matrix/verdict/judge.hpp"
#include "matrix/verdict/sample_run.hpp"

namespace reprobench {
namespace {

using sample::threshold;

pugi::xml_document parsed(const RunVerdict& verdict) {
  pugi::xml_document document;
  REQUIRE(document.load_string(to_junit(verdict).c_str()));
  return document;
}

int count(const pugi::xml_document& document, const char* path) {
  return static_cast<int>(document.select_nodes(path).size());
}

RunRecord run_with_every_outcome() {
  RunRecord run = sample::run(7, 1.10,
                              {threshold("throughput.step_time", Bound::Kind::max_regression, 0.05, true),
                               threshold("memory.device_peak", Bound::Kind::max, 1, false)});
  PlannedCell skipped = run.plan.cells[1];
  skipped.cell.request.cell_id = "dddddddddddd";
  skipped.cell.slug = "skipped";
  skipped.skip = Skip{"device-class", "needs a GPU"};
  run.plan.cells.push_back(skipped);
  return run;
}

TEST_CASE("failed is a failure, inconclusive an error, skipped is skipped, each with its reason", "[verdict]") {
  const auto document = parsed(judge(run_with_every_outcome()));
  CHECK(count(document, "//testcase/failure[@type='over_bound']") == 1);
  CHECK(count(document, "//testcase/error[@type='missing_metric']") == 1);
  CHECK(count(document, "//testcase/skipped[@type='device-class'][@message='needs a GPU']") == 1);
  CHECK(count(document, "//testsuite[@name='stack-b'][@tests='3'][@failures='1'][@errors='1'][@skipped='1']") == 1);
}

TEST_CASE("a crash is one failure of the cell, not one for each check", "[verdict]") {
  RunRecord run = run_with_every_outcome();
  sample::candidate(run).attempts[0].end = AttemptEnd::crash;
  const auto document = parsed(judge(run));
  CHECK(count(document, "//testsuite[@name='stack-b']/testcase/failure[@type='crash']") == 1);
}

TEST_CASE("test cases have unique names", "[verdict]") {
  const auto document = parsed(judge(run_with_every_outcome()));
  std::set<std::string> names;
  for (const auto& found : document.select_nodes("//testcase")) {
    CHECK(names.insert(found.node().attribute("name").value()).second);
  }
  CHECK(names.size() == 4);
}

TEST_CASE("text from workers cannot break the XML", "[verdict]") {
  RunRecord run = run_with_every_outcome();
  sample::candidate(run).attempts[0].end = AttemptEnd::crash;
  sample::candidate(run).attempts[0].detail = "]]><failure/>\x1b[31m\x01 & \"quoted\"";
  const auto document = parsed(judge(run));
  CHECK(count(document, "//testsuite[@name='stack-b']/testcase/failure") == 1);
}

}  // namespace
}  // namespace reprobench
