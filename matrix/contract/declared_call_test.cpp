#include "matrix/contract/declared_call.hpp"

#include "ci/catch.hpp"
#include "ci/thrown.hpp"
#include "matrix/base/safetensors.hpp"
#include "matrix/contract/probe_measurement.hpp"
#include "matrix/contract/version.hpp"

namespace reprobench {
namespace {

const DeclaredTensor& tensor_at(const DeclaredCall& call, std::size_t place) {
  return std::get<DeclaredTensor>(call.arguments.at(place).value);
}

std::string refusal_of(const std::string& text) {
  return message_of<ContractError>([&] { parse_call(text); });
}

TEST_CASE("a call is its operator and arguments of every kind", "[contract]") {
  const DeclaredCall call = parse_call(
      "foo.bar(f32[256, 768], [2, -1], none, true, 7, -1e-5, 'tanh', {f32[2], f32[]}, [true, false], scale=0.5)");
  CHECK(call.name == "foo");
  CHECK(call.overload == "bar");
  REQUIRE(call.arguments.size() == 10);
  CHECK(tensor_at(call, 0).shape == std::vector<std::int64_t>{256, 768});
  CHECK(tensor_at(call, 0).elements() == 196608);
  CHECK(std::get<DeclaredIntegers>(call.arguments[1].value) == DeclaredIntegers{2, -1});
  CHECK(std::holds_alternative<NoValue>(call.arguments[2].value));
  CHECK(std::get<bool>(call.arguments[3].value));
  CHECK(std::get<std::int64_t>(call.arguments[4].value) == 7);
  CHECK(std::get<double>(call.arguments[5].value) == -1e-5);
  CHECK(std::get<std::string>(call.arguments[6].value) == "tanh");
  CHECK(std::get<DeclaredTensors>(call.arguments[7].value).at(1).elements() == 1);
  CHECK(std::get<DeclaredFlags>(call.arguments[8].value) == DeclaredFlags{true, false});
  CHECK(call.arguments[9].name == "scale");
  CHECK(std::get<double>(call.arguments[9].value) == 0.5);
  CHECK(call.tensors().size() == 3);
}

TEST_CASE("a tensor may have strides, no gradient, and other values", "[contract]") {
  const DeclaredCall call = parse_call(
      "foo(f32[3, 4] strides [1, 3], bf16[8] constant positive, i64[5] below 50257, f32[2, 4] strides [0, 1])");
  CHECK(tensor_at(call, 0).strides == std::vector<std::int64_t>{1, 3});
  CHECK(tensor_at(call, 0).storage_elements() == 12);  // 2 * 1 + 3 * 3 + 1
  CHECK(tensor_at(call, 1).is_constant);
  CHECK(tensor_at(call, 1).is_positive);
  CHECK_FALSE(tensor_at(call, 0).is_constant);
  CHECK(tensor_at(call, 2).below == 50257);
  CHECK_FALSE(tensor_at(call, 2).is_floating());
  CHECK(tensor_at(call, 3).storage_elements() == 4);  // every row is the same memory
}

TEST_CASE("a tensor may be one of a file, by its name there", "[contract]") {
  const DeclaredCall call = parse_call(
      "foo(f32[3, 4] from 'h.0.ln_1.weight' constant, i64[5] strides [2] from 'x y', bool[2] from 'm', f32[2])");
  CHECK(tensor_at(call, 0).from == "h.0.ln_1.weight");
  CHECK(tensor_at(call, 0).is_constant);
  CHECK(tensor_at(call, 1).from == "x y");  // and needs no `below`: nothing is drawn
  CHECK(tensor_at(call, 1).strides == std::vector<std::int64_t>{2});
  CHECK(tensor_at(call, 3).from.empty());
  CHECK(canonical_call("relu( f32[N]from'N' )", {{"N", "3"}}) == "relu(f32[3] from 'N')");  // no word, so no row's
  for (const std::string& dtype : declared_dtypes()) {
    CAPTURE(dtype);
    CHECK(safetensors_dtype(safetensors_name(dtype))->bytes == static_cast<std::size_t>(dtype_bytes(dtype)));
  }
}

TEST_CASE("a file's elements need a place each", "[contract]") {
  const std::string kTaken = "nothing was thrown";
  const auto takes = [](const std::string& layout) { return refusal_of("relu(f32" + layout + " from 'x')"); };
  CHECK(takes("[3, 4] strides [4, 1]") == kTaken);
  CHECK(takes("[3, 4] strides [1, 3]") == kTaken);
  CHECK(takes("[3, 4] strides [9, 2]") == kTaken);         // gaps
  CHECK(takes("[1, 4] strides [0, 1]") == kTaken);         // one row: nothing is stepped over
  CHECK(takes("[2, 3, 4] strides [12, 4, 1]") == kTaken);  // dense
  for (const char* layout :
       {"[3, 4] strides [0, 1]", "[3, 4] strides [3, 1]", "[3, 4] strides [1, 1]", "[2, 3, 4] strides [11, 4, 1]"}) {
    CAPTURE(layout);
    CHECK_THAT(takes(layout), Catch::Contains("its strides overlap"));
  }
}

TEST_CASE("equal calls have equal texts, however they were typed", "[contract]") {
  const std::string text = "mm(f32[3, 4] strides [1, 3], f32[4, 5], out=none)";
  CHECK(canonical_call("mm( f32[3,4]strides[1,3] ,f32 [4,5], out = none )") == text);
  CHECK(canonical_call(text) == text);
  CHECK(parse_call(" mm(f32[3,4] strides [1,3],f32[4,5],out=none)").text == text);
  CHECK(canonical_call("relu(f32[N, C])", {{"N", "3"}, {"C", "4"}}) == "relu(f32[3, 4])");
  CHECK(canonical_call("relu(f32[NN])", {{"N", "3"}}) == "relu(f32[NN])");  // whole words alone
  CHECK(canonical_call("cat({f32[2], f32[3]}, 1)") == "cat({f32[2], f32[3]}, 1)");
}

TEST_CASE("what is no call is refused where it goes wrong", "[contract]") {
  using Catch::Contains;
  CHECK_THAT(refusal_of(""), Contains("the operator's name is missing"));
  CHECK_THAT(refusal_of("relu"), Contains("after `relu`: `(` is missing"));
  CHECK_THAT(refusal_of("relu(f32[2]"), Contains("`,` is missing"));
  CHECK_THAT(refusal_of("relu(f32[2]) x"), Contains("nothing may follow"));
  CHECK_THAT(refusal_of("relu(f31[2])"), Contains("a value is missing"));
  CHECK_THAT(refusal_of("relu(f32[-2])"), Contains("-2 is out of range"));
  CHECK_THAT(refusal_of("relu(f32[N])"), Contains("a whole number is missing"));
  CHECK_THAT(refusal_of("relu(f32[1.5])"), Contains("a whole number is missing"));
  CHECK_THAT(refusal_of("relu(i64[2])"), Contains("need `below N`"));
  CHECK_THAT(refusal_of("relu(f32[2] below 3)"), Contains("no attribute of such a tensor"));
  CHECK_THAT(refusal_of("relu(f32[2, 3] strides [1])"), Contains("a stride for every extent"));
  CHECK_THAT(refusal_of("relu(f32[1000000, 1000000, 1000000])"), Contains("too many elements"));
  CHECK_THAT(refusal_of("relu(f32[2, 2] strides [1000000000000, 1000000000000])"), Contains("reach too far"));
  CHECK_THAT(refusal_of("relu(f32[2] from x)"), Contains("after `relu(f32[2] from`: a tensor's name in quotes"));
  CHECK_THAT(refusal_of("relu(f32[2] from '')"), Contains("a tensor's name in quotes"));
  CHECK_THAT(refusal_of("relu(f32[2] from 'x' positive)"), Contains("goes with neither `positive` nor `below`"));
  CHECK_THAT(refusal_of("relu(i64[2] below 3 from 'x')"), Contains("goes with neither `positive` nor `below`"));
  CHECK_THAT(refusal_of("relu(f32[2], 1.5.2)"), Contains("is no number"));
  CHECK_THAT(refusal_of("relu(f32[2], 'a)"), Contains("quote is not closed"));
  CHECK_THAT(refusal_of("relu(f32[2]; 3)"), Contains("`;` has no meaning"));
}

ProbeMeasurement measured_call() {
  CallOutput output{"output.0", "float32", {2}, std::string(32, 'a'), 1e-8, 0, "", std::vector<double>(8, 1), {}, 1};
  output.fp64_sums = output.sums;
  ProbeMeasurement measurement;
  measurement.operation = "operator_call";
  measurement.labels = {{"call", "relu(f32[2])"}};
  measurement.unit = "ns";
  measurement.status = MeasurementStatus::measured;
  measurement.samples = {5};
  measurement.call = CallRecord{CallEnd::ran, std::string(32, 'b'), true, {output}};
  return measurement;
}

TEST_CASE("a call's record is read as it was written, and refused where it contradicts itself", "[contract]") {
  const nlohmann::json whole = to_json(measured_call());
  CHECK(probe_measurement_from_json(whole) == measured_call());
  const auto refused = [&](const char* path, const nlohmann::json& value) {
    nlohmann::json changed = whole;
    changed["call"][nlohmann::json::json_pointer(path)] = value;
    CHECK_THROWS_AS(probe_measurement_from_json(changed), ContractError);
  };
  refused("/end", "absent");  // and still has outputs
  refused("/end", "vanished");
  refused("/outputs", nlohmann::json::array());    // ran and made nothing
  refused("/inputs", "");                          // ran on nothing
  refused("/outputs/0/no_fp64", "whole numbers");  // beside an error
  refused("/outputs/0/error_rel", nullptr);        // without a reason
  refused("/outputs/0/sums", nlohmann::json::array({1}));
  refused("/outputs/0/fp64_sums", nlohmann::json::array());
}

}  // namespace
}  // namespace reprobench
