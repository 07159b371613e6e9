#include "matrix/numerics/steps/lockstep.hpp"

#include <cmath>
#include <deque>
#include <limits>
#include <random>

#include "ci/catch.hpp"
#include "matrix/contract/version.hpp"

namespace reprobench {
namespace {

constexpr int kTensors = 50;
constexpr std::size_t kElements = 200;
constexpr double kRelativeError = 4e-7;

// Three runs of K batches: fp64 values, and two stacks whose errors are independent and of one size, unless `scale`
// says more.
struct LockstepScene {
  explicit LockstepScene(int batches, std::uint64_t seed = 1) : generator(seed) {
    for (int batch = 0; batch < batches; ++batch) {
      Sides& sides = all_sides.emplace_back();
      for (int tensor = 0; tensor < kTensors; ++tensor) add_tensor(sides, tensor);
    }
  }

  struct Sides {
    std::deque<std::vector<float>> floats;
    std::deque<std::vector<double>> doubles;
    std::vector<TensorView> candidate;
    std::vector<TensorView> reference;
    std::vector<TensorView> exact;
  };

  static std::string name_of(int tensor) { return "gradient/layer" + std::to_string(10 + tensor); }

  template <class T>
  static TensorView view(const std::string& name, const char* dtype, const std::vector<T>& values) {
    return {name, dtype, {static_cast<std::int64_t>(values.size())}, std::as_bytes(std::span(values)), 0};
  }

  void add_tensor(Sides& sides, int tensor) {
    std::vector<double> exact(kElements);
    for (double& value : exact) value = normal(generator);
    const auto with_error = [&] {
      std::vector<float> values(kElements);
      for (std::size_t i = 0; i < kElements; ++i) {
        values[i] = static_cast<float>(exact[i] + kRelativeError * normal(generator));
      }
      return values;
    };
    sides.candidate.push_back(view(name_of(tensor), "F32", sides.floats.emplace_back(with_error())));
    sides.reference.push_back(view(name_of(tensor), "F32", sides.floats.emplace_back(with_error())));
    sides.exact.push_back(view(name_of(tensor), "F64", sides.doubles.emplace_back(std::move(exact))));
  }

  std::vector<float>& candidate(std::size_t batch, int tensor) {
    return all_sides[batch].floats[2 * static_cast<std::size_t>(tensor)];
  }

  // A tensor of one size throughout, off by so much on each side; the other tensors have an RMS of 1.
  void set_tensor(std::size_t batch, int tensor, double exact, double candidate_error, double reference_error) {
    Sides& sides = all_sides[batch];
    const auto at = static_cast<std::size_t>(tensor);
    sides.doubles[at].assign(kElements, exact);
    sides.floats[2 * at].assign(kElements, static_cast<float>(exact + candidate_error));
    sides.floats[2 * at + 1].assign(kElements, static_cast<float>(exact - reference_error));
  }

  // A defect that adds its own error, so that the candidate's total is `ratio` times what it was.
  void add_defect(int tensor, double ratio) {
    const double extra = kRelativeError * std::sqrt(ratio * ratio - 1);
    for (std::size_t batch = 0; batch < all_sides.size(); ++batch) {
      for (float& value : candidate(batch, tensor)) value += static_cast<float>(extra * normal(generator));
    }
  }

  Lockstep judge(LockstepOptions options = {}) const {
    std::vector<LockstepBatch> batches;
    for (const Sides& sides : all_sides) batches.push_back({sides.candidate, sides.reference, sides.exact});
    return judge_lockstep(batches, options);
  }

