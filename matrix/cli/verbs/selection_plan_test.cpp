// Which cells of a small matrix a call plans, what it then says of itself, and what it refuses.
#include "ci/catch.hpp"
#include "ci/temporary.hpp"
#include "ci/thrown.hpp"
#include "matrix/cli/host_memory.hpp"
#include "matrix/cli/text/plan_text.hpp"
#include "matrix/cli/verbs/selection.hpp"
#include "matrix/cli/verbs/verb_fixture.hpp"
#include "matrix/contract/device/host_facts.hpp"

namespace reprobench {
namespace {

using Catch::Contains;
using Texts = std::vector<std::string>;

struct Planned {
  Planned() { options.matrix = project.matrix(); }
  SelectedPlan plan() const { return make_plan(project.project(), options); }

  // Slugs of the cells that were not left out.
  Texts selected() const {
    Texts slugs;
    for (const PlannedCell& planned : plan().plan.cells) {
      if (!planned.skip || planned.skip->rule != kDeselected) slugs.push_back(planned.cell.slug);
    }
    return slugs;
  }
  std::string id_of(const std::string& slug) const {
    for (const PlannedCell& planned : plan().plan.cells) {
      if (planned.cell.slug == slug) return planned.cell.request.cell_id;
    }
    return "no such cell";
  }

