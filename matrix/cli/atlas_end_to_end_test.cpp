// Runs of operator calls by the whole coordinator, on the fake worker.
#include "ci/catch.hpp"
#include "matrix/cli/workplace_fixture.hpp"
#include "matrix/contract/sha256.hpp"
#include "matrix/spec/weights_fixture.hpp"

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
}

TEST_CASE("an operator that a release lacks is absent, and fails nothing", "[e2e]") {
  const Workplace place;
  const auto ran = call(with_calls(place, place.run_command("operators", "absent_call")));
  INFO(ran.err << ran.out);
  CHECK(ran.exit_code == 3);
  CHECK_THAT(ask(place, {"atlas"}).out, Contains("absent  rms_norm(f32[4, 8], [8], f32[8])"));
  CHECK(ask(place, {"compare"}).exit_code == 0);
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
