// Speed against a limit, by hand; and everything that must leave it without a value.
#include "matrix/verdict/metrics/compute_share.hpp"

#include <limits>

#include "ci/catch.hpp"
#include "matrix/verdict/judge.hpp"
#include "matrix/verdict/sample_run.hpp"

namespace reprobench {
namespace {

ProbeMeasurement product(const std::string& shape, std::vector<double> tflop_per_s, const std::string& dtype = "fp32") {
  ProbeMeasurement gemm;
  gemm.operation = "gemm";
  gemm.labels = {{"dtype", dtype}, {"shape", shape}};
  gemm.unit = "TFLOP/s";
  gemm.status = MeasurementStatus::measured;
  gemm.samples = std::move(tflop_per_s);
  return gemm;
}

// Steps of 1 ms and 20 MFLOP, so 0.02 TFLOP/s, beside products that reach 0.05.
AttemptRecord training() {
  AttemptRecord attempt = sample::attempt(3, 1e6);
  for (StepRecord& step : attempt.lead().trace->steps) step.samples = 32;
  CellResult& result = *attempt.lead().result;
  result.model_flops = ModelFlops{20'000'000, "", 32, "a convention", "fp32"};
  result.measurements = {product("64x64x64", {0.03, 0.03, 0.03}), product("256x256x256", {0.04, 0.05, 0.045})};
  return attempt;
}

std::string why_no_share(const AttemptRecord& attempt) {
  const Measurement share = gemm_peak_share(attempt, {});
  CHECK_FALSE(share.value);
  return share.missing;
}

// On a card whose data sheet says 0.08 TFLOP/s.
AttemptRecord training_on_gpu() {
  AttemptRecord attempt = training();
  attempt.lead().result->fingerprint.device = DeviceFacts{};
  attempt.lead().result->fingerprint.device->name = "NVIDIA X";
  for (ProbeMeasurement& one : attempt.lead().result->measurements) {
    one.peak = 0.08;
    one.peak_source = "X, fp32";
  }
  return attempt;
}

std::string why_no_mfu(const AttemptRecord& attempt) {
  const Measurement utilisation = model_flop_utilisation(attempt, {});
  CHECK_FALSE(utilisation.value);
  return utilisation.missing;
}

TEST_CASE("a share of the GEMM peak is the formula's operations by the median step, of the best sample", "[verdict]") {
  const Measurement share = gemm_peak_share(training(), {});
  REQUIRE(share.value);
  CHECK(*share.value == Approx(0.4));
  CHECK(share.finding == "0.02 GFLOP a step (a convention) at 20 GFLOP/s of 50 GFLOP/s, fp32 product of 256x256x256");
}

TEST_CASE("rates from a thousand GFLOP/s on are said in TFLOP/s, and smaller ones in GFLOP/s", "[verdict]") {
  const auto [flops, peak, text] = GENERATE(table<std::int64_t, double, std::string>(
      {{2'000'000'000, 19.5, "2 GFLOP a step (a convention) at 2 TFLOP/s of 19.5 TFLOP/s"},
       {999'000'000, 1, "0.999 GFLOP a step (a convention) at 999 GFLOP/s of 1 TFLOP/s"}}));
  AttemptRecord attempt = training();
  attempt.lead().result->model_flops->flops_per_step = flops;
  attempt.lead().result->measurements = {product("64x64x64", {peak, peak, peak})};
  CHECK(gemm_peak_share(attempt, {}).finding == text + ", fp32 product of 64x64x64");
}

TEST_CASE("steps of the warm-up are none of those that a share is of", "[verdict]") {
  AttemptRecord attempt = training();
  for (int i = 0; i < 10; ++i) attempt.lead().trace->steps[static_cast<std::size_t>(i)].step_time_ns = 50'000'000;
  CHECK(*gemm_peak_share(attempt, {}).value == Approx(0.4));
}

TEST_CASE("operations that are not those of the steps are no speed", "[verdict]") {
  AttemptRecord attempt = training();
  CellResult& result = *attempt.lead().result;
  SECTION("of another batch") {
    result.model_flops->samples = 64;
    CHECK(why_no_share(attempt) == "repeat 3: the operations are those of 64 samples, and step 1 trained 32");
  }
  SECTION("one step of another batch") {
    attempt.lead().trace->steps[17].samples = 31;
    CHECK(why_no_share(attempt) == "repeat 3: the operations are those of 32 samples, and step 18 trained 31");
  }
  SECTION("changing ones") {
    result.model_flops->flops_per_step = 0;
    result.model_flops->missing = "lengths change";
    CHECK(why_no_share(attempt) == "repeat 3: lengths change");
  }
  SECTION("an older worker's") {
    result.model_flops.reset();
    CHECK(why_no_share(attempt) == "repeat 3: its worker counted no operations of a step");
  }
  SECTION("of ranks that share a host") {
    attempt.ranks.push_back(attempt.ranks.front());
    CHECK(why_no_share(attempt) == "repeat 3: its ranks share one host, and no peak is one rank's");
  }
  CHECK_FALSE(model_flop_utilisation(attempt, {}).value);
}

TEST_CASE("products that are no peak of the training give no share", "[verdict]") {
  AttemptRecord attempt = training();
  std::vector<ProbeMeasurement>& products = attempt.lead().result->measurements;
  SECTION("slower than the training itself") {
    for (ProbeMeasurement& one : products) one.samples = {0.0199, 0.0199, 0.0199};
    CHECK(why_no_share(attempt) ==
          "repeat 3: the training did 20 GFLOP/s, its fastest product 19.9 GFLOP/s: that is no peak");
  }
  SECTION("as fast as it is all of it") {
    for (ProbeMeasurement& one : products) one.samples = {0.02, 0.02, 0.02};
    CHECK(*gemm_peak_share(attempt, {}).value == Approx(1.0));
  }
  SECTION("disturbed in most samples") {
    products[1].samples = {0.05, 0.03, 0.037};
    CHECK(why_no_share(attempt) ==
          "repeat 3: the products were disturbed: 50 GFLOP/s at best, 37 GFLOP/s in half of the samples");
    products[1].samples = {0.05, 0.03, 0.038};
    CHECK(gemm_peak_share(attempt, {}).value);
  }
  SECTION("of another type") {
    attempt.lead().result->model_flops->dtype = "bf16";
    CHECK(why_no_share(attempt) ==
          "repeat 3: gemm dtype=fp32 shape=64x64x64 was timed, and the training computes in bf16");
  }
  SECTION("of another operation") {
    products[0].operation = "conv";
    CHECK(why_no_share(attempt) ==
          "repeat 3: conv dtype=fp32 shape=64x64x64 was timed, and the training computes in fp32");
  }
  SECTION("of no shape") {
    products[1].labels.erase("shape");
    CHECK(why_no_share(attempt).starts_with("repeat 3: gemm dtype=fp32 was timed"));
  }
  SECTION("a wrong one") {
    products[0].status = MeasurementStatus::wrong;
    products[0].finding = "off by 1 from fp64";
    products[0].samples.clear();
    CHECK(why_no_share(attempt) == "repeat 3: a matrix product was not timed: off by 1 from fp64");
  }
  SECTION("endlessly fast") {
    products[0].samples = {std::numeric_limits<double>::infinity()};
    CHECK(why_no_share(attempt) == "repeat 3: a matrix product has a rate that is no number");
  }
  SECTION("none") {
    products.clear();
    CHECK(why_no_share(attempt) == "repeat 3: no matrix product was timed");
  }
  SECTION("timed while the GPU was held back") {
    attempt.telemetry.emplace();
    CHECK(gemm_peak_share(attempt, {}).value);
    attempt.telemetry->measurements_invalid = "throttled";
    CHECK(why_no_share(attempt) == "repeat 3: what its GPU did while products were timed: throttled");
  }
}

TEST_CASE("model FLOP utilisation is of the data sheet's peak of the type that is computed in", "[verdict]") {
  AttemptRecord attempt = training_on_gpu();
  const Measurement utilisation = model_flop_utilisation(attempt, {});
  CHECK(*utilisation.value == Approx(0.25));
  CHECK(utilisation.finding == "0.02 GFLOP a step (a convention) at 20 GFLOP/s of 80 GFLOP/s, fp32 of X, fp32");
  CellResult& result = *attempt.lead().result;
  SECTION("products that were held back leave the data sheet alone") {
    attempt.telemetry.emplace();
    attempt.telemetry->measurements_invalid = "throttled";
    CHECK(model_flop_utilisation(attempt, {}).value);
  }
  SECTION("another type has another peak") {
    result.model_flops->dtype = "tf32";
    CHECK(why_no_mfu(attempt) == "repeat 3: its worker was given no data sheet");
  }
  SECTION("a card without a row") {
    result.measurements[0].peak.reset();
    CHECK(why_no_mfu(attempt) == "repeat 3: the facts have no dense peak of NVIDIA X in fp32");
  }
  SECTION("more than the data sheet promises") {
    for (ProbeMeasurement& one : result.measurements) one.peak = 0.019;
    CHECK(why_no_mfu(attempt) ==
          "repeat 3: the training did 20 GFLOP/s, 19 GFLOP/s is the data sheet's peak: one of them is wrong");
  }
  SECTION("a CPU") {
    result.fingerprint.device.reset();
    CHECK(why_no_mfu(attempt) == "repeat 3: a CPU has no data sheet's peak");
  }
}

TEST_CASE("a share that has no value leaves its check undecided, an armed one its cell too", "[verdict]") {
  RunRecord run = sample::run(2, 1, {sample::threshold("throughput.gemm_peak_share", Bound::Kind::min, 0.1, false)});
  const RunVerdict verdict = judge(run);
  const CellVerdict& without = sample::candidate(verdict);
  CHECK(without.outcome == Outcome::inconclusive);
  CHECK(without.checks.at(0).reason == "missing_metric");
}

TEST_CASE("whoever has a share of the GEMM peak asked for finds it in the table of metrics", "[verdict]") {
  for (const std::string_view name : kSharesOfGemmPeak) {
    REQUIRE(find_metric(name) != nullptr);
    CHECK(find_metric(name)->is_of_steps);
  }
}

}  // namespace
}  // namespace reprobench
