#include "matrix/plan/batch_fit.hpp"

#include "ci/catch.hpp"
#include "matrix/base/usage_error.hpp"

namespace reprobench {
namespace {

constexpr std::int64_t kMegabyte = 1'000'000;

// 100 MB, and 10 MB a sample of a micro-batch; of blocks computed again 2 MB; twice as much in a heap, where blocks
// computed again and micro-batches are not predicted.
AttemptMemory answer(const BatchQuestion& question) {
  const auto has = [&](const char* name, const char* value) {
    const auto found = question.knobs.find(name);
    return found != question.knobs.end() && found->second == value;
  };
  const auto accumulate = question.knobs.find("accumulate");
  const std::int64_t micro_batches = accumulate == question.knobs.end() ? 1 : std::stoll(accumulate->second);
  const bool is_mapped = has("allocator", "mapped");
  const bool computes_again = has("gradient_checkpointing", "on");
  AttemptMemory need;
  if (!is_mapped && (computes_again || micro_batches > 1)) {
    need.why_not = "a heap";
    return need;
  }
  const std::int64_t of_sample = (computes_again ? 2 : 10) * (is_mapped ? 1 : 2);
  need.parameter_bytes = 100 * kMegabyte;
  need.activation_bytes = of_sample * kMegabyte * (question.batch_size / micro_batches);
  return need;
}

struct Asked {
  int times = 0;
  std::vector<AttemptMemory> operator()(const std::vector<BatchQuestion>& questions) {
    times += 1;
    std::vector<AttemptMemory> answers;
    for (const BatchQuestion& question : questions) answers.push_back(answer(question));
    return answers;
  }
};

BatchFit fit_of(KnobValues knobs, std::int64_t available_megabytes, std::int64_t wished = 0) {
  BatchFit fit;
  fit.asked.knobs = std::move(knobs);
  fit.available_bytes = available_megabytes * kMegabyte;
  fit.wished_batch = wished;
  return fitted(fit, Asked());
}

TEST_CASE("the largest batch is the one before the first that does not fit, with what peaks have gone beyond",
          "[plan][batch]") {
  // 1.1 x (100 + 10 x 1) = 121 to 1.1 x (100 + 10 x 1000) = 11110.
  for (const std::int64_t batch : {1, 2, 3, 7, 8, 9, 31, 32, 33, 34, 63, 64, 65, 999, 1000}) {
    const std::int64_t exact = (100 + 10 * batch) * 11 / 10;
    const auto at = fit_of({{"allocator", "mapped"}}, exact).asked;
    CAPTURE(batch);
    REQUIRE(at.largest);
    CHECK(at.largest->batch_size == batch);
    CHECK(at.largest->at_most_bytes == exact * kMegabyte);
    CHECK(at.too_large.value().batch_size == batch + 1);
    const auto below = fit_of({{"allocator", "mapped"}}, exact - 1).asked;
    CHECK(below.too_large.value().batch_size == batch);
    CHECK(below.largest.has_value() == (batch > 1));
  }
}

TEST_CASE("a heap has to leave more room than tensors that are mapped one by one", "[plan][batch]") {
  CHECK(fit_of({}, 180).asked.largest.value().batch_size == 1);  // 1.5 x 120
  CHECK_FALSE(fit_of({}, 179).asked.largest);
}

TEST_CASE("where every batch fits none is too large, and a few questions are enough", "[plan][batch]") {
  Asked asked;
  const auto answers = largest_batches({{{"allocator", "mapped"}}, {}}, std::int64_t{1} << 60, std::ref(asked));
  CHECK(answers[0].largest.value().batch_size == kLargestBatch);
  CHECK_FALSE(answers[0].too_large);
  CHECK(asked.times == 1);
  largest_batches({{{"allocator", "mapped"}}, {}}, std::int64_t{7'654'321} * kMegabyte, std::ref(asked));
  CHECK(asked.times <= 6);
}

TEST_CASE("of a training in micro-batches the batch is a multiple of them", "[plan][batch]") {
  const auto asked = fit_of({{"accumulate", "4"}, {"allocator", "mapped"}}, 143).asked;  // 1.1 x (100 + 10 x 3)
  CHECK(asked.largest.value().batch_size == 12);
  CHECK(asked.largest->micro_batch_size == 3);
  CHECK(asked.too_large.value().batch_size == 16);
  CHECK_THROWS_AS(fit_of({{"accumulate", "4"}, {"allocator", "mapped"}}, 143, 18), UsageError);
}

TEST_CASE("what is not predicted has its reason in place of a batch, and others are asked all the same",
          "[plan][batch]") {
  const BatchFit fit = fit_of({{"gradient_checkpointing", "on"}}, 1000);
  CHECK(fit.asked.why_not == "a heap");
  CHECK_FALSE(fit.asked.largest);
  CHECK_FALSE(fit.asked.too_large);
  REQUIRE(fit.others.size() == 1);
  CHECK(fit.others[0].knobs == KnobValues{{"allocator", "mapped"}, {"gradient_checkpointing", "on"}});
  CHECK(fit.others[0].largest.value().batch_size == 404);  // 1.1 x (100 + 2 x 404) = 998.8
}

TEST_CASE("a batch that does not fit is cut into the fewest micro-batches that do, by each choice of knobs",
          "[plan][batch]") {
  const BatchFit fit = fit_of({}, 250, 24);  // mapped: 12 samples at once, with blocks computed again 63
  CHECK_FALSE(fit.wished_fits);
  CHECK(fit.wished.value().at_most_bytes == 870 * kMegabyte);
  REQUIRE(fit.ways.size() == 2);
  CHECK(fit.ways[0].knobs == KnobValues{{"accumulate", "2"}, {"allocator", "mapped"}});
  CHECK(fit.ways[0].need.batch_size == 24);
  CHECK(fit.ways[0].need.micro_batch_size == 12);
  CHECK(fit.ways[0].need.at_most_bytes == 242 * kMegabyte);
  CHECK(fit.ways[1].knobs == KnobValues{{"allocator", "mapped"}, {"gradient_checkpointing", "on"}});
  CHECK(fit.ways[1].need.micro_batch_size == 24);
}

TEST_CASE("a prime batch can only be cut into single samples, and one that fits needs no way", "[plan][batch]") {
  const BatchFit prime = fit_of({{"allocator", "mapped"}}, 250, 97);
  REQUIRE(prime.ways.size() == 2);
  CHECK(prime.ways[0].knobs.at("accumulate") == "97");
  CHECK(prime.ways[1].knobs.at("accumulate") == "97");  // 63 at most
  const BatchFit fits = fit_of({{"allocator", "mapped"}}, 250, 12);
  CHECK(fits.wished_fits);
  CHECK(fits.ways.empty());
  CHECK(fit_of({{"allocator", "mapped"}}, 100, 12).ways.empty());  // not even the parameters
}

}  // namespace
}  // namespace reprobench
