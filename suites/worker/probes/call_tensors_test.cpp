// Operator calls on tensors of a file of the user's.
#include "suites/worker/probes/call_tensors.hpp"

#include <fstream>

#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/relu.h>
#include <c10/core/Device.h>

#include "ci/catch.hpp"
#include "matrix/base/plain_sha256.hpp"
#include "suites/worker/data/own_file.hpp"
#include "suites/worker/probes/probe.hpp"
#include "suites/worker/probes/single_call.hpp"
#include "suites/worker/record/tensor_file.hpp"
#include "suites/worker/record/tensor_record.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/temporary_folder.hpp"

namespace reprobench {
namespace {

// A folder with one file of tensors, and requests for calls on what it holds.
struct TensorPlace {
  TensorPlace() { write({{"x", at::arange(-3, 3, at::kFloat).view({2, 3})}, {"i", at::arange(3, at::kLong)}}); }

  std::filesystem::path file() const { return folder.path() / "t.safetensors"; }
  void write(const NamedTensors& tensors) {
    write_tensors(file(), tensors, {});
    sha256 = plain_sha256_of_text(text_of_own_file(file()));
  }
  // A truth value of `byte`, which no tensor of LibTorch's would be written with.
  void write_truth_values(char byte) {
    const std::string header = R"({"m":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]}})";
    std::string text(8, '\0');
    text.front() = static_cast<char>(header.size());
    text += header + std::string({'\0', byte, '\1'});
    std::ofstream(file(), std::ios::binary) << text;
    sha256 = plain_sha256_of_text(text);
  }

  WorkloadRequest workload(std::vector<std::string> calls) const {
    WorkloadRequest workload{"", "base", 0, 0, "operators", 2};
    workload.calls = std::move(calls);
    workload.tensors_file = file();
    workload.tensors_sha256 = sha256;
    return workload;
  }
  CellResult run(const WorkloadRequest& workload) const {
    CellRequest request;
    request.cell_id = "3f9c1e0a7b52";
    request.nonce = "0123456789abcdef";
    request.workload = workload;
    request.device = "cpu";
    request.knobs = with_defaults({});
    CellResult result;
    run_probe(request, folder.path(), result);
    return result;
  }
  CellResult made(std::vector<std::string> calls) const { return run(workload(std::move(calls))); }