  SmallProject project;
  SelectionOptions options;
};

const Texts kAll = {"short-mlp-new-cpu", "short-mlp-old-cpu", "short-gpt2-new-cpu", "short-gpt2-old-cpu"};
const Texts kMlp = {"short-mlp-new-cpu", "short-mlp-old-cpu"};
const Texts kMlpOld = {"short-mlp-old-cpu"};

TEST_CASE("#41: a package that a matrix or a suite brings along does not run unless that is said", "[cli]") {
  Planned planned;
  written_file(planned.project / "theirs.pt2", "a program");
  planned.options.matrix = planned.project.matrix("package: theirs.pt2\n");
  CHECK_THROWS_WITH(planned.plan(), Contains("error[RB048]: a package is code") && Contains("--trust"));
  planned.options.trust = true;
  CHECK_THROWS_WITH(planned.plan(), !Contains("RB048"));  // what it refuses now is the file
}

TEST_CASE("without an option every cell is planned, for this host, by the file as it is written", "[cli]") {
  const Planned planned;
  const SelectedPlan selected = planned.plan();
  CHECK(planned.selected() == kAll);
  CHECK(selected.matrix_text == read_file(planned.options.matrix));
  CHECK(selected.plan.matrix == "small");
  CHECK(selected.plan.matrix_file == planned.options.matrix);
  CHECK_FALSE(selected.plan.host.kernel.empty());
  CHECK(selected.plan.request == PlanRequest{});
  CHECK(selected.plan.declared == std::map<std::string, std::map<std::string, std::string>>{
                                      {"new", {{"torch", "2.9.0+cu128"}, {"cuda", "12.8"}}},
                                      {"old", {{"torch", "2.8.0+cu128"}, {"cuda", "12.8"}}}});
  CHECK(selected.unknown_presets == Texts{"gpt2/tiny", "mlp/base"});
}

TEST_CASE("each option selects by its coordinate, and brings the reference along", "[cli]") {
  Planned planned;
  SECTION("workload") {
    planned.options.workloads = {"mlp"};
    CHECK(planned.selected() == kMlp);
    CHECK(planned.plan().plan.request.selected_by == Texts{"--workload mlp"});
    CHECK(planned.plan().unknown_presets == Texts{"mlp/base"});
  }
  SECTION("the candidate's stack, with its reference") {
    planned.options.stacks = {"new"};
    planned.options.workloads = {"mlp"};
    CHECK(planned.selected() == kMlp);
    CHECK(planned.plan().plan.request.selected_by == Texts{"--stack new", "--workload mlp"});
  }
  SECTION("the reference's stack, alone") {
    planned.options.stacks = {"old"};
    planned.options.workloads = {"mlp"};
    CHECK(planned.selected() == kMlpOld);
    CHECK(planned.plan().plan.declared.size() == 1);
    CHECK(planned.plan().plan.declared.contains("old"));
  }
  SECTION("expression") {
    planned.options.filter = "workload == mlp and stack == old";
    CHECK(planned.selected() == kMlpOld);
    CHECK(planned.plan().plan.request.selected_by == Texts{"--filter 'workload == mlp and stack == old'"});
  }
  SECTION("device") {
    planned.options.devices = {"cpu"};
    CHECK(planned.selected() == kAll);
    CHECK(planned.plan().plan.request.selected_by == Texts{"--device cpu"});
  }
  SECTION("cell by slug") {
    planned.options.cells = {"short-mlp-old-cpu"};
    CHECK(planned.selected() == kMlpOld);
    CHECK(planned.plan().plan.request.names_cells);
    CHECK(planned.plan().plan.request.selected_by == Texts{"--cell short-mlp-old-cpu"});
  }
  SECTION("cell by its id or four digits of it, and not by three") {
    const std::string id = planned.id_of("short-mlp-old-cpu");
    for (const std::string& name : {id, id.substr(0, 4)}) {
      planned.options.cells = {name};
      CHECK(planned.selected() == kMlpOld);
    }
    planned.options.cells = {id.substr(0, 3)};
    CHECK_THROWS_AS(planned.plan(), UsageError);
  }
  SECTION("of two cells that are named both") {
    planned.options.cells = {"short-mlp-old-cpu", "short-gpt2-old-cpu"};
    CHECK(planned.selected() == Texts{"short-mlp-old-cpu", "short-gpt2-old-cpu"});
  }
}

TEST_CASE("#41: a cell on two ranks brings along the one on one rank that a check holds it against, and references",
          "[cli]") {
  Planned planned;
  const auto add_suite = [&](const std::string& thresholds) {
    planned.project.add_suite(
        "short",
        "schema: 1\nname: short\ndescription: d\nworkloads: [{model: mlp, preset: base, steps: 6, "
        "batch_size: 32}]\ntrace: step\nrepeat: 1\ntimeout: 5m\n"
        "thresholds:\n  numerics.final_loss: {max: 9}\n" +
            thresholds);
  };
  planned.options.matrix = written_file(
      planned.project / "layouts.yaml",
      "schema: 1\nname: small\nsuites: [short]\naxes:\n  stack: [new, old]\n  device: [cpu]\n  world_size: [1, 2]\n"
      "  accumulate: [1, 2]\nreference: {stack: old}\n");
  planned.options.filter = "stack == new and world_size == 2 and accumulate == 1";
  add_suite("  numerics.layout_mismatches: {max: 0}\n");
  const Texts ranks = {"short-mlp-new-cpu-world_size-2-accumulate-1", "short-mlp-old-cpu-world_size-2-accumulate-1"};
  const Texts all = {"short-mlp-new-cpu-accumulate-2", "short-mlp-new-cpu-world_size-2-accumulate-1",
                     "short-mlp-old-cpu-accumulate-2", "short-mlp-old-cpu-world_size-2-accumulate-1"};
  CHECK(planned.selected() == all);
  add_suite("");
  CHECK(planned.selected() == ranks);
}

TEST_CASE("cells of a GPU that are selected bring none of the CPU along, which would run in their place", "[cli]") {
  Planned planned;
  planned.project.add_suite("short",
                            "schema: 1\nname: short\ndescription: d\nworkloads: [{model: mlp, preset: base, steps: 6, "
                            "batch_size: 32}]\ntrace: tensor\nrepeat: 1\ntimeout: 5m\nthresholds:\n"
                            "  numerics.cpu_first_step_rel: {max: 1%}\n");
  planned.options.matrix =
      written_file(planned.project / "gpu.yaml",
                   "schema: 1\nname: small\nsuites: [short]\naxes:\n  stack: [new]\n  device: [cpu, sm_90]\n");
  planned.options.filter = "device != cpu";
  CHECK(planned.selected() == Texts{"short-mlp-new-sm_90"});
}

TEST_CASE("a cell that was left out says by which options, and keeps its place", "[cli]") {
  Planned planned;
  planned.options.workloads = {"mlp"};
  planned.options.stacks = {"old"};
  const Plan plan = planned.plan().plan;
  REQUIRE(plan.cells.size() == 4);
  CHECK(plan.cells[0].skip->rule == kDeselected);
  CHECK(plan.cells[0].skip->reason == "left out by --stack old --workload mlp");
  CHECK(plan.cells[0].notes.empty());
  CHECK_FALSE(plan.cells[1].skip);
  CHECK(selected_cells(plan) == 1);
}

TEST_CASE("a name that no cell has is refused with the nearest", "[cli]") {
  Planned planned;
  const auto refused = [&] { return message_of<UsageError>([&] { planned.plan(); }); };
  const std::string of = " of " + planned.options.matrix + " `";
  SECTION("stack") {
    planned.options.stacks = {"new", "odl"};
    CHECK_THAT(refused(), Catch::StartsWith("there is no stack" + of + "odl`; did you mean `old`?"));
  }
  SECTION("workload") {
    planned.options.workloads = {"mpl"};
    CHECK_THAT(refused(), Catch::StartsWith("there is no workload" + of + "mpl`; did you mean `mlp`?"));
  }
  SECTION("device") {
    planned.options.devices = {"cup"};
    CHECK_THAT(refused(), Catch::StartsWith("there is no device" + of + "cup`; did you mean `cpu`?"));
  }
  SECTION("cell") {
    planned.options.cells = {"short-mlp-old-cpu", "short-mlp-odl-cpu"};
    CHECK_THAT(refused(), Catch::StartsWith("there is no cell" + of + "short-mlp-odl-cpu`; did you mean"));
  }
}

TEST_CASE("a class of CPU that libraries are kept to changes what is asked", "[cli]") {
  const Planned planned;
  const TemporaryVariable none(kCpuClass, std::nullopt);
  CHECK(planned.plan().plan.request.changed_by.empty());
  const TemporaryVariable empty(kCpuClass, "");
  CHECK(planned.plan().plan.request.changed_by.empty());
  const TemporaryVariable named(kCpuClass, "avx2");
  CHECK(planned.plan().plan.request.changed_by == Texts{"REPROBENCH_CPU_CLASS=avx2"});
}

TEST_CASE("fewer repeats than the suite or the matrix asks for change what is asked, as many do not", "[cli]") {
  Planned planned;
  planned.options.repeat = 1;
  CHECK(planned.plan().plan.request.changed_by == Texts{"--repeat 1"});
  CHECK(planned.plan().plan.request.overrides == Texts{"--repeat 1"});
  CHECK(planned.plan().plan.cells.at(0).cell.repeat == 1);
  planned.options.repeat = 2;
  CHECK(planned.plan().plan.request.changed_by.empty());
  CHECK(planned.plan().plan.request.overrides == Texts{"--repeat 2"});
  planned.options.repeat = 3;
  CHECK(planned.plan().plan.request.changed_by.empty());
  CHECK(planned.plan().plan.cells.at(0).cell.repeat == 3);
  planned.project.matrix("repeat: 4\n");
  CHECK(planned.plan().plan.request.changed_by == Texts{"--repeat 3"});
  planned.options.repeat = 0;
  CHECK(planned.plan().plan.request.changed_by.empty());
  CHECK(planned.plan().plan.request.overrides.empty());
  CHECK(planned.plan().plan.cells.at(0).cell.repeat == 4);
}

std::string reference_of_first(const Plan& plan) {
  for (const PlannedCell& planned : plan.cells) {
    if (planned.cell.request.cell_id == plan.cells.at(0).cell.reference_cell_id) return planned.cell.slug;
  }
  return "none";
}

TEST_CASE("another reference changes what is asked, the matrix's own does not", "[cli]") {
  Planned planned;
  planned.options.reference = "old";
  CHECK(planned.plan().plan.request.changed_by.empty());
  CHECK(planned.plan().plan.request.overrides == Texts{"--reference old"});
  planned.options.reference = "new";
  const Plan swapped = planned.plan().plan;
  CHECK(swapped.request.changed_by == Texts{"--reference new"});
  CHECK(reference_of_first(swapped) == "none");
  planned.project.add_stack("third", small_stack("third", "2.7.0"));
  planned.options.reference = "third";
  const Plan plan = planned.plan().plan;
  CHECK(plan.cells.size() == 6);  // which the matrix does not name
  CHECK(reference_of_first(plan) == "short-mlp-third-cpu");
  planned.options.reference = "thirt";
  CHECK_THROWS_WITH(planned.plan(), Contains("--reference:1:1") && Contains("thirt"));
}

TEST_CASE("a matrix without a reference is given one, which changes it", "[cli]") {
  Planned planned;
  written_file(planned.options.matrix,
               "schema: 1\nname: small\nsuites: [short]\naxes:\n  stack: [new, old]\n  device: [cpu]\n");
  planned.project.add_suite("short",
                            "schema: 1\nname: short\ndescription: d\nworkloads: [{model: mlp, preset: base, steps: 6, "
                            "batch_size: 32}]\nrepeat: 1\ntimeout: 5m\n");
  planned.options.reference = "old";
  CHECK(planned.plan().plan.request.changed_by == Texts{"--reference old"});
  CHECK(reference_of_first(planned.plan().plan) == "short-mlp-old-cpu");
}

TEST_CASE("a fault that no cell which runs takes is refused, where any cell runs", "[cli]") {
  Planned planned;
  planned.options.inject = {"kind=weight_ulp,step=5,tensor=w"};
  for (const char* stack : {"new", "old"}) planned.project.install(stack, small_capability());
  CHECK(planned.plan().plan.request.overrides == Texts{"--inject kind=weight_ulp,step=5,tensor=w"});
  planned.options.inject = {"kind=weight_ulp,step=5,tensor=w", "kind=weight_ulp,step=7,tensor=w"};
  CHECK_THROWS_WITH(planned.plan(), Contains("error[RB0"));
  planned.options.inject = {"kind=weight_ulp,step=5,tensor=w,stack=new"};
  planned.options.stacks = {"old"};
  CHECK_THROWS_WITH(planned.plan(), Contains("error[RB040]") && Contains("no cell that runs here takes this fault"));
  planned.options.stacks = {"new"};
  CHECK_NOTHROW(planned.plan());
}

TEST_CASE("presets that a worker knows are not said to be unknown", "[cli]") {
  Planned planned;
  planned.project.install("new", small_capability());
  CHECK(planned.plan().unknown_presets == Texts{"gpt2/tiny"});
}

TEST_CASE("calls of one's own take the place of a suite's list, and need a suite that has one", "[cli]") {
  Planned planned;
  planned.options.calls = written_file(planned.project / "mine.yaml",
                                       "schema: 1\nname: mine\ncalls:\n  - {call: 'exp(f32[N, 8])', with: [{N: 2}]}\n");
  CHECK_THROWS_WITH(planned.plan(), "--calls: no suite of small runs operator calls");
  written_file(planned.project.root() / "suites/operators/published.yaml",
               "schema: 1\nname: published\ncalls:\n  - call: exp(f32[9])\n  - call: exp(f32[10])\n");
  planned.project.add_suite("operators",
                            "schema: 1\nname: operators\ndescription: d\nworkloads: [{probe: operators, preset: base, "
                            "samples: 3, calls: published}]\nrepeat: 1\ntimeout: 5m\n");
  CHECK_THROWS_WITH(planned.plan(), "--calls: no suite of small runs operator calls");  // which it does not name
  written_file(planned.options.matrix,
               "schema: 1\nname: small\nsuites: [short, operators]\naxes:\n  stack: [new]\n  device: [cpu]\n");
  const Plan plan = planned.plan().plan;
  CHECK(plan.request.changed_by == Texts{"--calls " + planned.options.calls});
  CHECK(plan.request.overrides == Texts{"--calls " + planned.options.calls});
  for (const PlannedCell& cell : plan.cells) {
    const WorkloadRequest& workload = cell.cell.request.workload;
    CHECK(workload.calls == (workload.is_probe() ? Texts{"exp(f32[2, 8])"} : Texts{}));
  }
}

TEST_CASE("the stacks to run are those of cells that run", "[cli]") {
  Planned planned;
  CHECK(stacks_to_run(planned.plan().plan) == std::set<std::string>{"new", "old"});
  planned.options.stacks = {"old"};
  CHECK(stacks_to_run(planned.plan().plan) == std::set<std::string>{"old"});
}

TEST_CASE("what fits into memory is asked of the workers, and cells without one are noted", "[cli]") {
  const Planned planned;
  Plan plan = planned.plan().plan;
  const HostMemory memory = fit_into_host_memory(plan, {});
  CHECK(memory.available_bytes > 0);
  CHECK(memory.note == "memory not predicted for 4 cells: stack not installed (4)\n");
}

TEST_CASE("a plan is shown with its notes on stderr, and ends with 4 where nothing is selected", "[cli]") {
  Planned planned;
  const auto plan = [&](Texts words) {
    words.insert(words.begin(), {"--matrix", planned.options.matrix});
    return said_by(&declare_plan, planned.project.store(), words);
  };
  const Said whole = plan({});
  CHECK(whole.code == ExitCode::passed);
  CHECK(whole.err ==
        "presets not checked, because no installed worker describes these models: gpt2/tiny, mlp/base\n"
        "memory not predicted for 4 cells: stack not installed (4)\n"
        "not installed: new old; to run the plan: reprobench stack install new old\n");
  CHECK_THAT(whole.out, Catch::StartsWith("plan small: 4 cells, 4 runnable, 0 skipped\nrunnable ") &&
                            Contains("  short-mlp-new-cpu  2 repeats\n"));
  CHECK(nlohmann::json::parse(plan({"--json"}).out).at("cells").size() == 4);
  const Said none = plan({"--filter", "device == sm_90"});
  CHECK(none.code == ExitCode::nothing_ran);
  CHECK_THAT(none.out, Catch::StartsWith("plan small: 0 of 4 cells selected, 0 runnable, 0 skipped\n"));
}

}  // namespace
}  // namespace reprobench
