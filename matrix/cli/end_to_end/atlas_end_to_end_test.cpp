// Runs of operator calls by the whole coordinator, on the fake worker.
#include "ci/catch.hpp"
#include "matrix/base/sha256.hpp"
#include "matrix/cli/workplace_fixture.hpp"
#include "matrix/spec/files/weights_fixture.hpp"

namespace reprobench {
namespace {

using Catch::Contains;

std::vector<std::string> with_calls(const Workplace& place, std::vector<std::string> command) {
  std::ofstream(place / "mine.yaml") << "schema: 1\nname: mine\ncalls:\n"
                                        "  - {call: 'exp(f32[N, 8])', with: [{N: 2}, {N: 3}]}\n"
                                        "  - call: rms_norm(f32[4, 8], [8], f32[8])\n";
  command.insert(command.end(), {"--calls", place / "mine.yaml"});
  return command;
}

SubprocessResult ask(const Workplace& place, std::vector<std::string> words) {
  words.insert(words.begin(), {kBinary, "--store", place / "store"});
  return call(std::move(words));
}

TEST_CASE("a list of one's own: the shape from which bits differ is named", "[e2e]") {
  const Workplace place;
  const auto ran = call(with_calls(place, place.run_command("operators", "ok_other_bits")));
  INFO(ran.err << ran.out);
  CHECK(ran.exit_code == 3);  // its checks are recorded: this matrix arms none
  CHECK_THAT(ran.out, Contains("recorded"));
  const auto table = ask(place, {"atlas"});
  CHECK(table.exit_code == 0);
  CHECK_THAT(table.out, Contains("3 calls on 2 stacks against torch-2.8.0-cu128"));
  CHECK_THAT(table.out, Contains("exp(f32[3, 8])") && !Contains("exp(f32[2, 8])"));
  CHECK_THAT(table.out, Contains("2 calls have equal bits in every column"));
  CHECK_THAT(ask(place, {"atlas", "--all"}).out, Contains("exp(f32[2, 8])"));
  CHECK_THAT(ask(place, {"atlas", "--markdown"}).out, Contains("| `exp(f32[3, 8])` | ref | 1e-07 |"));
  CHECK(nlohmann::json::parse(ask(place, {"atlas", "--json"}).out).at("rows").size() == 3);

  const auto pairs = ask(place, {"compare"});
  CHECK(pairs.exit_code == 1);
  CHECK_THAT(pairs.out, Contains("torch-2.9.0-cu128 against torch-2.8.0-cu128: 2 equal, 1 rounding"));
  CHECK_THAT(pairs.out, Contains("rounding at [3, 8]") && Contains("equal at [2, 8]"));
  CHECK(ask(place, {"compare", "--fail-on", "defect"}).exit_code == 0);

  // One more run that died before it was one: every verb that lets the newest run answer says so.
  CHECK_THAT(ask(place, {"atlas"}).err, !Contains("left aside"));
  std::filesystem::create_directories(place / "store/runs/s-died");
  using Words = std::vector<std::string>;
  for (const Words& words : {Words{"atlas"}, Words{"compare"}, Words{"explain", "a-cell"}, Words{"report"}}) {
    CAPTURE(words.front());
    CHECK_THAT(ask(place, words).err, Contains("s-died is younger than run r-") && Contains("left aside"));
  }
}

TEST_CASE("where orders of summation were asked for, rounding is proven, and each order names its stacks", "[e2e]") {
  const Workplace place;
  const auto ran = call(with_calls(place, place.run_command("orders", "ok_other_bits")));
  INFO(ran.err << ran.out);
  CHECK(ran.exit_code == 3);
  CHECK_THAT(ask(place, {"atlas"}).out, Contains("1e-07 p  exp(f32[3, 8])"));
  const auto orders = ask(place, {"atlas", "--orders"});
  CHECK(orders.exit_code == 0);
  CHECK_THAT(orders.out, Contains("orders of summation: 3 outputs of 3 calls on 2 stacks"));
  CHECK_THAT(orders.out, Contains("exp(f32[3, 8])  output.0\n  1 chain of 2 #"));
  CHECK_THAT(orders.out, Contains("1 chain of 2, fused #") && Contains("2 outputs have one order on every stack"));
  CHECK_THAT(orders.out, !Contains("exp(f32[2, 8])"));
  CHECK_THAT(ask(place, {"atlas", "--orders", "--all"}).out, Contains("exp(f32[2, 8])  output.0"));
  CHECK_THAT(ask(place, {"compare"}).out, Contains("output.0 adds in another order, proven: 1 chain of 2, fused #"));
}

TEST_CASE("a stack whose result is not what its own order gives is called a defect", "[e2e]") {
  const Workplace place;
  call(with_calls(place, place.run_command("orders", "ok_other_bits,own_order_broken")));
  CHECK_THAT(ask(place, {"atlas"}).out, Contains("DEFECT  exp(f32[3, 8])"));
  CHECK_THAT(ask(place, {"compare"}).out,
             Contains("the order in which the measured side adds is known, and element 0 of its"));
}

// `compare --orders` of two stacks; the first one's worker behaves so.
SubprocessResult compare_orders(const Workplace& place, const std::string& measured,
                                std::vector<std::string> more = {}) {
  std::ofstream(place / "mine.yaml") << "schema: 1\nname: mine\ncalls:\n  - {call: 'exp(f32[N, 8])', with: [{N: 2}, "
                                        "{N: 3}]}\n";
  std::vector<std::string> words = {"compare",           "torch-2.9.0-cu128",
                                    "torch-2.8.0-cu128", "--orders",
                                    "--calls",           place / "mine.yaml",
                                    "--worker",          "torch-2.9.0-cu128=" + kFakeWorker + " --do " + measured,
                                    "--worker",          "torch-2.8.0-cu128=" + kFakeWorker + " --do ok"};
  words.insert(words.end(), more.begin(), more.end());
  return ask(place, words);
}

TEST_CASE("two stacks by their orders now: what changed, what did not, and what nobody knows", "[e2e]") {
  const Workplace place;
  const auto same = compare_orders(place, "ok");
  INFO(same.err << same.out);
  CHECK(same.exit_code == 0);
  CHECK_THAT(same.out, Contains("orders of summation: torch-2.9.0-cu128 against torch-2.8.0-cu128; 2 calls") &&
                           Contains("  exp 2\n") && Contains("orders: 0 other, 2 the same, 0 not known (exit 0)"));
  const auto other = compare_orders(place, "ok_other_bits");
  CHECK(other.exit_code == 1);
  CHECK_THAT(other.out, Contains("computed by: not known: nothing was seen of what ran\n  exp(f32[3, 8])  output.0\n"
                                 "    1 chain of 2, fused #") &&
                            Contains("orders: 1 other, 1 the same, 0 not known (exit 1)"));
  const auto unknown = compare_orders(place, "order_unknown");
  CHECK(unknown.exit_code == 3);
  CHECK_THAT(unknown.out, Contains("2 are not known:\n  2 x exp: it is no sum of these terms\n"));
  const auto changed = compare_orders(place, "ok_other_bits", {"--only-changed"});
  CHECK_THAT(changed.out, Contains("exp(f32[3, 8])") && !Contains("add in one order"));
}

TEST_CASE("a result that its own order does not give is no known order, though both sides have its bits", "[e2e]") {
  const Workplace place;
  const auto broken = compare_orders(place, "own_order_broken");
  INFO(broken.err << broken.out);
  CHECK(broken.exit_code == 3);
  CHECK_THAT(broken.out, Contains("2 x exp: element 0 of its own result is not what its order gives"));
}

TEST_CASE("a stack that crashes has no orders, and nothing is called the same", "[e2e]") {
  const Workplace place;
  const auto crashed = compare_orders(place, "crash=11");
  INFO(crashed.err << crashed.out);
  CHECK(crashed.exit_code == 3);
  CHECK_THAT(crashed.out, Contains("torch-2.9.0-cu128 has no records: crash") && Contains("0 the same"));
}

TEST_CASE("orders of two stacks as a document are an atlas of two columns", "[e2e]") {
  const Workplace place;
  const auto asked = compare_orders(place, "ok_other_bits", {"--json", "--knob-a", "threads=2"});
  INFO(asked.err << asked.out);
  CHECK(asked.exit_code == 1);
  const auto document = nlohmann::json::parse(asked.out);
  CHECK(document.at("schema") == "reprobench/atlas");
  CHECK(document.at("columns").size() == 2);
  CHECK_THAT(document.dump(), Contains("torch-2.9.0-cu128 threads=2"));
}

TEST_CASE("orders are asked of two stacks, and of nothing else at the same time", "[e2e]") {
  const Workplace place;
  CHECK(call(with_calls(place, place.run_command("orders", "ok"))).exit_code == 3);
  const auto of_run = ask(place, {"compare", "--orders"});
  CHECK(of_run.exit_code == 2);
  CHECK_THAT(of_run.err, Contains("reprobench atlas RUN --orders"));
  CHECK(ask(place, {"compare", "a.safetensors", "b.safetensors", "--orders"}).exit_code == 2);
  CHECK(compare_orders(place, "ok", {"--explain"}).exit_code == 2);
  CHECK(ask(place, {"compare", "--calls", place / "mine.yaml"}).exit_code == 2);
}

TEST_CASE("a run that asked for no orders says which matrix does", "[e2e]") {
  const Workplace place;
  call(with_calls(place, place.run_command("operators", "ok")));
  CHECK_THAT(ask(place, {"atlas", "--orders"}).out,
             Contains("asked for no orders of summation; see matrix/orders.yaml"));
}

TEST_CASE("an operator that a release lacks is absent, and fails nothing", "[e2e]") {
  const Workplace place;
  const auto ran = call(with_calls(place, place.run_command("operators", "absent_call")));
  INFO(ran.err << ran.out);
  CHECK(ran.exit_code == 3);
  CHECK_THAT(ask(place, {"atlas"}).out, Contains("absent  rms_norm(f32[4, 8], [8], f32[8])"));
  CHECK(ask(place, {"compare"}).exit_code == 0);
}

// A run of the list by the whole matrix into a folder of that name; the candidate's behaviour.
std::string stored(const Workplace& place, const std::string& name, const std::string& candidate,
                   const std::string& suites = "operators") {
  auto command = with_calls(place, place.run_command(suites, candidate));
  command.insert(command.end(), {"--out", place / name});
  const auto ran = call(command);
  INFO(ran.err << ran.out);
  CHECK(ran.exit_code == (suites == "operators" ? 3 : 0));  // checks of calls are recorded: this matrix arms none
  return place / name;
}

TEST_CASE("operator calls of two runs: equal, differing from a shape on, never a run against itself", "[e2e]") {
  const Workplace place;
  const std::string before = stored(place, "before", "ok");
  const auto same = ask(place, {"compare", stored(place, "same", "ok"), before});
  INFO(same.err << same.out);
  CHECK(same.exit_code == 0);
  CHECK_THAT(same.out, Contains("operator calls: 6 compared in 2 columns: 6 equal (exit 0)"));

  const std::string after = stored(place, "after", "ok_other_bits");
  const auto differing = ask(place, {"compare", after, before});
  INFO(differing.err << differing.out);
  CHECK(differing.exit_code == 1);
  CHECK_THAT(differing.out, Contains(":torch-2.9.0-cu128: 2 equal, 1 rounding\n") &&
                                Contains(":torch-2.8.0-cu128: 3 equal\n") && Contains("rounding at [3, 8]"));
  const auto changed = ask(place, {"compare", after, before, "--only-changed"});
  CHECK_THAT(changed.out, Contains("1 rounding") && !Contains(": 3 equal\n"));
  CHECK(ask(place, {"compare", after, before, "--fail-on", "defect"}).exit_code == 0);
  const auto document = nlohmann::json::parse(ask(place, {"compare", after, before, "--json"}).out);
  CHECK(document.at("schema") == "reprobench/atlas");
  CHECK(document.at("columns").size() == 4);
  CHECK(document.at("columns").at(0).at("against") == 2);

  const auto itself = ask(place, {"compare", before, before});
  CHECK(itself.exit_code == 3);
  CHECK_THAT(itself.out, Contains("one and the same process") && Contains("0 compared in 0 columns"));
  CHECK(ask(place, {"compare", before + ":operators-torch-2.9.0-cu128-cpu", after}).exit_code == 1);
  CHECK(ask(place, {"compare", before + ":operators-torch-2.8.0-cu128-cpu", after}).exit_code == 0);
}

TEST_CASE("two runs whose lists or operators are not the same are not equal, and a crash is named", "[e2e]") {
  const Workplace place;
  const std::string before = stored(place, "before", "ok");
  const auto absent = ask(place, {"compare", stored(place, "absent", "absent_call"), before});
  CHECK(absent.exit_code == 3);
  CHECK_THAT(absent.out, Contains("2 equal, 1 absent"));

  auto command = place.run_command("operators", "ok");
  std::ofstream(place / "one.yaml") << "schema: 1\nname: one\ncalls:\n  - {call: 'exp(f32[2, 8])'}\n";
  command.insert(command.end(), {"--calls", place / "one.yaml", "--out", place / "one"});
  call(command);
  const auto shorter = ask(place, {"compare", place / "one", before});
  INFO(shorter.err << shorter.out);
  CHECK(shorter.exit_code == 3);
  CHECK_THAT(shorter.out, Contains("1 equal, 2 unknown") &&
                              Contains("list: `1 calls, 0 of them here alone` against `3 calls, 2 of"));

  auto crashed = with_calls(place, place.run_command("operators", "crash=11"));
  crashed.insert(crashed.end(), {"--out", place / "crashed"});
  call(crashed);
  const auto broken = ask(place, {"compare", place / "crashed", before});
  CHECK(broken.exit_code == 3);
  CHECK_THAT(broken.out, Contains("torch-2.9.0-cu128 has no records: crash"));
}

TEST_CASE("a run that trains and makes operator calls is answered for both, and ends with the worse", "[e2e]") {
  const Workplace place;
  const std::string before = stored(place, "before", "ok", "smoke, operators");
  const auto alone = ask(place, {"compare", before});
  INFO(alone.err << alone.out);
  CHECK(alone.exit_code == 0);
  CHECK_THAT(alone.out, Contains("smoke-mlp-torch-2.9.0-cu128-cpu against smoke-mlp-torch-2.8.0-cu128-cpu") &&
                            Contains("torch-2.9.0-cu128 against torch-2.8.0-cu128: 3 equal") &&
                            Contains("2 equal; operator calls: 3 compared in 1 column: 3 equal (exit 0)"));
  const auto document = nlohmann::json::parse(ask(place, {"compare", before, "--json"}).out);
  CHECK(document.at("comparisons").size() == 2);
  CHECK(document.at("operators").at("rows").size() == 3);

  // The trainings repeat themselves, the calls do not; beside a run of calls alone the trainings have no partner.
  const std::string calls = stored(place, "calls", "ok_other_bits");
  const auto both = ask(place, {"compare", before, calls});
  INFO(both.err << both.out);
  CHECK(both.exit_code == 1);
  CHECK_THAT(both.out, Contains("4 without a partner") && Contains("rounding at [3, 8]"));
  CHECK(ask(place, {"compare", calls, before, "--fail-on", "defect"}).exit_code == 3);
  CHECK(ask(place, {"compare", before + ":operators-torch-2.9.0-cu128-cpu"}).exit_code == 0);
  CHECK(ask(place, {"compare", before + ":operators-torch-2.9.0-cu128-cpu", calls}).exit_code == 1);
  CHECK(ask(place, {"compare", before + ":smoke-mlp-torch-2.9.0-cu128-cpu", calls}).exit_code == 2);
}

TEST_CASE("calls for a matrix that makes none, and an atlas of such a run, are refused", "[e2e]") {
  const Workplace place;
  const auto ran = call(with_calls(place, place.run_command("smoke", "ok")));
  CHECK(ran.exit_code == 2);
  CHECK_THAT(ran.err, Contains("no suite of e2e runs operator calls"));
  CHECK(call(place.run_command("device_stress", "ok")).exit_code == 0);
  const auto atlas = ask(place, {"atlas"});
  CHECK(atlas.exit_code == 2);
  CHECK_THAT(atlas.err, Contains("made no operator calls"));
}

TEST_CASE("calls on tensors of a file are planned and run with what it holds, or refused where they name it", "[e2e]") {
  const Workplace place;
  const WeightsScene files;
  files.write_tensors("t.safetensors", {{"x", {2, 8}, std::vector<float>(16, 1)}});
  const auto with = [&](const std::string& text) {
    std::vector<std::string> command = place.run_command("operators", "ok");
    const std::string list = "schema: 1\nname: mine\ntensors: t.safetensors\ncalls:\n  - call: ";
    command.insert(command.end(), {"--calls", files.write("mine.yaml", list + text + "\n")});
    return call(command);
  };
  const auto refused = with("exp(f32[2, 8] from 'y')");
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, Contains("mine.yaml:5:11: error[RB044]: t.safetensors: there is no tensor `y`"));
  CHECK_FALSE(std::filesystem::exists(place / "store/runs"));
  const auto ran = with("exp(f32[2, 8] from 'x')");
  INFO(ran.err << ran.out);
  CHECK(ran.exit_code == 3);  // its checks are recorded: this matrix arms none
  const std::filesystem::path run = place.run_folder();
  const auto plan = nlohmann::json::parse(read_file(run / "plan.json"));
  const std::string sha256 = sha256_of_text(files.text("t.safetensors"));
  for (const auto& cell : plan.at("cells")) {
    CHECK(cell.at("request").at("workload").at("tensors_sha256") == sha256);
    CHECK(cell.at("tensors_file") == files.path("t.safetensors"));
  }
  CHECK_THAT(read_file(run / "verdict.json"), Contains("tensors: ") && Contains(sha256));
}

}  // namespace
}  // namespace reprobench
