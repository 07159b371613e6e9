#include <algorithm>
#include <fstream>
#include <map>

#include <ATen/core/Tensor.h>

#include "ci/catch.hpp"
#include "matrix/contract/operator_record.hpp"
#include "matrix/contract/trace.hpp"
#include "models/model_spec.hpp"
#include "suites/worker/record/tensor_file.hpp"
#include "suites/worker/record/tensor_record.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/temporary_folder.hpp"
#include "suites/worker/train_loop.hpp"

namespace reprobench {
namespace {

const std::filesystem::path kReplayData = std::filesystem::path(REPROBENCH_SOURCE_ROOT) / "models" / "data";

CellRequest mlp_request(std::int64_t steps) {
  CellRequest request;
  request.cell_id = "cell";
  request.nonce = "0123456789abcdef";
  request.workload = {"mlp", "small", steps, 32};
  request.device = "cpu";
  request.knobs = with_defaults({});
  request.trace = TraceLevel::tensor;
  return request;
}

Replay steps_of(std::int64_t first, std::int64_t last) {
  Replay replay;
  replay.first_step = first;
  replay.last_step = last;
  return replay;
}

CellResult train(const CellRequest& request, const std::filesystem::path& folder) {
  CellResult result;
  run_training(request, folder, kReplayData, result);
  return result;
}

std::vector<OperatorRecord> calls_in(const std::filesystem::path& folder) {
  std::vector<OperatorRecord> calls;
  std::ifstream file(folder / kOperatorsFile);
  std::string line;
  while (std::getline(file, line)) {
    const auto body = parse_trace_line(line, static_cast<std::int64_t>(calls.size()));
    REQUIRE(body.index() == 0);
    calls.push_back(operator_record_from_json(std::get<0>(body)));
  }
  return calls;
}

TEST_CASE("a replay from a stored state goes on with the bits of the run", "[worker][replay]") {
  const TemporaryFolder folder;
  CellRequest request = mlp_request(8);
  const std::string chain = train(request, folder.path()).chain;
  request.replay = steps_of(1, 5);
  request.replay->snapshots_after = {0, 5};
  train(request, folder.path());
  request.replay = steps_of(6, 8);
  request.replay->from_state = folder.path() / snapshot_file(5);
  CHECK(train(request, folder.path()).chain == chain);
  request.replay = steps_of(1, 8);
  request.replay->from_state = folder.path() / snapshot_file(0);
  CHECK(train(request, folder.path()).chain == chain);
}

TEST_CASE("a state of another step, seed or model, or a cut one, is refused", "[worker][replay]") {
  const TemporaryFolder folder;
  CellRequest request = mlp_request(8);
  request.replay = steps_of(1, 2);
  request.replay->snapshots_after = {2};
  train(request, folder.path());
  const auto state = folder.path() / snapshot_file(2);
  request.replay = steps_of(3, 4);
  request.replay->from_state = state;
  CHECK_NOTHROW(train(request, folder.path()));
  SECTION("step") { request.replay->first_step = 4; }
  SECTION("seed") { request.knobs["seed"] = "2"; }
  SECTION("model") { request.workload.preset = "base"; }
  SECTION("cut") { std::filesystem::resize_file(state, std::filesystem::file_size(state) - 1); }
  SECTION("missing") { std::filesystem::remove(state); }
  CHECK_THROWS_AS(train(request, folder.path()), RunFailure);
}

TEST_CASE("operator calls repeat, cover all passes and name the module they work for", "[worker][replay]") {
  const TemporaryFolder folder;
  CellRequest request = mlp_request(3);
  request.replay = steps_of(1, 2);
  request.replay->operators_from = request.replay->operators_to = 2;
  train(request, folder.path());
  const auto calls = calls_in(folder.path());
  std::map<std::string, int> in_pass;
  bool backward_of_fc1 = false;
  for (const OperatorRecord& call : calls) {
    CHECK(call.step == 2);
    ++in_pass[call.pass];
    if (call.pass == "backward" && call.module == "fc1" && call.name == "aten::mm") backward_of_fc1 = true;
  }
  CHECK(in_pass["forward"] > 5);
  CHECK(in_pass["backward"] > 5);
  CHECK(in_pass["optimizer"] > 5);
  CHECK(backward_of_fc1);
  train(request, folder.path());
  const auto again = calls_in(folder.path());
  REQUIRE(again.size() == calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    CHECK(again[i].name == calls[i].name);
    // Memory that is taken over unwritten may hold anything; where inputs are equal outputs must be.
    // One expression: LibTorch's logging offers to print any vector, and these elements have no text.
    if (again[i].inputs == calls[i].inputs) CHECK((again[i].outputs == calls[i].outputs));
  }
}

TEST_CASE("calls of each micro-batch name the modules that they work for", "[worker][replay]") {
  const TemporaryFolder folder;
  CellRequest request = mlp_request(2);
  request.knobs["accumulate"] = "2";
  const std::string chain = train(request, folder.path()).chain;
  request.replay = steps_of(1, 2);
  request.replay->operators_from = request.replay->operators_to = 2;
  CHECK(train(request, folder.path()).chain == chain);
  std::map<std::string, int> products;
  int of_no_module = 0;
  for (const OperatorRecord& call : calls_in(folder.path())) {
    if (call.name == "aten::addmm" || (call.pass == "backward" && call.name == "aten::mm")) {
      ++products[call.pass + " of " + call.module];
    }
    of_no_module += call.pass == "backward" && call.module.empty() && call.name == "aten::add" ? 1 : 0;
  }
  std::string text;
  for (const auto& [where, count] : products) text += where + ": " + std::to_string(count) + "; ";
  CHECK(text == "backward of fc1: 2; backward of fc2: 4; forward of fc1: 2; forward of fc2: 2; ");
  CHECK(of_no_module > 0);  // sums over micro-batches
}

// The calls of step 2 of an mlp training that take equal values with a fault and without, and make others of them:
// "forward aten::addmm".
std::vector<std::string> made_different(const std::string& fault) {
  const TemporaryFolder folder;
  CellRequest request = mlp_request(3);
  request.replay = steps_of(1, 2);
  request.replay->operators_from = request.replay->operators_to = 2;
  train(request, folder.path());
  const auto clean = calls_in(folder.path());
  request.inject = Injection{fault, 2, "", 0};
  train(request, folder.path());
  const auto planted = calls_in(folder.path());
  REQUIRE(planted.size() == clean.size());
  std::vector<std::string> calls;
  for (std::size_t i = 0; i < clean.size(); ++i) {
    if (clean[i].inputs == planted[i].inputs && clean[i].outputs != planted[i].outputs) {
      calls.push_back(clean[i].pass + " " + clean[i].name);
    }
  }
  REQUIRE_FALSE(calls.empty());
  return calls;
}

TEST_CASE("a sum taken in another order shows in exactly the product it was planted in", "[worker][replay]") {
  CHECK(made_different("reduction_order").front() == "forward aten::addmm");
}

// What the answer "rounding" for the first difference would hide: the moments of Adam take equal values on both sides.
TEST_CASE("of two defects in one step the second one takes equal inputs, far behind the first", "[worker][replay]") {
  const auto calls = made_different("order_and_decay");
  CHECK(calls.front() == "forward aten::addmm");
  CHECK(std::count(calls.begin(), calls.end(), "optimizer aten::mul_") == 4);
}

TEST_CASE("a captured operator comes with its fp64 outputs and its amplification", "[worker][replay]") {
  const TemporaryFolder folder;
  CellRequest request = mlp_request(3);
  request.replay = steps_of(1, 1);
  request.replay->operators_from = request.replay->operators_to = 1;
  train(request, folder.path());
  std::int64_t index = -1;
  for (const OperatorRecord& call : calls_in(folder.path())) {
    if (call.name == "aten::addmm" && index < 0) index = call.index;
  }
  REQUIRE(index >= 0);
  request.replay->capture = OperatorSite{1, index};
  train(request, folder.path());
  const TensorFile captured = read_tensors(folder.path() / kOperatorTensorsFile);
  const at::Tensor& output = captured.tensors.at("output.0");
  const at::Tensor& exact = captured.tensors.at("fp64.0");
  CHECK(exact.scalar_type() == at::kDouble);
  const double distance = output.to(at::kDouble).sub(exact).norm().item<double>() / exact.norm().item<double>();
  CHECK(distance > 0);
  CHECK(distance < 1e-5);
  CHECK(std::stod(captured.metadata.at("amplification")) > 0);
  request.replay->capture = OperatorSite{1, 100'000};
  CHECK_THROWS_AS(train(request, folder.path()), RunFailure);
}

TEST_CASE("several calls of a step are captured in one replay, each in a file of its own", "[worker][replay]") {
  const TemporaryFolder folder;
  CellRequest request = mlp_request(3);
  request.replay = steps_of(1, 2);
  request.replay->operators_from = request.replay->operators_to = 2;
  train(request, folder.path());
  std::vector<OperatorRecord> wanted;
  for (const OperatorRecord& call : calls_in(folder.path())) {
    if (call.name == "aten::addmm" || call.name == "aten::mul_") wanted.push_back(call);
  }
  REQUIRE(wanted.size() > 3);
  request.replay->capture = OperatorSite{2, wanted[1].index};
  request.replay->further_captures = {{2, wanted.back().index}, {2, wanted[0].index}};
  train(request, folder.path());
  const OperatorRecord* const asked[] = {&wanted[1], &wanted.back(), &wanted[0]};
  for (std::size_t i = 0; i < 3; ++i) {
    const TensorFile captured = read_tensors(folder.path() / operator_tensors_file(i));
    CHECK(captured.metadata.at("operator") == asked[i]->name);
    CHECK(to_hex(digest_of(captured.tensors.at("output.0"))) == asked[i]->outputs[0].digest);
    CHECK(captured.tensors.count("fp64.0") == 1);
  }
  request.replay->further_captures = {{2, wanted[0].index}, {2, 100'000}};
  CHECK_THROWS_AS(train(request, folder.path()), RunFailure);
}

TEST_CASE("with a held state every step leaves gradients of another batch and the state as it was",
          "[worker][replay]") {
  const TemporaryFolder folder;
  CellRequest request = mlp_request(6);
  request.replay = steps_of(1, 3);
  request.replay->hold_state = true;
  request.replay->snapshots_after = {0, 3};
  train(request, folder.path());
  const TensorFile before = read_tensors(folder.path() / snapshot_file(0));
  const TensorFile after = read_tensors(folder.path() / snapshot_file(3));
  for (const auto& [name, tensor] : before.tensors) CHECK(tensor.equal(after.tensors.at(name)));
  const TensorFile first = read_tensors(folder.path() / gradients_file(1));
  const TensorFile second = read_tensors(folder.path() / gradients_file(2));
  CHECK(first.tensors.count("update/fc1.weight") == 1);
  CHECK_FALSE(first.tensors.at("gradient/fc1.weight").equal(second.tensors.at("gradient/fc1.weight")));
}

// A clean run of three steps and one with a product of step 2 summed in another order, the operators of that step on
// record.
struct GivenScene {
  TemporaryFolder clean_folder;
  TemporaryFolder faulty_folder;
  CellRequest clean = mlp_request(3);
  CellRequest faulty = mlp_request(3);
  std::vector<OperatorRecord> clean_calls;

  GivenScene() {
    clean.replay = steps_of(1, 2);
    clean.replay->operators_from = clean.replay->operators_to = 2;
    clean.replay->snapshots_after = {2};
    faulty.replay = clean.replay;
    faulty.inject = Injection{"reduction_order", 2, "", 0};
    train(clean, clean_folder.path());
    clean_calls = calls_in(clean_folder.path());
    clean.replay->keep_values = KeptValues{2, {}};
    faulty.replay->substituted_inputs = SubstitutedInputs{clean_folder.path() / kValuesFile, 2, {}};
    for (const OperatorRecord& call : clean_calls) {
      SubstitutedOutputs given{call.index, {}};
      for (const OperatorTensor& output : call.outputs) {
        given.digests.push_back(output.dtype == "float32" ? output.digest : "");
        if (given.digests.back().empty()) continue;
        clean.replay->keep_values->digests.push_back(output.digest);
      }
      faulty.replay->substituted_inputs->calls.push_back(given);
    }
  }

  // Of the faulty run: calls that take other values than the clean run's, and calls that make others.
  std::pair<int, int> apart() {
    train(faulty, faulty_folder.path());
    const auto calls = calls_in(faulty_folder.path());
    REQUIRE(calls.size() == clean_calls.size());
    std::pair<int, int> counted;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      counted.first += calls[i].inputs != clean_calls[i].inputs ? 1 : 0;
      counted.second += calls[i].outputs != clean_calls[i].outputs ? 1 : 0;
    }
    return counted;
  }
};

TEST_CASE("calls that are given what another run's made take what that run's took, and it goes on as that run did",
          "[worker][replay]") {
  GivenScene scene;
  train(scene.clean, scene.clean_folder.path());
  const auto given = scene.apart();
  CHECK(given.first == 0);
  CHECK(given.second == 1);  // the product, as it was made
  const TensorFile theirs = read_tensors(scene.clean_folder.path() / snapshot_file(2));
  const TensorFile ours = read_tensors(scene.faulty_folder.path() / snapshot_file(2));
  for (const auto& [name, tensor] : theirs.tensors) CHECK(tensor.equal(ours.tensors.at(name)));
  SECTION("without them everything behind differs") {
    scene.faulty.replay->substituted_inputs.reset();
    const auto plain = scene.apart();
    CHECK(plain.first > 10);
    CHECK(plain.second > 10);
  }
  SECTION("in another step nothing is given") {
    scene.faulty.replay->operators_from = 1;
    scene.faulty.replay->substituted_inputs->step = 1;
    train(scene.faulty, scene.faulty_folder.path());
    const TensorFile apart = read_tensors(scene.faulty_folder.path() / snapshot_file(2));
    CHECK_FALSE(apart.tensors.at("fc1.weight").equal(theirs.tensors.at("fc1.weight")));
  }
}

TEST_CASE("only the values asked for are kept, each under its digest", "[worker][replay]") {
  GivenScene scene;
  auto& digests = scene.clean.replay->keep_values->digests;
  const std::string wanted = digests.front();
  digests = {wanted, std::string(32, '0')};
  train(scene.clean, scene.clean_folder.path());
  const TensorFile kept = read_tensors(scene.clean_folder.path() / kValuesFile);
  REQUIRE(kept.tensors.size() == 1);
  CHECK(to_hex(digest_of(kept.tensors.at(wanted))) == wanted);
  CHECK(scene.apart().first > 10);  // one value alone brings nobody back
}

TEST_CASE("substituted inputs that are missing, cut or another's are refused", "[worker][replay]") {
  GivenScene scene;
  train(scene.clean, scene.clean_folder.path());
  const auto file = scene.clean_folder.path() / kValuesFile;
  CHECK_NOTHROW(scene.apart());
  SECTION("missing") { std::filesystem::remove(file); }
  SECTION("cut") { std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1); }
  SECTION("under another's digest") {
    NamedTensors tensors;
    for (const auto& [digest, value] : read_tensors(file).tensors) tensors.emplace_back(digest, value);
    std::swap(tensors.front().second, tensors.back().second);
    write_tensors(file, tensors, {});
  }
  CHECK_THROWS_AS(scene.apart(), RunFailure);
}

TEST_CASE("every kind of fault changes the run, and without it the run is the same again", "[worker][replay]") {
  const TemporaryFolder folder;
  CellRequest request = mlp_request(4);
  const std::string clean = train(request, folder.path()).chain;
  for (const char* kind :
       {"weight_ulp", "weight_sign", "moment_ulp", "adam_epsilon", "stale_batch", "wrong_batch", "sample_repeated",
        "sample_dropped", "gradient_ulp", "skip_update", "updates_stop", "update_halved", "weight_stuck", "batch_stuck",
        "targets_shifted", "tf32", "accumulate_16_bit"}) {
    INFO(kind);
    request.inject = Injection{kind, 2, "fc1.bias", 3};
    CHECK(train(request, folder.path()).chain != clean);
  }
  request.inject = Injection{"weight_nan", 2, "fc1.bias", 3};
  CHECK_THROWS_AS(train(request, folder.path()), RunFailure);
  request.inject.reset();
  CHECK(train(request, folder.path()).chain == clean);
}

}  // namespace
}  // namespace reprobench