  std::mt19937_64 generator;
  std::normal_distribution<double> normal;
  std::deque<Sides> all_sides;
};

const LockstepTensor& tensor_of(const Lockstep& lockstep, int tensor) {
  for (const LockstepTensor& candidate : lockstep.tensors) {
    if (candidate.name == LockstepScene::name_of(tensor)) return candidate;
  }
  FAIL("no such tensor");
  return lockstep.tensors.front();
}

TEST_CASE("two correct stacks differ by rounding, and pooling says that nothing hides", "[lockstep]") {
  const Lockstep result = LockstepScene(32).judge();
  CHECK(result.word == LockstepWord::rounding);
  CHECK(result.not_resolved.empty());
  const LockstepTensor& tensor = result.tensors.front();
  CHECK(tensor.pooled->ratio == Approx(1).margin(0.06));
  CHECK(tensor.e_r == Approx(kRelativeError).epsilon(0.3));
  CHECK(tensor.triangle <= 1);
  CHECK(tensor.ulp_histogram[0] < 32 * static_cast<std::int64_t>(kElements));
  CHECK(tensor.max_ulp > 1);
}

TEST_CASE("one batch passes class B2 but leaves defects of rounding size open", "[lockstep]") {
  const Lockstep result = LockstepScene(1).judge();
  CHECK(result.word == LockstepWord::rounding);
  CHECK(result.not_resolved.size() == kTensors);
  CHECK_FALSE(result.tensors.front().pooled);
}

TEST_CASE("a defect of rounding size in one tensor of fifty is found by pooling and named", "[lockstep]") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    LockstepScene scene(64, seed);
    const int broken = static_cast<int>(seed) * 7;
    scene.add_defect(broken, 1.25);
    const Lockstep result = scene.judge();
    CHECK(result.word == LockstepWord::defect);
    CHECK(result.tensors[0].name == LockstepScene::name_of(broken));
    CHECK(result.tensors[0].error_ratio < 2);
    CHECK(result.tensors[0].reason.starts_with("E pooled over 64 batches is 1."));
    CHECK(result.tensors[1].word == LockstepWord::rounding);
  }
}

TEST_CASE("a defect in batches alone in which a mask flips is left open, never called rounding", "[lockstep]") {
  const auto judged = [](std::size_t broken, std::size_t flipped, std::size_t batches_broken = 1) {
    LockstepScene scene(16);
    for (std::size_t batch = broken; batch < broken + batches_broken; ++batch) {
      for (float& value : scene.candidate(batch, 9)) value += 300 * static_cast<float>(kRelativeError);
    }
    std::vector<LockstepBatch> batches;
    for (const auto& sides : scene.all_sides) batches.push_back({sides.candidate, sides.reference, sides.exact});
    for (std::size_t batch = 0; batch < flipped; ++batch) batches[6 + batch].flips = "1 element of `relu3` is";
    return judge_lockstep(batches, {});
  };
  const Lockstep open = judged(6, 1);
  CHECK(open.word == LockstepWord::undecided);
  CHECK(open.tensors.front().name == LockstepScene::name_of(9));
  CHECK(open.tensors.front().word == LockstepWord::undecided);
  CHECK(open.sentence.starts_with("1 of 50 tensors cannot be judged; worst `gradient/layer19`: E is "));
  CHECK(open.sentence.ends_with(
      "; in batch 6 1 element of `relu3` is not as in fp64, which rounding can do; the 15 other batches are rounding"));
  CHECK(judged(6, 2).word == LockstepWord::undecided);
  CHECK(judged(6, 3).word == LockstepWord::defect);  // of 16 batches two at most
  CHECK(judged(6, 0).word == LockstepWord::defect);
  CHECK(judged(5, 1).word == LockstepWord::defect);  // another batch shows it, too
  CHECK(judged(5, 1, 2).word == LockstepWord::defect);
  CHECK(judged(0, 1, 0).word == LockstepWord::rounding);
}

TEST_CASE("a defect of rounding size is found though a mask flips in some batch", "[lockstep]") {
  LockstepScene scene(64);
  scene.add_defect(7, 1.25);
  std::vector<LockstepBatch> batches;
  for (const auto& sides : scene.all_sides) batches.push_back({sides.candidate, sides.reference, sides.exact});
  batches[3].flips = "1 element of `relu3` is";
  CHECK(judge_lockstep(batches, {}).word == LockstepWord::defect);
}

TEST_CASE("a gross defect fails class B2 in a single batch", "[lockstep]") {
  LockstepScene scene(1);
  scene.add_defect(9, 1000);
  const Lockstep result = scene.judge();
  CHECK(result.word == LockstepWord::defect);
  CHECK(result.tensors[0].name == LockstepScene::name_of(9));
  CHECK(result.tensors[0].error_ratio_bound == 3);
  CHECK(result.tensors[1].word == LockstepWord::rounding);
}

