#include "matrix/inquiry/explain/source_judgement.hpp"

#include <span>
#include <utility>

#include <fmt/format.h>

#include "ci/catch.hpp"
#include "matrix/base/safetensors.hpp"
#include "matrix/record/sample_attempt.hpp"

namespace reprobench {
namespace {

OperatorTensor tensor_of(std::vector<std::int64_t> shape) {
  OperatorTensor tensor;
  tensor.shape = std::move(shape);
  return tensor;
}

TEST_CASE("a capture takes 24 bytes for each number that goes in or comes out", "[inquiry]") {
  DifferenceSource source;
  source.call.emplace();
  OperatorRecord& call = source.call->measured;
  call.inputs = {tensor_of({2, 3}), tensor_of({})};
  call.outputs = {tensor_of({5})};
  CHECK(capture_bytes(source) == 24 * (6 + 1 + 5));
  const OperatorRecord copy = call;
  source.call.reset();
  OperatorRegion& region = source.region.emplace();
  region.measured.at.inputs = {tensor_of({4})};
  region.measured.calls = {copy, copy};
  region.expected.calls = {copy};  // of the other side
  CHECK(capture_bytes(source) == 24 * (4 + 12 + 12));
}

TEST_CASE("extents whose product leaves 64 bits are too much to capture, not too little", "[inquiry]") {
  DifferenceSource source;
  source.call.emplace();
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  source.call->measured.inputs = {tensor_of({kMost, kMost}), tensor_of({kMost})};
  CHECK(capture_bytes(source) == std::int64_t{1} << 60);
}

// A call of three outputs, of which the two sides make the first otherwise, and its tensors as a worker captures them.
struct SeveralOutputs {
  DifferenceSource source;
  CellRequest request;
  TemporaryFolder folder;

  explicit SeveralOutputs(const std::string& name) {
    request.device = "cpu";
    request.knobs = with_defaults({});
    OperatorDivergence& call = source.call.emplace();
    call.measured.name = call.expected.name = name;
    call.measured.module = call.expected.module = "bn1";
    for (const char mark : {'a', 'b', 'c'}) {
      OperatorTensor made{"float32", {2}, std::string(32, mark)};
      if (mark == 'c') made.argument = "running_var";
      call.expected.outputs.push_back(made);
      made.digest[0] = '0';
      call.measured.outputs.push_back(made);
    }
  }

  // What the measured side makes; the expected one makes 1 and 2, as fp64 does.
  void judge(const std::vector<std::vector<float>>& made) {
    std::vector<std::string> notes;
    judge_source(source, request, request, captured(made), captured({{1, 2}, {1, 2}, {1, 2}}), notes);
  }

 private:
  SafetensorsFile captured(const std::vector<std::vector<float>>& made) {
    static const std::vector<double> kExact{1, 2};
    std::vector<SafetensorsTensor> tensors;
    for (std::size_t i = 0; i < made.size(); ++i) {
      tensors.push_back({fmt::format("output.{}", i), "F32", {2}, std::as_bytes(std::span(made[i]))});
      tensors.push_back({fmt::format("fp64.{}", i), "F64", {2}, std::as_bytes(std::span(kExact))});
    }
    const auto path = folder.path / fmt::format("{}.safetensors", ++files_);
    write_safetensors(path, std::move(tensors), {});
    return SafetensorsFile::open(path);
  }

  int files_ = 0;
};

TEST_CASE("of several outputs that differ the worst is judged, and a buffer is named", "[inquiry]") {
  constexpr float kOneUlpUp = 1 + 0x1p-23F;
  SeveralOutputs one("aten::mul");
  one.judge({{kOneUlpUp, 2}, {kOneUlpUp, 2}, {1.5F, 2}});
  CHECK(one.source.call->output == 2);
  CHECK(*one.source.budget->measured->of_bound > 1);
  REQUIRE(one.source.element);
  CHECK(one.source.element->tensor == "output 2 of aten::mul, its `bn1.running_var`");
  CHECK(filled_buffer(*one.source.call) == "bn1.running_var");
  SeveralOutputs harmless("aten::mul");
  harmless.judge({{kOneUlpUp, 2}, {kOneUlpUp, 2}, {kOneUlpUp, 2}});
  CHECK(harmless.source.call->output == 0);
  CHECK(harmless.source.element->tensor == "output 0 of aten::mul");
  CHECK(filled_buffer(*harmless.source.call).empty());
  SeveralOutputs equal("aten::mul");
  equal.source.call->measured.outputs[2] = equal.source.call->expected.outputs[2];
  equal.judge({{kOneUlpUp, 2}, {kOneUlpUp, 2}, {1.5F, 2}});  // by its digest it does not differ
  CHECK(equal.source.call->output == 0);
}

TEST_CASE("the buffer of a call of no module has the name of its argument", "[inquiry]") {
  SeveralOutputs one("aten::mul");
  one.source.call->measured.module.clear();
  one.source.call->output = 2;
  CHECK(filled_buffer(*one.source.call) == "running_var");
  one.source.call->output = 3;
  CHECK(filled_buffer(*one.source.call).empty());
}

}  // namespace
}  // namespace reprobench
