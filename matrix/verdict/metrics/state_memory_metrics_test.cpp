// What ranks may hold of a model, worked out by hand, and evidence that proves nothing.
#include "matrix/verdict/metrics/state_memory_metrics.hpp"

#include <functional>

#include "ci/catch.hpp"
#include "matrix/verdict/metrics/layout_fixture.hpp"

namespace reprobench {
namespace {

using layout::result_of;

TensorRecord of_shape(TensorRole role, const std::string& name, std::int64_t elements) {
  TensorRecord record = layout::tensor(role, name);
  record.shape = {elements};
  return record;
}

// A model of 4096 trained and 2048 frozen elements in fp32 under Adam. Bytes: P 24576, of them trained 16384, G 16384,
// S 32768; the largest module, `fc1`, has 3072 trained elements: L 24576.
CellEvidence whole_model() {
  CellEvidence alone = layout::evidence_of({{"0", "1"}});
  TensorsRecord& record = alone.repeats[0].ranks[0].trace->tensors.front();
  record.tensors.clear();
  for (const auto& [name, elements] : std::vector<std::pair<std::string, std::int64_t>>{
           {"fc1.weight", 2560}, {"fc1.bias", 512}, {"fc2.weight", 1024}}) {
    record.tensors.push_back(of_shape(TensorRole::parameter, name, elements));
    record.tensors.push_back(of_shape(TensorRole::parameter_gradient, name + "#0", elements));
    record.tensors.push_back(of_shape(TensorRole::parameter_gradient, name, elements));
    record.tensors.push_back(of_shape(TensorRole::optimizer_state, name + ".exp_avg", elements));
    record.tensors.push_back(of_shape(TensorRole::optimizer_state, name + ".exp_avg_sq", elements));
  }
  record.tensors.push_back(of_shape(TensorRole::parameter, "frozen.weight", 2048));
  record.tensors.push_back(of_shape(TensorRole::buffer, "running_mean", 999));
  return alone;
}

struct Held {
  std::int64_t device_bytes;
  std::int64_t host_bytes;
};

CellEvidence ranks_that_held(std::size_t ranks, const Held& held, KnobValues knobs) {
  std::vector<std::vector<std::string>> micro_batches;
  for (std::size_t rank = 0; rank < ranks; ++rank) micro_batches.push_back({std::to_string(rank)});
  CellEvidence cell = layout::evidence_of(micro_batches);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    CellResult& result = result_of(cell, rank);
    for (const auto& [name, value] : knobs) result.knobs_resolved[name] = value;
    result.model_state_device_peak_bytes = held.device_bytes;
    result.model_state_host_peak_bytes = held.host_bytes;
    result.model_state_peak_bytes = held.device_bytes + held.host_bytes;
  }
  return cell;
}

// The bytes that are allowed, told from what a rank that held that many comes to.
std::int64_t allowed_bytes(Measurement (*metric)(const CellEvidence&, const CellEvidence*), std::size_t ranks,
                           const KnobValues& knobs) {
  constexpr std::int64_t kMany = 1'000'000'000;
  const CellEvidence alone = whole_model();
  const Measurement measured = metric(ranks_that_held(ranks, {kMany, kMany}, knobs), &alone);
  const double held = metric == &model_state_bound_share ? 2.0 * kMany : 1.0 * kMany;
  return static_cast<std::int64_t>(held / measured.value.value() + 0.5);
}

KnobValues settings(const char* stage, const char* offload, const char* accumulate = "1") {
  return {{"zero_stage", stage}, {"offload", offload}, {"accumulate", accumulate}};
}

constexpr std::int64_t kP = 24576;
constexpr std::int64_t kG = 16384;
constexpr std::int64_t kS = 32768;
constexpr std::int64_t kC = 16384;                      // copies of the trained parameters
constexpr std::int64_t kL = 24576;                      // the largest module
constexpr std::int64_t kBlock = 256 * std::int64_t{4};  // of one kind of tensor

TEST_CASE("a rank may hold its share of what its stage shares out, and the largest module", "[verdict][ranks]") {
  const auto allowed = [](std::size_t ranks, const KnobValues& knobs) {
    return allowed_bytes(&model_state_bound_share, ranks, knobs);
  };
  CHECK(allowed(1, settings("0", "none")) == kP + kG + kS);
  CHECK(allowed(1, settings("3", "none")) == kP + kG + kS);  // one rank has nobody to share with
  CHECK(allowed(2, settings("0", "none")) == kP + kG + kS);
  CHECK(allowed(2, settings("1", "none")) == kP + kG + kS / 2 + 5 * kBlock);
  CHECK(allowed(2, settings("2", "none")) == kP + kG + (kG + kS) / 2 + 5 * kBlock);
  CHECK(allowed(4, settings("3", "none")) == (kP + kG + kS) / 4 + 5 * kBlock + kL);
  CHECK(allowed(4, settings("3", "none", "2")) == (kP + kG + kS) / 4 + 5 * kBlock + kL + kG);
  CHECK(allowed(1, settings("0", "optimizer")) == kP + kG + kS + kC + kL);
  CHECK(allowed(4, settings("3", "optimizer")) == (kP + kG + kS + kC) / 4 + 6 * kBlock + kL);
  CHECK(allowed(4, settings("3", "optimizer_and_param")) == (kP + kG + kS) / 4 + 5 * kBlock + kL);
  CHECK(allowed(1, {{"replicas", "4"}}) == 4 * (kP + kG) + kS);  // one optimizer for all
}

TEST_CASE("with offload no optimizer state may lie on the device, nor parameters that it sends away",
          "[verdict][ranks]") {
  const auto allowed = [](std::size_t ranks, const KnobValues& knobs) {
    return allowed_bytes(&device_state_bound_share, ranks, knobs);
  };
  CHECK(allowed(1, settings("0", "none")) == kP + kG + kS);
  CHECK(allowed(1, settings("0", "optimizer")) == kP + kG);
  CHECK(allowed(2, settings("1", "optimizer")) == kP + kG + 6 * kBlock);
  CHECK(allowed(2, settings("2", "optimizer")) == kP + kG + kG / 2 + 6 * kBlock);
  CHECK(allowed(4, settings("3", "optimizer")) == (kP + kG) / 4 + 6 * kBlock + kL);
  CHECK(allowed(4, settings("3", "optimizer_and_param")) == kG / 4 + 5 * kBlock + kL);
}

TEST_CASE("the fullest rank of all repeats is named with what it may hold", "[verdict][ranks]") {
  const CellEvidence alone = whole_model();
  CellEvidence cell = ranks_that_held(2, {40'000, 0}, settings("3", "none"));
  result_of(cell, 1).model_state_peak_bytes = 66'560 + 1;
  const Measurement measured = model_state_bound_share(cell, &alone);
  CHECK(*measured.value > 1);
  CHECK(measured.statement ==
        "rank 1 of 2 held 66561 B of model state, `zero_stage: 3` and `offload: none` allow 66560 B");
  cell.repeats.push_back(cell.repeats[0]);
  cell.repeats[1].repeat = 1;
  cell.repeats[1].ranks[0].result->model_state_peak_bytes = 66'570;
  CHECK(model_state_bound_share(cell, &alone).repeat == 1);
  CHECK(*device_state_bound_share(cell, &alone).value < 1);
}

TEST_CASE("ranks that say they held less than there is to hold prove nothing", "[verdict][ranks]") {
  const CellEvidence alone = whole_model();
  const auto missing = [&](const Held& held, const KnobValues& knobs) {
    return model_state_bound_share(ranks_that_held(2, held, knobs), &alone).missing;
  };
  CHECK(missing({36'863, 0}, settings("3", "none")) ==
        "the ranks of repeat 0 say that they held 73726 B together, the model has 73728 B");
  CHECK(missing({36'864, 0}, settings("3", "none")).empty());
  // An offload that sends nothing away, or not the copies that are updated.
  CHECK(missing({40'000, 24'575}, settings("3", "optimizer")) ==
        "the ranks of repeat 0 say that they held 49150 B on the host, `offload: optimizer` sends 49152 B there");
  CHECK(missing({40'000, 24'576}, settings("3", "optimizer")).empty());
  CHECK(missing({40'000, 28'671}, settings("3", "optimizer_and_param")) ==
        "the ranks of repeat 0 say that they held 57342 B on the host, `offload: optimizer_and_param` sends 57344 B "
        "there");
  CHECK(missing({40'000, 28'672}, settings("3", "optimizer_and_param")).empty());
}

TEST_CASE("bytes that nobody measured, and a model that nobody recorded, have no share", "[verdict][ranks]") {
  const CellEvidence alone = whole_model();
  for (std::int64_t CellResult::*field :
       {&CellResult::model_state_peak_bytes, &CellResult::model_state_device_peak_bytes,
        &CellResult::model_state_host_peak_bytes}) {
    CellEvidence cell = ranks_that_held(2, {40'000, 40'000}, settings("3", "optimizer"));
    result_of(cell, 1).*field = -1;
    CHECK(model_state_bound_share(cell, &alone).missing == "rank 1 of repeat 0 measured none");
    CHECK(device_state_bound_share(cell, &alone).missing == "rank 1 of repeat 0 measured none");
  }
  const CellEvidence cell = ranks_that_held(2, {40'000, 40'000}, settings("3", "none"));
  const auto without = [&](const std::function<void(TensorsList&)>& change) {
    CellEvidence other = whole_model();
    change(other.repeats[0].ranks[0].trace->tensors);
    return model_state_bound_share(cell, &other).missing;
  };
  CHECK(without([](auto& records) { records.clear(); }) == "on-1 has no record of its tensors");
  CHECK(without([](auto& records) { records.erase(records.begin(), records.end() - 1); }) ==
        "on-1 has no record of its tensors");
  CHECK(without([](auto& records) { records.front().tensors.front().dtype = "float7"; }) ==
        "on-1 recorded `fc1.weight` of the unknown type `float7`");
  CHECK(without([](auto& records) {
          std::erase_if(records.front().tensors,
                        [](const TensorRecord& one) { return one.role == TensorRole::optimizer_state; });
        }) == "on-1 recorded no gradient or no optimizer state");
  CHECK(without([](auto& records) {
          std::erase_if(records.front().tensors,
                        [](const TensorRecord& one) { return one.role == TensorRole::parameter_gradient; });
        }) == "on-1 recorded no gradient or no optimizer state");
}

}  // namespace
}  // namespace reprobench
