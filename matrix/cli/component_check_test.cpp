// Which components make a check fail, on stacks whose workers are the fake one. The mixes of two of them are others.
#include "ci/catch.hpp"
#include "matrix/cli/component_bisect.hpp"
#include "matrix/cli/text/component_bisect_text.hpp"
#include "matrix/cli/verbs/bisect_fixture.hpp"
#include "matrix/cli/worker_commands.hpp"

namespace reprobench {
namespace {

using Catch::Contains;
using Catch::StartsWith;

// `omp` and `net` differ; a mix is the stack "mix-" and their names.
class TwoMixes : public ComponentMixes {
 public:
  std::vector<std::string> names() const override { return {"omp", "net"}; }
  std::vector<DifferingComponent> components() const override { return {{"omp", {}, {}}, {"net", {}, {}}}; }
  MixedStack made_with(const std::vector<std::string>& from_bad) override {
    return {fmt::format("mix-{}", fmt::join(from_bad, "-")), ""};
  }
  std::string making(const std::vector<std::string>&) const override { return "make it"; }
  void keep_only(const std::vector<std::string>& stacks) override { kept = stacks; }

  std::vector<std::string> kept;
};

// The stacks `old` (good), `new` (bad) and the mixes, each of which does what it is told.
struct MixedStacks : SmallProject {
  MixedStacks() {
    for (const char* mix : {"mix-omp", "mix-net", "mix-omp-net"}) add_stack(mix, small_stack(mix, "2.8.0"));
    add_suite("checks",
              "schema: 1\nname: checks\ndescription: d\nworkloads: [{model: mlp, preset: base, steps: 6, batch_size: "
              "32}]\ntrace: step\nrepeat: 1\ntimeout: 5m\nthresholds:\n  memory.peak_anonymous: {max_regression: 10%, "
              "vs: reference}\n");
  }

  static std::string worker(const std::string& stack, const std::string& does) {
    return fmt::format("{}={} --do {} --loaded /x/libtorch_cpu.so=of-{}", stack, kFake, does,
                       stack.starts_with("mix") ? "old" : stack);
  }

  ComponentBisectDocument ask(const std::string& omp, const std::string& net, const std::string& both) const {
    const std::string matrix =
        written_file(*this / "checks.yaml",
                     "schema: 1\nname: checks\nsuites: [checks]\naxes:\n  stack: [new, old]\n  device: [cpu]\n"
                     "reference: {stack: old}\n");
    const Said run = said_by(
        &declare_run, store(),
        {"--matrix", matrix, "--no-report", "--worker", worker("new", "rss=1.85"), "--worker", worker("old", "ok")});
    REQUIRE(run.code == ExitCode::failed);
    const CheckedCell checked = stored_check(store(), "", "checks-mlp-new-cpu", "memory.peak_anonymous");
    const Project here = project();
    Terminal terminal;
    terminal.configure(ColorChoice::never, /*quiet=*/true);
    BisectedStacks stacks(here, terminal,
                          given_workers({worker("old", "ok"), worker("new", "rss=1.85"), worker("mix-omp", omp),
                                         worker("mix-net", net), worker("mix-omp-net", both)}),
                          /*installs=*/false);
    BisectJournal journal(here.store(), question_of(checked), /*again=*/false);
    const std::vector<std::string> axis = {"old", "new"};
    const BisectScene scene{axis,
                            checked.cells.front().cell.request,
                            stacks,
                            journal,
                            [](const std::string&) {},
                            /*is_of_components=*/true};
    CheckQuestion check(here, terminal, scene, checked);
    TwoMixes mixes;
    ComponentBisect bisect(scene, mixes, [](const std::string&) {});
    ComponentBisectDocument document = bisect.answered(
        check, checked.asked, [](const std::string&, const StackChange& change) { return "show " + change.after; });
    document.good = "old";
    document.bad = "new";
    return document;
  }
};

TEST_CASE("the component is named that makes a check of memory fail", "[cli][process][bisect]") {
  const MixedStacks stacks;
  const ComponentBisectDocument document = stacks.ask("ok", "rss=1.85", "rss=1.85");
  const ComponentAnswer& answer = document.answers.at(0);
  REQUIRE(answer.word == ComponentWord::found);
  CHECK(answer.culprits.at(0).stack == "mix-net");
  CHECK(answer.culprits.at(0).check->after.ratio == 1.85);
  CHECK(answer.rest == PointState::as_good);  // though it loads the torch of its reference
  const std::string text = component_bisect_text(document);
  CHECK_THAT(text, Contains("\nmemory.peak_anonymous x1.85 with net of new, x1.00 in old\n  of           "
                            "checks-mlp-new-cpu of run r-") &&
                       Contains("  culprit      net\n") && Contains("  shown by     make it\n") &&
                       Contains("               show mix-net\n"));
}

TEST_CASE("components whose mixes crash, or that bring no failure, are not blamed for a check",
          "[cli][process][bisect]") {
  const MixedStacks stacks;
  const ComponentAnswer together = stacks.ask("crash=11", "crash=11", "rss=1.85").answers.at(0);
  CHECK(together.word == ComponentWord::together);
  const ComponentAnswer hidden = stacks.ask("ok", "ok", "ok").answers.at(0);
  CHECK(hidden.word == ComponentWord::hidden);
  CHECK_FALSE(hidden.differences.empty());
}

}  // namespace
}  // namespace reprobench
