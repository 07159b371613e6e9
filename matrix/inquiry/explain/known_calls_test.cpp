#include "matrix/inquiry/explain/known_calls.hpp"

#include <span>

#include "ci/catch.hpp"
#include "matrix/base/safetensors.hpp"
#include "matrix/contract/call_order.hpp"
#include "matrix/contract/document/writer.hpp"
#include "matrix/record/sample_attempt.hpp"

namespace reprobench {
namespace {

OperatorRecord product_call(std::int64_t index, const std::string& module, const std::string& pass = "forward") {
  OperatorRecord call;
  call.step = 1;
  call.index = index;
  call.name = "aten::mul";
  call.pass = pass;
  call.module = module;
  call.outputs = {{"float32", {2}, std::string(32, 'a')}};
  return call;
}

FurtherSource known_source(const OperatorRecord& call) {
  FurtherSource source;
  source.call.emplace();
  source.call->measured = source.call->expected = call;
  source.budget.emplace();
  return source;
}

Explanation known_explanation() {
  Explanation first;
  static_cast<DifferenceSource&>(first) = known_source(product_call(3, "fc1"));
  first.further_sources = {known_source(product_call(7, "fc2")), known_source(product_call(20, "fc1", "optimizer"))};
  return first;
}

DivergencePoint point_at(const OperatorRecord& call, bool constants_differ = false) {
  DivergencePoint point;
  point.call.emplace();
  point.call->measured = point.call->expected = call;
  point.call->constants_differ = constants_differ;
  return point;
}

TEST_CASE("a place is known by its call, in the optimizer wherever it stands, and not with another constant",
          "[later]") {
  const KnownCalls known(known_explanation());
  CHECK(known.knows(point_at(product_call(3, "fc1"))));
  CHECK_FALSE(known.knows(point_at(product_call(4, "fc1"))));
  CHECK_FALSE(known.knows(point_at(product_call(3, "fc2"))));
  CHECK_FALSE(known.knows(point_at(product_call(3, "fc1"), true)));
  CHECK(known.knows(point_at(product_call(25, "fc1", "optimizer"))));
  CHECK_FALSE(known.knows(point_at(product_call(3, "fc1", "backward"))));
  DivergencePoint subgraph;
  CHECK_FALSE(known.knows(subgraph));
  subgraph.region.emplace();
  subgraph.region->measured.calls = {product_call(3, "fc1")};
  CHECK_FALSE(known.knows(subgraph));
}

TEST_CASE("known calls before the optimizer are captured at the later step, a source that asks for something else not",
          "[later]") {
  Explanation first = known_explanation();
  Replay measured;
  Replay expected;
  KnownCalls(first).ask(9, measured, expected);
  REQUIRE(measured.capture);
  CHECK(measured.capture->step == 9);
  CHECK(measured.capture->index == 3);
  REQUIRE(measured.further_captures.size() == 1);
  CHECK(measured.further_captures[0].index == 7);
  CHECK(expected.further_captures.size() == 1);
  first.further_sources[0].call->constants_differ = true;
  Replay fewer;
  KnownCalls(first).ask(9, fewer, expected);
  CHECK(fewer.further_captures.empty());
}

// What the two calls made at the later step, the second of them off by `factor`; 1 and 2 is right. `order` is that of
// the second.
void leave_captures(const std::filesystem::path& folder, float factor, const std::string& order = "") {
  static const std::vector<double> kRight{1, 2};
  for (const std::size_t number : {0, 1}) {
    const std::vector<float> made{1, number == 1 ? 2 * factor : 2};
    write_safetensors(folder / operator_tensors_file(number),
                      {{"fp64.0", "F64", {2}, std::as_bytes(std::span(kRight))},
                       {"output.0", "F32", {2}, std::as_bytes(std::span(made))}},
                      number == 1 && !order.empty() ? SafetensorsMetadata{{"order.0", order}} : SafetensorsMetadata());
  }
}

TEST_CASE("a known call beyond its own bound at the later step is a source there, on either side", "[later]") {
  const float factor = GENERATE(1.0F, 1 + 0x1p-23F, 1.001F);
  const bool is_measured = GENERATE(true, false);
  CAPTURE(factor, is_measured);
  const TemporaryFolder ours;
  const TemporaryFolder theirs;
  leave_captures(ours.path, is_measured ? factor : 1);
  leave_captures(theirs.path, is_measured ? 1 : factor);
  CellRequest request;
  request.device = "cpu";
  request.knobs = with_defaults({});
  std::vector<OperatorRecord> calls{product_call(3, "fc1"), product_call(7, "fc2")};
  const KnownCalls known(known_explanation());
  const auto beyond = known.beyond_bound({request, ours.path, calls}, {request, theirs.path, calls});
  REQUIRE(beyond.size() == (factor > 1.0001F ? 1 : 0));
  if (beyond.empty()) return;
  CHECK(beyond[0].call->measured.module == "fc2");
  CHECK((*beyond[0].budget->measured->of_bound > 1) == is_measured);
  CHECK((*beyond[0].budget->expected->of_bound > 1) == !is_measured);
  calls[1].module = "elsewhere";  // another program at that place
  CHECK(known.beyond_bound({request, ours.path, calls}, {request, theirs.path, calls}).empty());
}

TEST_CASE("a known call that leaves its own side's order at the later step is a source there, within its bound too",
          "[later]") {
  const std::int64_t given = GENERATE(2, 1);
  const bool is_measured = GENERATE(true, false);
  CAPTURE(given, is_measured);
  CallOrder order;
  order.classes = {{"(0..2)", "a chain", SumEnd::as_it_is, 3, 0, 2, 1000}};
  order.elements = 2;
  order.replayed = given;
  order.not_replayed = 2 - given;
  if (given < 2) order.first_not_replayed = given;
  const TemporaryFolder ours;
  const TemporaryFolder theirs;
  leave_captures(ours.path, 1, is_measured ? written(order).dump() : "");
  leave_captures(theirs.path, 1, is_measured ? "" : written(order).dump());
  CellRequest request;
  request.device = "cpu";
  request.knobs = with_defaults({});
  const std::vector<OperatorRecord> calls{product_call(3, "fc1"), product_call(7, "fc2")};
  const auto beyond =
      KnownCalls(known_explanation()).beyond_bound({request, ours.path, calls}, {request, theirs.path, calls});
  REQUIRE(beyond.size() == (given < 2 ? 1 : 0));
  if (beyond.empty()) return;
  CHECK(beyond[0].call->measured.module == "fc2");
  CHECK_THAT(beyond[0].budget->order.value().sentence,
             Catch::StartsWith(is_measured ? "aten::mul: the order in which the measured"
                                           : "aten::mul: the order in which the expected"));
  CHECK(*beyond[0].budget->measured->of_bound == 0);
}

}  // namespace
}  // namespace reprobench
