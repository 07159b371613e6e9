#include "matrix/inquiry/explain/side_captures.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

OperatorRecord call_of(std::int64_t index, std::vector<std::int64_t> shape = {2}) {
  OperatorRecord call;
  call.index = index;
  call.name = "aten::mul";
  call.outputs = {{"float32", std::move(shape), std::string(32, 'a')}};
  return call;
}

// So many calls on the measured side against one on the expected side.
Explanation region_of(std::size_t calls, const std::vector<std::int64_t>& shape = {2}) {
  Explanation found;
  OperatorRegion& region = found.region.emplace();
  for (std::size_t i = 0; i < calls; ++i) {
    region.measured.calls.push_back(call_of(static_cast<std::int64_t>(i), shape));
  }
  region.expected.calls = {call_of(7)};
  region.measured.at.step = region.expected.at.step = 1;
  return found;
}

std::size_t captured(Explanation& found, SideCaptures::Side side) {
  return SideCaptures(side, sources_to_capture(found)).sites().size();
}

TEST_CASE("every call of a module is captured beside its source, up to 32 of them on a side", "[inquiry]") {
  const auto [calls, sites] = GENERATE(std::pair(1, 2), std::pair(32, 33), std::pair(33, 1));
  Explanation found = region_of(static_cast<std::size_t>(calls));
  CHECK(captured(found, SideCaptures::Side::measured) == static_cast<std::size_t>(sites));
  CHECK(captured(found, SideCaptures::Side::expected) == 2);
}

TEST_CASE("the calls of all modules share the 32", "[inquiry]") {
  Explanation found = region_of(20);
  found.further_sources.emplace_back();
  found.further_sources[0].region = region_of(13).region;
  found.further_sources.emplace_back();
  found.further_sources[1].region = region_of(12).region;
  for (FurtherSource& source : found.further_sources) source.region->measured.calls.front().name = "aten::div";
  CHECK(captured(found, SideCaptures::Side::measured) == 3 + 20 + 12);
}

TEST_CASE("the calls of all modules share 1024 MiB", "[inquiry]") {
  constexpr std::int64_t kElements = kMostCaptureBytes / 24 / 2;  // two such calls fit, and no third
  Explanation found = region_of(2, {kElements});
  CHECK(captured(found, SideCaptures::Side::measured) == 3);
  found = region_of(3, {kElements});
  CHECK(captured(found, SideCaptures::Side::measured) == 1);
  found = region_of(1);
  found.region->expected.calls = {call_of(7, {kElements}), call_of(8, {kElements})};
  found.further_sources.emplace_back();
  found.further_sources[0].region = region_of(1).region;
  CHECK(captured(found, SideCaptures::Side::expected) == 2 + 2);
}

TEST_CASE("with the first look alone one source of every operator is captured", "[inquiry]") {
  Explanation found;
  for (const char* name : {"aten::mul_", "aten::lerp_", "aten::mul_", "aten::lerp_"}) {
    FurtherSource& source = found.further_sources.emplace_back();
    source.call.emplace();
    source.call->measured.name = source.call->expected.name = name;
  }
  CHECK(sources_to_capture(found).size() == 4);
  const auto sources = sources_to_capture(found, false, Looks::first);
  REQUIRE(sources.size() == 2);
  CHECK(sources[0] == &found.further_sources[0]);
  CHECK(sources[1] == &found.further_sources[1]);
}

TEST_CASE("at most 32 sources are captured, whatever stands behind them", "[inquiry]") {
  Explanation found;
  for (int i = 0; i < 40; ++i) {
    FurtherSource& source = found.further_sources.emplace_back();
    source.call.emplace();
    source.call->measured.name = source.call->expected.name = "aten::mul_";
  }
  CHECK(kMostCaptures == 32);
  CHECK(sources_to_capture(found).size() == 32);
}

TEST_CASE("a subgraph at a step's end that one side alone takes is not captured, and what is behind it is",
          "[inquiry]") {
  Explanation found = region_of(1);
  found.further_sources.emplace_back();
  found.further_sources[0].region = region_of(1).region;
  CHECK(sources_to_capture(found).size() == 2);
  OperatorRegion& region = *(GENERATE(true, false) ? found.region : found.further_sources[0].region);
  (GENERATE(true, false) ? region.measured : region.expected) = OperatorSubgraph{};
  const auto sources = sources_to_capture(found);
  REQUIRE(sources.size() == 1);
  CHECK(has_both_sides(*sources.front()));
  for (const auto side : {SideCaptures::Side::measured, SideCaptures::Side::expected}) {
    CHECK(SideCaptures(side, sources).sites().front().step == 1);
  }
}

}  // namespace
}  // namespace reprobench
