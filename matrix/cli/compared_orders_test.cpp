// Which calls of two stacks are made, and which answers come from what is kept beside the workers.
#include "matrix/cli/compared_orders.hpp"

#include <fstream>

#include "ci/catch.hpp"
#include "matrix/cli/workplace_fixture.hpp"
#include "matrix/inquiry/kept_orders_fixture.hpp"
#include "matrix/verdict/atlas/order_changes.hpp"

namespace reprobench {
namespace {

CellResult ended_well() {
  CellResult result;
  result.cell_id = "c";
  result.nonce = "0123456789abcdef";
  result.workload_digest = result.chain = std::string(32, '0');
  result.knobs_resolved = with_defaults({});
  return result;
}

class CountedReplays : public Replays {
 public:
  std::map<std::string, std::string> order_of;  // by stack
  std::vector<std::string> asked;               // "STACK CALL", as they came

  std::vector<ReplayOutcome> run_to_any_end(const std::vector<ReplayTask>& tasks) override {
    std::vector<ReplayOutcome> outcomes;
    for (const ReplayTask& task : tasks) {
      ReplayOutcome& outcome = outcomes.emplace_back();
      outcome.attempt.end = AttemptEnd::completed;
      CellResult& result = outcome.attempt.lead().result.emplace(ended_well());
      for (const std::string& call : task.request.workload.calls) {
        asked.push_back(task.request.stack + " " + call);
        result.measurements.push_back(ordered_call(call, order_of.at(task.request.stack)));
      }
    }
    return outcomes;
  }
  void remove_files() override {}
  void remove_latest() override {}
  std::size_t calls_left() const override { return 0; }
};

TEST_CASE("a second comparison makes only the calls whose orders are not kept, and gives the same answer", "[cli]") {
  const Workplace place;
  const std::string a = "torch-2.9.0-cu128";
  const std::string b = "torch-2.10.0-cu128";
  std::map<std::string, WorkerCommand> workers;
  for (const std::string& stack : {a, b}) {
    std::filesystem::create_directories(place / stack);
    std::ofstream(place / stack / "worker") << "a program";
    workers[stack].command = {place / stack / "worker"};
    workers[stack].kept_answers = place / stack;
  }
  CountedReplays replays;
  replays.order_of = {{a, "(0..3)"}, {b, "(0 1 (2 3))"}};
  const Project project(place / "store");
  const auto changed = [&](const std::string& calls) {
    std::ofstream(place / "mine.yaml") << "schema: 1\nname: mine\ncalls:\n" << calls;
    replays.asked.clear();
    const ComparedOrders found = compare_orders({a, {}}, {b, {}}, place / "mine.yaml", project, workers, replays);
    const auto changes = order_changes(found.atlas, found.measured, found.expected);
    CHECK(word_of(changes) == Match::differs);
    CHECK(found.atlas.columns[found.measured].name == a);
    return std::pair(changes.size(), found.left_aside);
  };
  const std::string sum = "  - call: sum(f32[4])\n";
  const std::string both = sum + "  - call: dot(f32[4], f32[4])\n";
  CHECK(changed(sum).first == 1);
  CHECK(replays.asked == std::vector{a + " sum(f32[4])", b + " sum(f32[4])"});
  CHECK(changed(sum).first == 1);
  CHECK(replays.asked.empty());
  CHECK(changed(both).first == 2);
  CHECK(replays.asked == std::vector{a + " dot(f32[4], f32[4])", b + " dot(f32[4], f32[4])"});

  std::ofstream(place / b / "orders.json") << "damaged";
  CHECK(changed(both).second.size() == 1);
  CHECK(replays.asked == std::vector{b + " sum(f32[4])", b + " dot(f32[4], f32[4])"});
  CHECK(changed(both).second.empty());
  CHECK(replays.asked.empty());
}

TEST_CASE("one stack on both sides is told apart, by its knobs where they differ", "[cli]") {
  const Workplace place;
  const std::string stack = "torch-2.9.0-cu128";
  CountedReplays replays;
  replays.order_of = {{stack, "(0..3)"}};
  std::ofstream(place / "mine.yaml") << "schema: 1\nname: mine\ncalls:\n  - call: sum(f32[4])\n";
  const auto names = [&](const KnobValues& measured, const KnobValues& expected) {
    const ComparedOrders found = compare_orders({stack, measured}, {stack, expected}, place / "mine.yaml",
                                                Project(place / "store"), {{stack, {}}}, replays);
    CHECK(word_of(order_changes(found.atlas, found.measured, found.expected)) == Match::equal);
    return std::pair(found.atlas.columns[found.measured].name, found.atlas.columns[found.expected].name);
  };
  CHECK(names({}, {}) == std::pair(stack + " (A)", stack + " (B)"));
  CHECK(names({{"threads", "2"}}, {}) == std::pair(stack + " threads=2", stack + " threads=1"));
  CHECK(replays.asked.size() == 4);
}

}  // namespace
}  // namespace reprobench
