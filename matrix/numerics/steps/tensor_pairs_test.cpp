#include "matrix/numerics/steps/tensor_pairs.hpp"

#include "ci/catch.hpp"
#include "matrix/numerics/steps/drifting_runs.hpp"
#include "matrix/numerics/steps/tensor_distance.hpp"
#include "matrix/numerics/steps/trajectory.hpp"

namespace reprobench {
namespace {

TensorsRecord record_of(const std::vector<std::pair<TensorRole, std::string>>& tensors) {
  TensorsRecord record;
  for (const auto& [role, name] : tensors) record.tensors.push_back(drifting::tensor(name, role, 0));
  return record;
}

// "a-a" of a pair, "a-" of what the measured side alone has; by place in the records, so that two of one name are told
// apart.
std::string paired(const TensorsRecord& measured, const TensorsRecord& expected) {
  std::string text;
  for (const TensorPair& pair : tensor_pairs(measured, expected)) {
    const auto place = [](const TensorRecord* tensor, const TensorsRecord& of) {
      return tensor == nullptr ? std::string() : std::to_string(tensor - of.tensors.data());
    };
    text += place(pair.measured, measured) + "-" + place(pair.expected, expected) + " ";
  }
  return text;
}

TEST_CASE("tensors of equal lists stand at equal places", "[pairs]") {
  const TensorsRecord list = record_of({{TensorRole::input, "x"}, {TensorRole::forward_output, "fc1"}});
  CHECK(paired(list, list) == "0-0 1-1 ");
  CHECK(paired({}, {}).empty());
}

TEST_CASE("behind a module that one side alone has, each tensor still finds its own", "[pairs]") {
  const TensorsRecord longer = record_of({{TensorRole::parameter, "w"},
                                          {TensorRole::forward_output, "softmax"},
                                          {TensorRole::forward_output, "fc"},
                                          {TensorRole::grad_output, "fc"}});
  const TensorsRecord shorter =
      record_of({{TensorRole::parameter, "w"}, {TensorRole::forward_output, "fc"}, {TensorRole::grad_output, "fc"}});
  CHECK(paired(longer, shorter) == "0-0 1- 2-1 3-2 ");
  CHECK(paired(shorter, longer) == "0-0 1-2 2-3 -1 ");
  CHECK(paired(longer, {}) == "0- 1- 2- 3- ");
  CHECK(paired({}, shorter) == "-0 -1 -2 ");
}

TEST_CASE("of several tensors of one name the second is the second, and a role is part of the name", "[pairs]") {
  const TensorsRecord twice = record_of(
      {{TensorRole::mask, "relu"}, {TensorRole::forward_output, "relu"}, {TensorRole::forward_output, "relu"}});
  const TensorsRecord once = record_of({{TensorRole::forward_output, "relu"}, {TensorRole::mask, "relu"}});
  CHECK(paired(twice, once) == "0-1 1-0 2- ");
  CHECK(paired(once, twice) == "0-1 1-0 -2 ");
  TensorsRecord other = record_of({{TensorRole::input, "x"}});
  other.tensors.insert(other.tensors.end(), twice.tensors.begin(), twice.tensors.end());
  CHECK(paired(twice, other) == "0-1 1-2 2-3 -0 ");
}

TEST_CASE("weights are compared behind a module that one side alone has", "[pairs]") {
  Trace other = drifting::run(1e-6);
  for (TensorsRecord& record : other.tensors) {
    record.tensors.insert(record.tensors.begin(), drifting::tensor("softmax", TensorRole::forward_output, 0));
  }
  const Trace base = drifting::run(0);
  const auto alone = trajectory(drifting::run(1e-6), base);
  const auto behind = trajectory(other, base);
  REQUIRE(behind.size() == alone.size());
  for (std::size_t i = 0; i < alone.size(); ++i) CHECK(behind[i].distance_rel == alone[i].distance_rel);
  CHECK(judge_trajectory(other, base, drifting::envelope(1e-6)).word == "within");
  CHECK(farthest_tensor(other.tensors[3], base.tensors[3], TensorRole::parameter, "fp32")->name == "fc1.weight");
  CHECK(first_over_bound(other, base, "fp32").has_value() ==
        first_over_bound(drifting::run(1e-6), base, "fp32").has_value());
}

}  // namespace
}  // namespace reprobench