// The bias of an attention's keys, which no softmax sees: its exact gradient is zero.
TEST_CASE("where the exact value is zero a batch's ratio of two roundings is chance", "[lockstep]") {
  const auto judged = [](double exact, double candidate_error, double reference_error) {
    LockstepScene scene(2);
    scene.set_tensor(1, 9, exact, candidate_error, reference_error);
    return tensor_of(scene.judge(), 9);
  };
  const LockstepTensor noise = judged(0, 34e-10, 10e-10);
  CHECK(noise.word == LockstepWord::rounding);
  CHECK(judged(1e-17, 34e-10, 10e-10).word == LockstepWord::rounding);
  // What counts in training is a share of the other gradients: 2.8 and 3.2 of the noise floor, and class B2 allows 3.
  CHECK(judged(0, 2.8e-6, 10e-10).word == LockstepWord::rounding);
  const LockstepTensor wrong = judged(0, 3.2e-6, 10e-10);
  CHECK(wrong.word == LockstepWord::defect);
  CHECK(wrong.worst_batch == 1);
  CHECK(wrong.error_ratio == Approx(3.2).epsilon(0.05));  // the RMS of the others is 1 but for chance
  CHECK(judged(0, 3.2e-6, 2e-6).word == LockstepWord::rounding);
  // A small gradient that is not zero is held to its own length.
  CHECK(judged(1e-6, 34e-10, 10e-10).word == LockstepWord::defect);
  CHECK(judged(1e-6, 28e-10, 10e-10).word == LockstepWord::rounding);
}

TEST_CASE("of a value that is zero pooling still finds the side that errs more", "[lockstep]") {
  LockstepScene scene(32);
  for (std::size_t batch = 0; batch < 32; ++batch) {
    const double size = 1e-9 * (1 + 0.1 * static_cast<double>(batch % 4));
    scene.set_tensor(batch, 9, 0, 2 * size, size);
  }
  const LockstepTensor tensor = tensor_of(scene.judge(), 9);
  CHECK(tensor.word == LockstepWord::defect);
  CHECK(tensor.pooled->ratio == Approx(2));
}

TEST_CASE("tensors stand in the order of the numbers that their sentences give", "[lockstep]") {
  LockstepScene scene(64);
  const bool has_defects = GENERATE(true, false);
  if (has_defects) {
    scene.add_defect(3, 1.3);   // found by pooling alone
    scene.add_defect(9, 1000);  // E over its bound
    scene.add_defect(21, 5000);
  }
  const Lockstep result = scene.judge();
  if (has_defects) {
    CHECK(result.tensors[0].name == LockstepScene::name_of(21));
    CHECK(result.tensors[1].name == LockstepScene::name_of(9));
    CHECK(result.tensors[2].name == LockstepScene::name_of(3));
  }
  for (std::size_t i = has_defects ? 3 : 0; i + 1 < result.tensors.size(); ++i) {
    CHECK(result.tensors[i].error_ratio >= result.tensors[i + 1].error_ratio);
  }
}

TEST_CASE("a tensor of equal bits is never the worst where others differ", "[lockstep]") {
  LockstepScene scene(1);
  LockstepScene::Sides& sides = scene.all_sides[0];
  for (int tensor = 0; tensor < kTensors; ++tensor) {
    const auto place = static_cast<std::size_t>(tensor);
    const auto& reference = sides.floats[2 * place + 1];
    const auto& exact = sides.doubles[place];
    for (std::size_t i = 0; i < kElements; ++i) {
      scene.candidate(0, tensor)[i] = tensor == 5 ? static_cast<float>(exact[i]) : reference[i];
    }
  }
  const Lockstep result = scene.judge();
  CHECK(result.tensors[0].name == LockstepScene::name_of(5));
  CHECK(result.tensors[0].error_ratio < result.tensors[1].error_ratio);
  CHECK(result.sentence.find("1 of 50 tensors differ, worst `gradient/layer15`: E is at most") != std::string::npos);
}

