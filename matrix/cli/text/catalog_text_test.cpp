// What `list` and `describe` say of each kind of thing, of a project that this test made.
#include "matrix/cli/text/catalog_text.hpp"

#include "ci/catch.hpp"
#include "matrix/cli/verbs/verb_fixture.hpp"
#include "matrix/record/result_index.hpp"

namespace reprobench {
namespace {

using Catch::Contains;
using nlohmann::json;

Said listed(const SmallProject& project, const std::string& kind) {
  return said_by(&declare_list, project.store(), {kind});
}

std::vector<std::string> names_of(const SmallProject& project, const std::string& kind) {
  std::vector<std::string> names;
  for (const CatalogEntry& entry : catalog_entries(project.project(), kind)) names.push_back(entry.name);
  return names;
}

json described(const SmallProject& project, const std::string& kind, const std::string& name) {
  return describe_entry(project.project(), kind, name).at("details");
}

std::string summary_of(const SmallProject& project, const std::string& kind, const std::string& name) {
  for (const CatalogEntry& entry : catalog_entries(project.project(), kind)) {
    if (entry.name == name) return entry.summary;
  }
  return "not listed";
}

TEST_CASE("kinds are called by one thing or by several", "[cli]") {
  CHECK(kind_names() == std::vector<std::string>{"workloads", "workload", "probes", "probe", "stacks", "stack", "knobs",
                                                 "knob", "metrics", "metric", "suites", "suite", "reasons", "reason",
                                                 "faults", "fault", "runs", "run"});
  const SmallProject project;
  CHECK(names_of(project, "suite") == names_of(project, "suites"));
  CHECK_THROWS_WITH(catalog_entries(project.project(), "stakcs"), Contains("no kind `stakcs`; did you mean `stacks`?"));
  CHECK_THROWS_WITH(describe_entry(project.project(), "stack", "nwe"), Contains("no stack `nwe`; did you mean `new`?"));
}

TEST_CASE("a list is a column of names as wide as the longest, and what each is", "[cli]") {
  const SmallProject project;
  project.install("new", small_capability());
  CHECK(listed(project, "workloads").out ==
        "gpt2  in the suites short\n"
        "mlp   three layers; in the suites short\n");
  CHECK(listed(project, "stacks").out == "new  PyTorch 2.9.0 [installed]\nold  PyTorch 2.8.0 [not installed]\n");
  CHECK(listed(project, "suites").out == "short  Two short trainings.\n");
  CHECK(listed(project, "runs").out.empty());
  CHECK(listed(project, "runs").code == ExitCode::passed);
  const Said as_json = said_by(&declare_list, project.store(), {"suites", "--json"});
  CHECK(json::parse(as_json.out).at("kind") == "suites");
  CHECK(json::parse(as_json.out).at("entries") ==
        json::parse(R"([{"name": "short", "summary": "Two short trainings."}])"));
}

TEST_CASE("a workload says what an installed stack's worker knows of it, and which suites run it", "[cli]") {
  const SmallProject project;
  CHECK(described(project, "workload", "mlp") ==
        json::parse(R"({"suites": ["short"], "summary": "in the suites short"})"));
  project.install("old", small_capability());
  CHECK(described(project, "workload", "mlp") == json::parse(R"({
    "suites": ["short"], "summary": "three layers; in the suites short",
    "presets": [{"name": "base", "parameters": 101770, "batch_size": 32},
                {"name": "wide", "parameters": 2000000, "batch_size": 64}]})"));
  project.add_suite(
      "other",
      "schema: 1\nname: other\ndescription: d\nworkloads: [{model: mlp, preset: base, steps: 6, batch_size: "
      "32}]\nrepeat: 1\ntimeout: 5m\n");
  CHECK(summary_of(project, "workload", "mlp") == "three layers; in the suites other, short");
  CHECK(summary_of(project, "workload", "gpt2") == "in the suites short");
}

TEST_CASE("the first of two installed stacks says what a workload is, and one without a worker nothing", "[cli]") {
  const SmallProject project;
  project.install("new", small_capability(), /*with_worker=*/false);
  Capability second = small_capability();
  second.workloads[0].summary = "as the old stack says";
  project.install("old", second);
  CHECK(summary_of(project, "workload", "mlp") == "as the old stack says; in the suites short");
  CHECK(summary_of(project, "stack", "new") == "PyTorch 2.9.0 [not installed]");
  project.install("new", small_capability());
  CHECK(summary_of(project, "workload", "mlp") == "three layers; in the suites short");
}

TEST_CASE("a stack says what it is made of, on which devices it runs, and what this host has of it", "[cli]") {
  const SmallProject project;
  const json stack = described(project, "stack", "new");
  CHECK(stack.at("summary") == "PyTorch 2.9.0");
  CHECK(stack.at("source") == "wheel");
  CHECK(stack.at("components") == json::parse(R"({"torch": "2.9.0+cu128", "cuda": "12.8"})"));
  CHECK(stack.at("cxx11_abi") == 1);
  CHECK(stack.at("cxx_standard") == 17);
  CHECK(stack.at("state") == "not installed");
  json on_h100;
  for (const json& coverage : stack.at("coverage")) {
    if (coverage.at("device") == "sm_90") on_h100 = coverage;
  }
  CHECK(on_h100.at("compute") == "native");
  CHECK(on_h100.at("collectives") == "none");  // it has no NCCL
  CHECK(on_h100.contains("driver_at_least"));
  project.add_stack("gone",
                    "schema: 1\nname: gone\nsummary: s\nsource: system\ncomponents: {torch: \"1.0\"}\ncxx11_abi: 1\n"
                    "cxx_standard: 17\nsystem: {package: libno, package_version: \"1.0\", include_dirs: [/no], "
                    "library_dirs: [/no]}\n");
  CHECK(summary_of(project, "stack", "gone") == "s [libno 1.0 is not installed; no torch/version.h in /no]");
}

TEST_CASE("a suite says what it runs and what it asks, each bound with its place", "[cli]") {
  const SmallProject project;
  const json suite = described(project, "suite", "short");
  CHECK(suite.at("workloads").size() == 2);
  CHECK(suite.at("workloads").at(1).at("model") == "gpt2");
  CHECK(suite.at("knobs").at("threads") == "1");
  CHECK(suite.at("trace") == "step");
  CHECK(suite.at("repeat") == 2);
  CHECK(suite.at("exclusive") == false);
  project.add_suite("wide",
                    "schema: 1\nname: wide\ndescription: One more.\nworkloads: [{model: mlp, preset: base, steps: "
                    "6, batch_size: 32}]\ntrace: tensor\nrepeat: 1\ntimeout: 5m\nexclusive: true\n");
  CHECK(described(project, "suite", "wide").at("exclusive") == true);
  CHECK(described(project, "suite", "short") == suite);
  json rules = suite.at("thresholds");
  REQUIRE(rules.size() == 2);
  for (json& rule : rules) {
    const std::string origin = rule.at("origin");
    CHECK_THAT(origin, Contains("short.yaml:"));
    rule.erase("origin");
  }
  CHECK(rules == json::parse(R"([
    {"metric": "numerics.final_loss", "of": "", "bound": "max: 2.4", "gate": "armed", "where": "workload == mlp"},
    {"metric": "memory.peak_rss", "of": "", "bound": "max_regression: 5%", "gate": "record_only", "where": ""}])"));
}

TEST_CASE("what the tables of the code hold is listed by one sentence a row", "[cli]") {
  const SmallProject project;
  CHECK(summary_of(project, "metric", "memory.peak_rss") ==
        "largest resident set of the worker [bytes, lower is better]");
  CHECK_THAT(summary_of(project, "metric", "throughput.samples"), Contains(", higher is better]"));
  CHECK(described(project, "metric", "memory.peak_rss") == json::parse(R"({
    "summary": "largest resident set of the worker", "unit": "bytes", "better": "lower", "dimension": "memory"})"));
  CHECK(described(project, "metric", "throughput.samples").at("better") == "higher");
  CHECK(summary_of(project, "reason", "crash") == "attempt: a signal that nobody of us sent ended the worker");
  CHECK(described(project, "reason", "crash") ==
        json::parse(R"({"of": "attempt", "summary": "a signal that nobody of us sent ended the worker"})"));
  CHECK_THAT(summary_of(project, "knob", "tf32"), Contains(": off, on (default "));
  CHECK_THAT(summary_of(project, "knob", "threads"), Contains(": a positive integer (default 1)"));
  CHECK(described(project, "knob", "tf32").at("values") == json::parse(R"(["off", "on"])"));
  CHECK(described(project, "knob", "threads").at("default") == "1");
}

TEST_CASE("a probe says what it does and which suites run it", "[cli]") {
  const SmallProject project;
  project.add_suite(
      "stress",
      "schema: 1\nname: stress\ndescription: d\nworkloads: [{probe: device_stress, preset: base, samples: "
      "20}]\nrepeat: 1\ntimeout: 10m\n");
  CHECK_THAT(summary_of(project, "probe", "device_stress"), Catch::EndsWith("; in the suites stress"));
  CHECK_THAT(summary_of(project, "probe", "device_smoke"), Catch::EndsWith("; in the suites "));
  const json probe = described(project, "probe", "device_stress");
  CHECK(probe.at("suites") == json::parse(R"(["stress"])"));
  CHECK(probe.at("summary") == summary_of(project, "probe", "device_stress"));
  CHECK(probe.at("presets").at(0) == "base");
  CHECK(probe.at("operations").at(0).at("name") == "repeated_gemm");
  CHECK_FALSE(probe.at("operations").at(0).at("unit").get<std::string>().empty());
  CHECK_FALSE(probe.at("operations").at(0).at("summary").get<std::string>().empty());
}

TEST_CASE("a fault says what its words name", "[cli]") {
  const SmallProject project;
  CHECK(summary_of(project, "fault", "weight_ulp") ==
        "in a parameter: `tensor` names it, `element` one of its elements");
  std::map<std::string, int> said;
  for (const CatalogEntry& entry : catalog_entries(project.project(), "faults")) ++said[entry.summary];
  CHECK(said.count("in a probe: `tensor` names one of its operations") == 1);
  CHECK(said.count("in a training step") == 1);
  CHECK(said.size() == 3);
}

TEST_CASE("one word after `describe` is told its kind, or the kind that was nearly typed", "[cli]") {
  const SmallProject small;
  const Project project = small.project();
  CHECK(nameless_text(project, "mlp") == "`mlp` is a workload; say `reprobench describe workload mlp`");
  CHECK(nameless_text(project, "numerics.end_loss") ==
        "`numerics.end_loss` is a metric; say `reprobench describe metric numerics.end_loss`");
  CHECK(nameless_text(project, "metric") == "describe metric needs a name; `reprobench list metric` shows them");
  CHECK(nameless_text(project, "metrik") == "there is no kind `metrik`; did you mean `metric`?");
  CHECK_THAT(nameless_text(project, "quux"),
             Catch::StartsWith("there is no kind `quux`; there are workloads, workload"));
}

TEST_CASE("a run is listed by its word, or as unfinished", "[cli]") {
  const SmallProject project;
  RunInfo info;
  info.run_id = "r-20260101-000000-0001";
  info.started_utc = "2026-01-01T00:00:00Z";
  const Plan plan = sample_plan({sample_cell("aaa", "new")});
  RunDirectory::create(project.store(), std::nullopt, info, plan);
  std::vector<std::string> unreadable;
  ResultIndex::rebuild(project.store(), &unreadable);
  CHECK(summary_of(project, "runs", info.run_id) == "2026-01-01T00:00:00Z  unfinished    0 cells  ");
  const json run = described(project, "run", info.run_id);
  CHECK(run.at("summary") == "unfinished");
  CHECK(run.at("matrix") == "");  // which its verdict would tell
  CHECK(run.at("started_utc") == info.started_utc);
  CHECK(run.at("cells") == 0);
  CHECK(run.contains("folder"));
  CHECK(run.contains("exit_code"));
}

TEST_CASE("a thing is described as one document", "[cli]") {
  const SmallProject project;
  const Said said = said_by(&declare_describe, project.store(), {"suites", "short"});
  CHECK(said.code == ExitCode::passed);
  const json document = json::parse(said.out);
  CHECK(document.at("schema") == "reprobench/description");
  CHECK(document.at("kind") == "suite");
  CHECK(document.at("name") == "short");
  CHECK(document.at("details").at("summary") == "Two short trainings.");
}

}  // namespace
}  // namespace reprobench
