// The operations of a step and the products they are held against, in whole trainings on the CPU.
#include "suites/worker/gemm_peak.hpp"

#include "suites/worker/process_facts.hpp"
#include "suites/worker/training_fixture.hpp"

namespace reprobench {
namespace {

CellRequest short_training(const char* model, std::int64_t steps = 2) {
  return training_request(model_called(model), steps, TraceLevel::step);
}

const ModelFlops& flops_of(const TrainingTrace& trace) { return trace.result.model_flops.value(); }

std::int64_t formula(const char* model, std::int64_t batch_size) {
  return model_called(model).flops_per_step(model_called(model).presets().front(), batch_size);
}

TEST_CASE("a result has the operations of its own batch, and the name of how they were counted", "[worker]") {
  CellRequest request = short_training("mlp");
  request.workload.batch_size = 24;
  const TrainingTrace trace = train(request);
  CHECK(flops_of(trace).flops_per_step == formula("mlp", 24));
  CHECK(flops_of(trace).samples == 24);
  CHECK(trace.steps.at(0).samples == 24);
  CHECK(flops_of(trace).convention == "matrix products, PaLM appendix B");
  CHECK(flops_of(trace).dtype == "fp32");
  CHECK(trace.result.measurements.empty());  // nobody asked
}

// A contrastive loss multiplies every sample with every other of its micro-batch.
TEST_CASE("operations of micro-batches are counted one by one", "[worker]") {
  CellRequest request = short_training("clip", 1);
  request.workload.batch_size = 8;
  request.knobs["accumulate"] = "4";
  const TrainingTrace trace = train(request);
  CHECK(flops_of(trace).flops_per_step == 4 * formula("clip", 2));
  CHECK(flops_of(trace).flops_per_step < formula("clip", 8));
  CHECK(flops_of(trace).samples == 8);
  CHECK(trace.steps.at(0).samples == 8);
}

TEST_CASE("operations are those of the model, whatever is computed again, frozen or of changing length", "[worker]") {
  CellRequest request = short_training("llama", 1);
  request.workload.batch_size = 4;
  SECTION("blocks computed again do not count") {
    request.knobs["gradient_checkpointing"] = "on";
    CHECK(flops_of(train(request)).flops_per_step == formula("llama", 4));
  }
  SECTION("frozen weights get no gradient of their own") {
    request.workload.preset = "tiny-lora";
    CHECK(flops_of(train(request)).flops_per_step < formula("llama", 4));
  }
  SECTION("lengths that change leave no number, and a reason") {
    request.knobs["sequence_lengths"] = "bucketed";
    const TrainingTrace trace = train(request);
    CHECK(flops_of(trace).flops_per_step == 0);
    CHECK(flops_of(trace).missing == "the length of sequences changes with the step, and the operations with it");
  }
}

TEST_CASE("the products timed after a training are checked ones of its own type, every sample kept", "[worker]") {
  CellRequest request = short_training("mlp");
  const char* precision = GENERATE("fp32", "fp64", "bf16");
  request.knobs["precision"] = precision;
  request.gemm_peak_samples = 3;
  const TrainingTrace trace = train(request);
  CAPTURE(precision);
  CHECK(flops_of(trace).dtype == precision);
  REQUIRE_FALSE(trace.result.measurements.empty());
  for (const ProbeMeasurement& one : trace.result.measurements) {
    CHECK(one.operation == "gemm");
    CHECK(one.labels.at("dtype") == precision);
    CHECK(one.status == MeasurementStatus::measured);
    CHECK(one.samples.size() == 3);
    CHECK(one.error_rel.value() <= one.error_bound_rel.value());
    CHECK(one.timed_from_ns.value() >= trace.steps.back().ended_ns.value());
  }
}

TEST_CASE("a training with products timed after it is the one without: bits, start and memory", "[worker]") {
  CellRequest request = short_training("gpt2", 3);
  const TrainingTrace plain = train(request);
  request.gemm_peak_samples = 1;
  const TrainingTrace timed = train(request);
  const std::int64_t done_ns = since_process_start_ns();
  CHECK(timed.result.chain == plain.result.chain);
  CHECK(timed.result.workload_digest == plain.result.workload_digest);
  CHECK(timed.result.steps_completed == 3);
  CHECK(timed.result.trace_lines > plain.result.trace_lines);
  CHECK(timed.result.peak_rss_bytes > 0);
  // The first step ended long before the last product did.
  const std::int64_t since_then_ns =
      timed.result.measurements.back().timed_to_ns.value() - timed.steps.front().ended_ns.value();
  CHECK(timed.result.start_to_first_step_ns <= done_ns - since_then_ns / 2);
}

}  // namespace
}  // namespace reprobench