TEST_CASE("NaN or infinity on one side is a defect", "[lockstep]") {
  for (const float value : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    LockstepScene scene(2);
    scene.candidate(1, 4)[17] = value;
    const Lockstep result = scene.judge();
    CHECK(result.word == LockstepWord::defect);
    CHECK(result.tensors[0].name == LockstepScene::name_of(4));
    CHECK(result.tensors[0].nan_mismatches + result.tensors[0].inf_mismatches == 1);
  }
}

TEST_CASE("a tensor missing on any side of any batch leaves the comparison undecided", "[lockstep]") {
  for (const int side : {0, 1, 2}) {
    LockstepScene scene(3);
    auto& sides = scene.all_sides[2];
    (side == 0 ? sides.candidate : side == 1 ? sides.reference : sides.exact).pop_back();
    const Lockstep result = scene.judge();
    CHECK(result.word == LockstepWord::undecided);
    CHECK(result.tensors[0].name == LockstepScene::name_of(kTensors - 1));
    CHECK(result.tensors[0].reason.find("of batch 2") != std::string::npos);
  }
}

TEST_CASE("a comparison with nothing in it is undecided", "[lockstep]") {
  CHECK(judge_lockstep({}, {}).word == LockstepWord::undecided);
  CHECK(judge_lockstep(std::vector<LockstepBatch>(4), {}).word == LockstepWord::undecided);
  LockstepOptions options;
  options.precision = "fp17";
  CHECK_THROWS_AS(judge_lockstep({}, options), ContractError);
}

TEST_CASE("another shape, type or an exact run that is not fp64 is undecided", "[lockstep]") {
  LockstepScene shape(1);
  shape.all_sides[0].candidate[3].shape = {20, 10};
  CHECK(tensor_of(shape.judge(), 3).reason == "type or shape differ in batch 0");
  LockstepScene type(1);
  type.all_sides[0].reference[3].dtype = "I32";
  CHECK(tensor_of(type.judge(), 3).word == LockstepWord::undecided);
  LockstepScene later(2);
  later.all_sides[1].candidate[3].dtype = "I32";
  CHECK(tensor_of(later.judge(), 3).reason == "type or shape differ in batch 1");
  LockstepScene exact(1);
  exact.all_sides[0].exact[3] = exact.all_sides[0].reference[3];
  CHECK(tensor_of(exact.judge(), 3).reason == "the exact run holds F32, not F64");
}

TEST_CASE("equal bits are rounding whatever the number of batches", "[lockstep]") {
  LockstepScene scene(2);
  for (auto& sides : scene.all_sides) sides.candidate = sides.reference;
  const Lockstep result = scene.judge();
  CHECK(result.word == LockstepWord::rounding);
  CHECK(result.sentence == "all 50 tensors have equal bits");
  CHECK(result.not_resolved.empty());
}

TEST_CASE("integers that differ are a defect, equal ones are not", "[lockstep]") {
  LockstepScene scene(1);
  const std::vector<std::int64_t> five = {5};
  const std::vector<std::int64_t> six = {6};
  auto& sides = scene.all_sides[0];
  sides.candidate.push_back(LockstepScene::view("zstate/step", "I64", five));
  sides.reference.push_back(LockstepScene::view("zstate/step", "I64", five));
  sides.exact.push_back(LockstepScene::view("zstate/step", "I64", five));
  CHECK(scene.judge().word == LockstepWord::rounding);
  sides.candidate.back() = LockstepScene::view("zstate/step", "I64", six);
  CHECK(scene.judge().word == LockstepWord::defect);
  CHECK(scene.judge().tensors[0].name == "zstate/step");
}

TEST_CASE("one tensor that cannot be judged leaves the comparison undecided, wherever it stands", "[lockstep]") {
  for (const std::size_t tensor : {0, 25, kTensors - 1}) {
    LockstepScene scene(1);
    scene.all_sides[0].candidate[tensor].shape = {20, 10};
    CHECK(scene.judge().word == LockstepWord::undecided);
  }
  // A defect is one whatever else cannot be judged.
  LockstepScene scene(1);
  scene.all_sides[0].candidate[0].shape = {20, 10};
  scene.add_defect(40, 1000);
  CHECK(scene.judge().word == LockstepWord::defect);
}