  TemporaryFolder folder;
  std::string sha256;
};

std::string failure_of_run(const TensorPlace& place, const WorkloadRequest& workload) {
  try {
    place.run(workload);
  } catch (const RunFailure& failure) {
    return failure.cause() + ": " + failure.what();
  }
  return "";
}

TEST_CASE("a call on tensors of a file computes with what they hold, however they lie", "[probe]") {
  const TensorPlace place;
  const at::Tensor x = at::arange(-3, 3, at::kFloat).view({2, 3});
  for (const char* layout : {"", " strides [1, 2]", " strides [7, 2]"}) {
    CAPTURE(layout);
    const CellResult result = place.made({std::string("relu(f32[2, 3]") + layout + " from 'x')"});
    const CallRecord& record = *result.measurements.at(0).call;
    CHECK(record.end == CallEnd::ran);
    CHECK(record.outputs.at(0).digest == to_hex(digest_of(at::relu(x))));
    CHECK(record.outputs.at(1).name == "gradient.0");
    CHECK(record.outputs.at(0).error_rel == 0);  // in fp64 on the same values
  }
  const CellResult drawn = place.made({"relu(f32[2, 3])"});
  CHECK(drawn.measurements.at(0).call->outputs.at(0).digest != to_hex(digest_of(at::relu(x))));
}

TEST_CASE("whole numbers of a file are indices as they stand there", "[probe]") {
  const TensorPlace place;
  const auto embedded = [&](const std::string& indices) {
    return place.made({"embedding(f32[8, 4], " + indices + ")"}).measurements.at(0).call->end;
  };
  CHECK(embedded("i64[3] from 'i'") == CallEnd::ran);
}

TEST_CASE("a call in place leaves the next one what the file holds", "[probe]") {
  const TensorPlace place;
  const CellResult result = place.made({"relu_(f32[2, 3] from 'x')", "neg(f32[2, 3] from 'x')"});
  CHECK(result.measurements.at(0).call->repeats);
  CHECK(result.measurements.at(1).call->outputs.at(0).digest ==
        to_hex(digest_of(at::arange(-3, 3, at::kFloat).view({2, 3}).neg())));
}

TEST_CASE("what the file holds is part of the work", "[probe]") {
  TensorPlace place;
  const std::vector<std::string> calls = {"relu(f32[2, 3] from 'x')"};
  const CellResult before = place.made(calls);
  CHECK(place.made(calls).workload_digest == before.workload_digest);
  place.write({{"x", at::arange(6, at::kFloat).view({2, 3})}});
  const CellResult after = place.made(calls);
  CHECK_FALSE(after.workload_digest == before.workload_digest);
  CHECK_FALSE(after.measurements.at(0).call->inputs == before.measurements.at(0).call->inputs);
}

TEST_CASE("a file of tensors that is not the one planned ends the attempt before a call is made", "[probe]") {
  using Catch::StartsWith;
  TensorPlace place;
  const WorkloadRequest workload = place.workload({"relu(f32[2, 3] from 'x')"});
  place.write({{"x", at::arange(6, at::kFloat).view({2, 3})}});
  CHECK_THAT(failure_of_run(place, workload),
             StartsWith("input_changed: ") && Catch::Contains("and the workload names"));
  place.write({{"y", at::arange(6, at::kFloat)}});
  CHECK_THAT(failure_of_run(place, workload), StartsWith("input_changed: "));  // not that `x` is missing
  std::filesystem::resize_file(place.file(), std::filesystem::file_size(place.file()) - 1);
  CHECK_THAT(failure_of_run(place, workload), StartsWith("input_changed: not the file that was planned"));
  std::filesystem::remove(place.file());
  CHECK_THAT(failure_of_run(place, workload), StartsWith("input_changed: ") && Catch::Contains("cannot be opened"));
}

TEST_CASE("tensors that no plan would ask for are refused with the cause", "[probe]") {
  using Catch::StartsWith;
  TensorPlace place;
  const auto refused = [&](const std::string& call) { return failure_of_run(place, place.workload({call})); };
  CHECK_THAT(refused("relu(f32[6] from 'x')"), StartsWith("input_refused: ") && Catch::Contains("`x`"));
  CHECK_THAT(refused("relu(f16[2, 3] from 'x')"), StartsWith("input_refused: "));
  CHECK_THAT(refused("relu(f32[2, 3] from 'y')"), StartsWith("input_refused: "));
  WorkloadRequest nowhere = place.workload({"relu(f32[2, 3] from 'x')"});
  nowhere.tensors_file.clear();
  CHECK_THAT(failure_of_run(place, nowhere), StartsWith("bad_request: ") && Catch::Contains("`x`"));
  place.write_truth_values(1);
  CHECK(refused("logical_not(bool[3] from 'm')").empty());
  place.write_truth_values(2);
  CHECK(refused("logical_not(bool[3] from 'm')") == "input_refused: `m` is of truth values and holds 2 at element 1");
}

TEST_CASE("of a call that its list's memory does not allow, no tensor is kept", "[probe]") {
  const TensorPlace place;
  WorkloadRequest workload = place.workload({"relu(f32[2, 3] from 'not there')", "relu(f32[1])"});
  workload.memory_bytes = 100;  // six elements in fp32 and fp64, with gradients, take 144
  const CellResult result = place.run(workload);
  CHECK(result.measurements.at(0).call->end == CallEnd::too_large);
  CHECK(result.measurements.at(1).call->end == CallEnd::ran);
}

}  // namespace
}  // namespace reprobench
