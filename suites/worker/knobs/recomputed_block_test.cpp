// Gradient checkpointing on every model that is a stack of blocks: the same trace as without, and less memory.
#include "suites/worker/knobs/recomputed_block.hpp"

#include <algorithm>
#include <fstream>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/matmul.h>
#include <malloc.h>

#include "ci/catch.hpp"
#include "matrix/contract/knob.hpp"
#include "matrix/contract/trace.hpp"
#include "suites/worker/ranks/shared_training.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/temporary_folder.hpp"
#include "suites/worker/train_loop.hpp"
#include "suites/worker/wrapped_model_fixture.hpp"

namespace reprobench {
namespace {

const std::filesystem::path kDataFolder = std::filesystem::path(REPROBENCH_SOURCE_ROOT) / "models" / "data";

struct StackedPreset {
  const char* model;
  const char* preset;
};
constexpr StackedPreset kStacked[] = {{"gpt2", "tiny"}, {"llama", "tiny"},  {"llama", "tiny-lora"},
                                      {"clip", "tiny"}, {"fusion", "tiny"}, {"vlm", "tiny"}};

CellRequest stacked_request(const StackedPreset& stacked, const char* checkpointing) {
  CellRequest request;
  request.cell_id = "cell";
  request.nonce = "0123456789abcdef";
  request.workload = {stacked.model, stacked.preset, 4, 4};
  request.device = "cpu";
  request.knobs = with_defaults({});
  request.knobs["gradient_checkpointing"] = checkpointing;
  request.trace = TraceLevel::tensor;
  return request;
}

struct StackedRun {
  CellResult result;
  std::vector<nlohmann::json> tensors;    // a record a step and the final one
  std::vector<nlohmann::json> operators;  // of a replay
};

StackedRun run_stacked(const CellRequest& request, const WorkloadTables& tables = {}) {
  const TemporaryFolder folder;
  StackedRun ran;
  run_training(request, folder.path(), kDataFolder, ran.result, Telemetry::on, &open_device, tables);
  std::ifstream trace(folder.path() / "trace.jsonl");
  std::string line;
  for (std::int64_t seq = 0; std::getline(trace, line); ++seq) {
    const auto body = parse_trace_line(line, seq);
    REQUIRE(body.index() == 0);
    const std::string kind = std::get<0>(body).at("kind");
    if (kind == "tensors" || kind == "final") ran.tensors.push_back(std::get<0>(body));
  }
  std::ifstream operators(folder.path() / kOperatorsFile);
  while (std::getline(operators, line)) ran.operators.push_back(nlohmann::json::parse(line));
  return ran;
}

// Calls of one step by their numbers; they end in another order than they begin in.
std::vector<nlohmann::json> by_number(const std::vector<nlohmann::json>& operators) {
  std::vector<nlohmann::json> calls(operators.size());
  for (const nlohmann::json& call : operators) calls.at(call.at("index")) = call;
  return calls;
}

// Call `i` with, of each input, whether it was made in this step rather than by which call: what is saved in the
// forward pass may be a view that a call showed, and what is there again is known by its memory.
nlohmann::json without_viewers(const std::vector<nlohmann::json>& calls, std::size_t i) {
  nlohmann::json call = calls[i];
  for (nlohmann::json& input : call.at("inputs")) {
    nlohmann::json maker = input.value("made_by", -1);
    while (maker >= 0) {
      const nlohmann::json& made = calls.at(maker);
      if (made.at("inputs").empty() || made.at("outputs").at(0).at("digest") != "") break;
      maker = made.at("inputs").at(0).value("made_by", -1);
    }
    input["made_by"] = maker >= 0;
  }
  for (const char* of_the_line : {"seq", "crc32c"}) call.erase(of_the_line);
  return call;
}

TEST_CASE("every tensor of a step is the same with blocks computed again as without", "[worker][checkpointing]") {
  for (const StackedPreset& stacked : kStacked) {
    for (const char* precision : {"fp32", "bf16"}) {
      INFO(stacked.model << "/" << stacked.preset << " in " << precision);
      CellRequest request = stacked_request(stacked, "off");
      request.knobs["precision"] = precision;
      const StackedRun without = run_stacked(request);
      request.knobs["gradient_checkpointing"] = "on";
      const StackedRun with = run_stacked(request);
      CHECK(with.result.knobs_resolved.at("gradient_checkpointing") == "on");
      CHECK(with.result.workload_digest == without.result.workload_digest);
      REQUIRE(without.tensors.size() == 5);
      CHECK(with.tensors == without.tensors);
      CHECK(with.result.chain == without.result.chain);
    }
  }
}

TEST_CASE("a trace of operators shows a block once, with the same nodes behind it", "[worker][checkpointing]") {
  for (const StackedPreset& stacked : kStacked) {
    INFO(stacked.model << "/" << stacked.preset);
    CellRequest request = stacked_request(stacked, "off");
    request.replay = Replay{};
    request.replay->first_step = 1;
    request.replay->last_step = 1;
    request.replay->operators_from = 1;
    request.replay->operators_to = 1;
    const StackedRun without = run_stacked(request);
    request.knobs["gradient_checkpointing"] = "on";
    const StackedRun with = run_stacked(request);
    REQUIRE(without.operators.size() > 100);
    REQUIRE(with.operators.size() == without.operators.size());
    const auto calls = by_number(without.operators);
    const auto calls_with = by_number(with.operators);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      REQUIRE(without_viewers(calls_with, i) == without_viewers(calls, i));
    }
  }
}

TEST_CASE("a model that is no stack of blocks refuses gradient checkpointing", "[worker][checkpointing]") {
  for (const char* model : {"mlp", "resnet"}) {
    try {
      run_stacked(stacked_request({model, std::string_view(model) == "mlp" ? "base" : "tiny"}, "on"));
      FAIL("it ran");
    } catch (const RunFailure& failure) {
      CHECK(failure.cause() == "unsupported");
      CHECK(std::string(failure.what()) ==
            "`gradient_checkpointing`: " + std::string(model) + " is no stack of blocks that could be computed again");
    }
  }
}

std::size_t bytes_in_use() {
  const struct mallinfo2 heap = mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

// How much memory a forward pass leaves behind for the backward one.
class Weighed final : public WrappedModel {
 public:
  using WrappedModel::WrappedModel;

  Outputs forward(const Batch& batch, StepContext& step) const override {
    const std::size_t before = bytes_in_use();
    Outputs outputs = WrappedModel::forward(batch, step);
    left_bytes = bytes_in_use() - before;
    return outputs;
  }

  mutable std::size_t left_bytes = 0;
};

TEST_CASE("a forward pass leaves less memory behind where blocks are computed again", "[worker][checkpointing]") {
  for (const Model* model : models()) {
    for (const StackedPreset& stacked : kStacked) {
      if (model->name() != stacked.model) continue;
      INFO(stacked.model << "/" << stacked.preset);
      const auto left_by = [&](const char* checkpointing) {
        CellRequest request = stacked_request(stacked, checkpointing);
        request.trace = TraceLevel::step;
        request.workload.batch_size = 16;
        const Weighed weighed(*model);
        const Model* const all[] = {&weighed};
        run_stacked(request, {all, data_sets()});
        return weighed.left_bytes;
      };
      const std::size_t without = left_by("off");
      const std::size_t with = left_by("on");
      INFO(with << " of " << without << " bytes");
      CHECK(without > 1'000'000);
      CHECK(with < without / 4);
    }
  }
}

TEST_CASE("micro-batches, a common norm and a resumed run keep their bits", "[worker][checkpointing][ranks]") {
  CellRequest request = stacked_request({"llama", "tiny-lora"}, "off");
  request.knobs["accumulate"] = "2";
  request.knobs["max_grad_norm"] = "0.5";
  const std::string chain = run_stacked(request).result.chain;
  request.knobs["gradient_checkpointing"] = "on";
  CHECK(run_stacked(request).result.chain == chain);
  const TemporaryFolder folder;
  request.checkpoint = Checkpointing{folder.path().string()};
  request.checkpoint->stop_after = 2;
  CHECK(run_stacked(request).result.steps_completed == 2);
  request.checkpoint->stop_after = 0;
  request.checkpoint->resume = true;
  CHECK(run_stacked(request).result.chain == chain);
}

TEST_CASE("ranks that share out states, gradients and parameters keep their bits", "[worker][checkpointing][ranks]") {
  for (const SharedTraining& training :
       {SharedTraining{"llama", "tiny-lora", 4}, SharedTraining{"fusion", "tiny", 4}}) {
    const RankTrace alone = train_on(1, 2, training).front();
    for (const char* stage : {"0", "1", "2", "3"}) {
      INFO(training.model << ", stage " << stage);
      const KnobValues knobs{{"zero_stage", stage}, {"gradient_checkpointing", "on"}};
      CHECK(differences(train_on(2, 1, training, {}, knobs), alone).empty());
    }
  }
}

at::Tensor drawn(std::vector<std::int64_t> shape, std::int64_t first) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return at::arange(first, first + count, at::kFloat).mul(0.1F).sin().view(shape);
}

TEST_CASE("adapters of a block behind frozen parameters get their gradients", "[worker][checkpointing]") {
  const at::Tensor x = drawn({4, 8}, 0);       // needs no gradient
  const at::Tensor frozen = drawn({8, 8}, 7);  // nor does this
  const auto gradients = [&](bool again) {
    at::Tensor a = drawn({8, 2}, 3).set_requires_grad(true);
    at::Tensor b = drawn({2, 8}, 5).set_requires_grad(true);
    const BlockFunction compute = [&](const std::vector<at::Tensor>& in) {
      return at::gelu(at::matmul(in[0], frozen) + at::matmul(at::matmul(in[0], a), b));
    };
    const at::Tensor y = again ? compute_and_forget({x}, compute, compute, nullptr) : compute({x});
    REQUIRE(y.requires_grad());
    y.mul(y).sum().backward();
    return std::vector<at::Tensor>{a.grad(), b.grad()};
  };
  const auto plain = gradients(false);
  const auto recomputed = gradients(true);
  for (std::size_t i = 0; i < plain.size(); ++i) CHECK(recomputed.at(i).equal(plain[i]));
  const at::Tensor nothing = compute_and_forget(
      {x}, [&](const auto& in) { return at::matmul(in[0], frozen); },
      [](const auto&) -> at::Tensor { throw std::logic_error("computed again for nobody"); }, nullptr);
  CHECK_FALSE(nothing.requires_grad());
}

TEST_CASE("a block that does something else the second time is found out", "[worker][checkpointing]") {
  const at::Tensor x = drawn({4, 8}, 0).set_requires_grad(true);
  const auto differentiate = [&](const BlockFunction& again) {
    const BlockFunction compute = [](const std::vector<at::Tensor>& in) { return at::gelu(in[0]) * in[0]; };
    compute_and_forget({x}, compute, again, nullptr).sum().backward();
  };
  differentiate([](const auto& in) { return at::gelu(in[0]) * in[0]; });
  CHECK_THROWS_WITH(differentiate([](const auto& in) { return at::gelu(in[0]); }),
                    "a block that was computed again saved other tensors (1) than in the forward pass (3)");
  CHECK_THROWS_WITH(
      differentiate([](const auto& in) { return at::gelu(in[0].narrow(0, 0, 2)) * in[0].narrow(0, 0, 2); }),
      "a block that was computed again saved other tensors (3) than in the forward pass (3)");
}

}  // namespace
}  // namespace reprobench