TEST_CASE("the worst batch counts, first, last or between, and its figures are kept", "[lockstep]") {
  for (const std::size_t bad : {0, 1, 2}) {
    LockstepScene scene(3);
    for (float& value : scene.candidate(bad, 6)) value += 1e-4F;
    const Lockstep result = scene.judge();
    CHECK(result.word == LockstepWord::defect);
    const LockstepTensor& tensor = tensor_of(result, 6);
    CHECK(tensor.worst_batch == static_cast<int>(bad));
    CHECK(tensor.e_x == Approx(1e-4).epsilon(0.2));
    CHECK(tensor.e_r == Approx(kRelativeError).epsilon(0.4));
    CHECK(tensor.delta == Approx(1e-4).epsilon(0.2));
    CHECK(tensor.error_ratio == Approx(tensor.e_x / 1e-6));  // both stacks err less than fp32's noise floor
    CHECK(tensor.reason.find("in batch " + std::to_string(bad)) != std::string::npos);
  }
}

TEST_CASE("bits are equal if they are in every batch", "[lockstep]") {
  for (const std::size_t differing : {0, 1, 2}) {
    LockstepScene scene(3);
    for (auto& sides : scene.all_sides) sides.candidate = sides.reference;
    CHECK(tensor_of(scene.judge(), 5).equal_bits);
    auto& value = scene.all_sides[differing].floats.emplace_back(scene.all_sides[differing].floats[2 * 5 + 1]);
    value[3] = std::nextafter(value[3], 10.0F);
    scene.all_sides[differing].candidate[5] = LockstepScene::view(LockstepScene::name_of(5), "F32", value);
    const Lockstep result = scene.judge();
    CHECK_FALSE(tensor_of(result, 5).equal_bits);
    CHECK(tensor_of(result, 6).equal_bits);
    CHECK(tensor_of(result, 5).max_ulp == 1);
    CHECK(tensor_of(result, 5).ulp_histogram[1] == 1);
    CHECK(result.not_resolved == std::vector<std::string>{LockstepScene::name_of(5)});
    CHECK(result.sentence.find("1 of 50 tensors differ") != std::string::npos);
  }
}

TEST_CASE("infinite on both sides where the fp64 run is not is undecided", "[lockstep]") {
  LockstepScene scene(1);
  auto& sides = scene.all_sides[0];
  for (const std::size_t side : {2 * 4, 2 * 4 + 1}) {
    sides.floats[side][17] = std::numeric_limits<float>::infinity();
  }
  const Lockstep result = scene.judge();
  CHECK(result.word == LockstepWord::undecided);
  CHECK(tensor_of(result, 4).reason == "both stacks hold NaN or infinity where the fp64 run differs");
}

// One tensor in another type: 32 batches of 1.0 and its neighbour above, against an fp64 run in between. Both stacks
// err by half a unit in the last place, so E is 1; then the candidate errs by `steps` more.
template <class Bits>
Lockstep of_type(const char* dtype, Bits one, double offset, const char* precision, Bits steps) {
  constexpr std::size_t kCount = 2000;
  const std::vector<Bits> reference(kCount, one);
  const std::vector<Bits> candidate(kCount, static_cast<Bits>(one + steps));
  const std::vector<double> exact(kCount, 1 + offset);
  const std::vector<TensorView> x = {LockstepScene::view("gradient/w", dtype, candidate)};
  const std::vector<TensorView> r = {LockstepScene::view("gradient/w", dtype, reference)};
  const std::vector<TensorView> h = {LockstepScene::view("gradient/w", "F64", exact)};
  const std::vector<LockstepBatch> batches(32, LockstepBatch{x, r, h});
  LockstepOptions options;
  options.precision = precision;
  return judge_lockstep(batches, options);
}

