#include "matrix/lint/memory_estimate.hpp"

#include "matrix/lint/lint_fixture.hpp"

namespace reprobench {
namespace {

MemoryEstimate estimate(const std::string& text, const LintSituation& situation) {
  const DeepSpeedConfig config(read_json(text, "ds.json"));
  return estimate_memory(config, settings_of(config), situation);
}

LintSituation of_model(std::int64_t parameters, std::int64_t ranks, std::int64_t local) {
  LintSituation situation = known_situation();
  situation.parameters = parameters;
  situation.world_size = SourcedNumber{ranks, "--world-size"};
  situation.gpus_per_host = SourcedNumber{local, "--gpus-per-host"};
  situation.largest_layer.reset();
  return situation;
}

std::string zero(const std::string& inner, const char* precision = "bf16") {
  return fmt::format(R"({{"{}": {{"enabled": true}}, "optimizer": {{"type": "Adam"}}, "zero_optimization": {{{}}}}})",
                     precision, inner);
}

// Figure 1 of the ZeRO paper: 7.5e9 parameters on 64 GPUs take 120, 31.4, 16.6 and 1.9 GB.
TEST_CASE("the states of a GPU are those of the ZeRO paper's first figure", "[lint]") {
  const LintSituation situation = of_model(7'500'000'000, 64, 8);
  const auto least = [&](int stage) {
    return estimate(zero(fmt::format(R"("stage": {})", stage)), situation).gpu.least_bytes;
  };
  CHECK(least(0) == 120'000'000'000);
  CHECK(least(1) == 31'406'250'000);
  CHECK(least(2) == 16'640'625'000);
  CHECK(least(3) == 1'875'000'000);
}

// The examples of DeepSpeed's page "Memory Requirements": 2851e6 parameters, 32e6 of the largest layer, 8 GPUs.
TEST_CASE("DeepSpeed's own estimates are those its page prints", "[lint]") {
  LintSituation situation = of_model(2'851'000'000, 8, 8);
  situation.largest_layer = 32'000'000;
  struct Row {
    const char* zero;
    const char* host;
    const char* gpu;
  };
  const Row rows[] = {
      {R"("stage": 2, "offload_optimizer": {"device": "cpu"})", "127.45 GiB", "5.31 GiB"},
      {R"("stage": 2)", "127.45 GiB", "15.93 GiB"},
      {R"("stage": 3, "offload_optimizer": {"device": "cpu"}, "offload_param": {"device": "cpu"})", "127.45 GiB",
       "0.12 GiB"},
      {R"("stage": 3, "offload_optimizer": {"device": "cpu"})", "127.45 GiB", "0.78 GiB"},
      {R"("stage": 3)", "127.45 GiB", "6.09 GiB"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.zero);
    const MemoryEstimate memory = estimate(zero(row.zero), situation);
    CHECK(gibibytes(memory.host.estimator_bytes) == row.host);
    CHECK(gibibytes(memory.gpu.estimator_bytes) == row.gpu);
  }
  CHECK(estimate(zero(R"("stage": 1)"), situation).gpu.estimator_bytes == 0);
}

// With many hosts the factors 16 and 18 of the page decide: 64 ranks, one a host.
TEST_CASE("the estimate of a host follows its share of the ranks", "[lint]") {
  const LintSituation situation = of_model(1'000'000'000, 2, 1);
  const std::string both = R"("stage": 3, "offload_optimizer": {"device": "cpu"}, "offload_param": {"device": "cpu"})";
  CHECK(estimate(zero(both), situation).host.estimator_bytes == 13'500'000'000);  // 18 / 2 x 1.5
  CHECK(estimate(zero(R"("stage": 3, "offload_optimizer": {"device": "cpu"})"), situation).host.estimator_bytes ==
        12'000'000'000);
  CHECK(estimate(zero(R"("stage": 2, "offload_optimizer": {"device": "cpu"})"), situation).host.estimator_bytes ==
        24'000'000'000);
}

std::string items(const std::vector<MemoryItem>& list) {
  std::string text;
  for (const MemoryItem& item : list) text += fmt::format("{}: {} = {}\n", item.name, item.formula, item.bytes);
  return text;
}

TEST_CASE("every item has its formula: stage 3 with everything offloaded, saved gathered", "[lint]") {
  LintSituation situation = of_model(1000, 3, 2);
  situation.largest_layer = 100;
  const MemoryEstimate memory =
      estimate(zero(R"("stage": 3, "offload_optimizer": {"device": "cpu"}, "offload_param": {"device": "cpu"},
              "reduce_bucket_size": 50, "stage3_max_live_parameters": 400, "stage3_gather_16bit_weights_on_model_save": true)"),
               situation);
  CHECK(items(memory.gpu.states) == "largest layer: 4 B x 100 = 400\n");
  CHECK(items(memory.gpu.buffers) ==
        "gradient buckets: 2 x 2 B x 50 = 200\ngathered parameters, at most: 2 B x 400 = 800\n");
  // A third of 1000 is 334 rounded up, two ranks a host.
  CHECK(items(memory.host.states) ==
        "offloaded optimizer states and gradients: 16 B x 1000 x 2 / 3 = 10688\noffloaded parameters: 2 B x 1000 x 2 / "
        "3 = 1336\n");
  CHECK(items(memory.host.buffers) == "weights gathered by rank 0 to save them: 2 B x 1000 = 2000\n");
  CHECK(memory.gpu.least_bytes == 400);
  CHECK(memory.gpu.likely_bytes == 1400);
  CHECK(memory.host.least_bytes == 12024);
  CHECK(memory.host.likely_bytes == 18000);  // 18 x 1000 x 2 / 3 x 1.5, more than 14024
  CHECK(memory.ranks_per_host == 2);
  CHECK(memory.assumptions.empty());
}

TEST_CASE("partial offload leaves its share on the GPU", "[lint]") {
  const MemoryEstimate memory =
      estimate(zero(R"("stage": 3, "offload_optimizer": {"device": "cpu", "ratio": 0.25})"), of_model(1000, 4, 4));
  CHECK(items(memory.gpu.states) ==
        "parameters: 2 B x 1000 / 4 = 500\noptimizer states: 12 B x 1000 / 4 x 0.75 = 2250\n");
  CHECK(memory.host.states.at(0).bytes == 4000);  // 16 x 250 x 4 x 0.25
}

TEST_CASE("what is offloaded to NVMe is on the disk, and its buffers on the host", "[lint]") {
  const MemoryEstimate memory = estimate(zero(R"("stage": 3, "offload_optimizer": {"device": "nvme"},
                       "offload_param": {"device": "nvme", "buffer_count": 3, "buffer_size": 10})"),
                                         of_model(1000, 2, 2));
  CHECK(memory.nvme_bytes == 18'000);
  CHECK(memory.host.least_bytes == 0);
  CHECK(items(memory.host.buffers) == "buffers between NVMe and GPU: 3 x 2 B x 10 x 2 = 120\n");
}

TEST_CASE("buffers for NVMe that no memory could hold are not counted", "[lint]") {
  const auto buffers = [](const char* count, const char* size) {
    const std::string sizes = fmt::format(R"("buffer_count": {}, "buffer_size": {})", count, size);
    return estimate(zero(R"("stage": 3, "offload_param": {"device": "nvme", )" + sizes + "}"), of_model(1000, 2, 2))
        .host.buffers;
  };
  CHECK(buffers("1", "1000000000000000").at(0).bytes == 4'000'000'000'000'000);
  CHECK(buffers("1000000000000000", "1").at(0).bytes == 4'000'000'000'000'000);
  CHECK(buffers("3", "333333333333333").at(0).bytes == 3'999'999'999'999'996);
  CHECK(buffers("3", "333333333333334").empty());
  CHECK(buffers("1", "1000000000000001").empty());
  CHECK(buffers("1000000000000001", "1").empty());
  CHECK(buffers("0", "10").empty());
  CHECK(buffers("10", "0").empty());
  CHECK(buffers("-1", "-10").empty());
}

TEST_CASE("stages 1 and 2 have buckets of their own", "[lint]") {
  const std::string sizes = R"("reduce_bucket_size": 7, "allgather_bucket_size": 5)";
  const auto buffers = [&](const std::string& more) {
    return items(estimate(zero(more + sizes), of_model(1000, 2, 2)).gpu.buffers);
  };
  CHECK(buffers(R"("stage": 2, "overlap_comm": true, )") ==
        "gradient buckets: 2 x 2 B x 7 = 28\nall-gather bucket: 2 B x 5 = 10\n");
  CHECK(buffers(R"("stage": 1, )") == "gradient buckets: 1 x 2 B x 7 = 14\nall-gather bucket: 2 B x 5 = 10\n");
  CHECK(buffers(R"("stage": 0, )").empty());
}

TEST_CASE("precision and optimizer decide the bytes a parameter", "[lint]") {
  const LintSituation situation = of_model(1000, 1, 1);
  const auto least = [&](const std::string& text) { return estimate(text, situation).gpu.least_bytes; };
  CHECK(least(R"({"optimizer": {"type": "Adam"}})") == 16'000);                             // 4 + 4 + 8
  CHECK(least(R"({"optimizer": {"type": "SGD"}})") == 12'000);                              // 4 + 4 + 4
  CHECK(least(R"({"optimizer": {"type": "Lion"}, "fp16": {"enabled": true}})") == 12'000);  // 2 + 2 + 4 + 4
  CHECK(least(R"({"optimizer": {"type": "Adagrad"}, "bf16": {"enabled": true}})") == 12'000);
  CHECK(least(R"({"optimizer": {"type": "AdamW"}, "bf16": {"enabled": true}})") == 16'000);
  const MemoryEstimate assumed = estimate(R"({"bf16": {"enabled": "auto"}})", situation);
  CHECK(assumed.gpu.least_bytes == 16'000);
  CHECK(assumed.assumptions ==
        std::vector<std::string>{"16-bit parameters, as fp16.enabled or bf16.enabled is not known",
                                 "Adam's two moments, as the configuration names no optimizer"});
  const std::string halves =
      R"({"fp16": {"enabled": true, "fp16_master_weights_and_grads": true}, "optimizer": {"type": "Adam"},
                                 "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}}})";
  CHECK(estimate(halves, situation).host.least_bytes == 12'000);  // 2 + 2 + 8
}

TEST_CASE("an offloaded optimizer takes the gradients along from stage 2 on", "[lint]") {
  const auto gpu = [&](int stage) {
    return items(estimate(zero(fmt::format(R"("stage": {}, "offload_optimizer": {{"device": "cpu"}})", stage)),
                          of_model(1000, 2, 2))
                     .gpu.states);
  };
  CHECK(gpu(1) == "parameters: 2 B x 1000 = 2000\ngradients: 2 B x 1000 = 2000\n");
  CHECK(gpu(2) == "parameters: 2 B x 1000 = 2000\n");
  CHECK(gpu(3) == "parameters: 2 B x 1000 / 2 = 1000\n");
}

TEST_CASE("what is not known is said, and nothing is estimated", "[lint]") {
  const std::string text = zero(R"("stage": 3)");
  LintSituation situation = of_model(1000, 2, 2);
  situation.parameters.reset();
  CHECK(estimate(text, situation).unknown == "the model is not known: give --params or --model");
  situation = of_model(1000, 2, 2);
  situation.world_size.reset();
  CHECK(estimate(text, situation).unknown == "the number of ranks is not known: give --world-size");
  situation = of_model(1000, 2, 2);
  CHECK(estimate(zero(R"("stage": "auto")"), situation).unknown == "zero_optimization.stage is not known");
  CHECK(estimate(zero(R"("stage": 3, "offload_param": {"device": "auto"})"), situation).unknown ==
        "the device of an offload is not known");
  CHECK(estimate(text, situation).unknown.empty());
  situation.gpus_per_host.reset();
  const MemoryEstimate one_host = estimate(zero(R"("stage": 3, "reduce_bucket_size": "auto")"), situation);
  CHECK(one_host.ranks_per_host == 2);
  CHECK(one_host.assumptions == std::vector<std::string>{"all ranks on one host; --gpus-per-host says otherwise",
                                                         "the largest layer is not counted; --largest-layer gives it",
                                                         "reduce_bucket_size is \"auto\": not counted"});
}

TEST_CASE("sizes that no machine has stay numbers", "[lint]") {
  const MemoryEstimate memory = estimate(
      zero(
          R"("stage": 2, "overlap_comm": true, "reduce_bucket_size": 9223372036854775807, "allgather_bucket_size": 1)"),
      of_model(1'000'000'000'000'000, 1, 1));
  CHECK(memory.gpu.buffers.at(0).bytes == 4'000'000'000'000'000);
  CHECK(memory.gpu.least_bytes == 16'000'000'000'000'000);
}

}  // namespace
}  // namespace reprobench