// Between two neighbours both stacks err by half a unit in the last place.
template <class Bits>
void judges_type(const char* dtype, Bits one, double unit_roundoff, const char* precision) {
  INFO(dtype);
  const Lockstep rounding = of_type<Bits>(dtype, one, unit_roundoff, precision, 1);
  const LockstepTensor& tensor = rounding.tensors.at(0);
  CHECK(rounding.word == LockstepWord::rounding);
  CHECK(tensor.max_ulp == 1);
  const double error_rel = unit_roundoff / (1 + unit_roundoff);
  CHECK(tensor.e_x == Approx(error_rel).epsilon(1e-9));
  CHECK(tensor.e_r == Approx(error_rel).epsilon(1e-9));
  CHECK(tensor.pooled->ratio == Approx(1));
  // Errors of 15 and 1 half units: the pooled ratio shows it whatever class B2 allows.
  const Lockstep defect = of_type<Bits>(dtype, one, unit_roundoff, precision, 8);
  CHECK(defect.word == LockstepWord::defect);
  CHECK(defect.tensors.at(0).max_ulp == 8);
  CHECK(defect.tensors.at(0).pooled->ratio == Approx(15));
}

TEST_CASE("every stored type is judged by its own roundoff", "[lockstep]") {
  judges_type<std::uint32_t>("F32", 0x3f800000, 0x1p-24, "fp32");
  judges_type<std::uint16_t>("F16", 0x3c00, 0x1p-11, "fp16");
  judges_type<std::uint16_t>("BF16", 0x3f80, 0x1p-8, "bf16");
  judges_type<std::uint8_t>("F8_E4M3", 0x38, 0x1p-4, "fp8_e4m3");
}

TEST_CASE("an exact reference leaves the floor of the stored type: 0.29 of its unit roundoff", "[lockstep]") {
  // The candidate is one step of 2 u away from an exact 1.0: the ratio is 2 / 0.29 in every type.
  const auto ratio = [](const Lockstep& result) { return result.tensors.at(0).pooled->ratio; };
  const auto expected = Approx(2 / 0.29);
  CHECK(ratio(of_type<std::uint64_t>("F64", 0x3ff0000000000000, 0, "fp32", 1)) == expected);
  CHECK(ratio(of_type<std::uint32_t>("F32", 0x3f800000, 0, "fp32", 1)) == expected);
  CHECK(ratio(of_type<std::uint16_t>("F16", 0x3c00, 0, "fp16", 1)) == expected);
  CHECK(ratio(of_type<std::uint16_t>("BF16", 0x3f80, 0, "bf16", 1)) == expected);
  CHECK(ratio(of_type<std::uint8_t>("F8_E4M3", 0x38, 0, "fp8_e4m3", 1)) == expected);
  CHECK(ratio(of_type<std::uint8_t>("F8_E5M2", 0x3c, 0, "fp8_e4m3", 1)) == expected);
}

TEST_CASE("three runs that do not hold the same tensor are undecided", "[lockstep]") {
  LockstepScene scene(1);
  auto& sides = scene.all_sides[0];
  std::vector<float> tiny(kElements);
  for (std::size_t i = 0; i < kElements; ++i) tiny[i] = static_cast<float>(i % 7) * 1e-3f + 1e-3f;
  sides.reference[8] = LockstepScene::view(LockstepScene::name_of(8), "F32", tiny);
  const Lockstep result = scene.judge();
  CHECK(tensor_of(result, 8).word == LockstepWord::undecided);
  CHECK(tensor_of(result, 8).triangle > kLargestTriangle);
}

TEST_CASE("the document names every tensor with its figures, and is read", "[lockstep]") {
  Lockstep judged = LockstepScene(8).judge();
  judged.tensors[0].max_ulp = std::numeric_limits<std::uint64_t>::max();  // the largest of fp64 is beyond 2^63
  judged.tensors[1].pooled.reset();
  const nlohmann::json json = to_json(judged);
  CHECK(to_json(lockstep_from_json(nlohmann::json::parse(json.dump()))) == json);
  CHECK(json.at("schema") == "reprobench/lockstep");
  CHECK(json.at("tensors").size() == kTensors);
  CHECK(json.at("tensors").at(0).at("pooled").at("bound").get<double>() > kLegitimateRatio);
}

}  // namespace
}  // namespace reprobench
