#include "matrix/cli/text/order_changes_text.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

CallComparison made_by(const std::string& library, std::vector<OrderName> orders) {
  CallComparison call;
  call.word = CallWord::equal;
  call.library = library;
  call.library_unknown = library.empty() ? "nothing was seen of what ran" : "";
  call.orders = std::move(orders);
  return call;
}

OperatorAtlas two_releases() {
  OperatorAtlas atlas;
  atlas.cpu = "a CPU, AVX2";
  atlas.columns = {{"torch-2.9.0", "2.9.0", "a", ""}, {"torch-2.10.0", "2.10.0", "b", ""}};
  atlas.reference = 1;
  const OrderName one{"output.0", "a chain #1", ""};
  const OrderName other{"output.0", "two chains #2", ""};
  const OrderName gradient{"gradient.0", "a chain #1", ""};
  const OrderName other_gradient{"gradient.0", "two chains #2", ""};
  const OrderName unknown{"output.0", "", "it is no sum"};
  atlas.rows = {
      {"mv(f32[4, 4], f32[4])", {made_by("", {one}), made_by("", {other})}},
      {"mm(f32[4, 4], f32[4, 4])", {made_by("MKL", {one}), made_by("MKL", {one})}},
      {"mm(f32[8, 8], f32[8, 8])", {made_by("MKL", {one, gradient}), made_by("MKL", {other, other_gradient})}},
      {"gelu(f32[4])", {made_by("MKL", {unknown}), made_by("MKL", {unknown})}}};
  return atlas;
}

TEST_CASE("changes stand by library with both orders, the same are counted, and what is not known has a reason",
          "[cli]") {
  CHECK(order_changes_text(two_releases(), 0, 1) ==
        R"(orders of summation: torch-2.9.0 against torch-2.10.0; 4 calls; a CPU, AVX2

computed by: MKL
  mm(f32[8, 8], f32[8, 8])  output.0, gradient.0
    a chain #1                                                   torch-2.9.0
    two chains #2                                                torch-2.10.0

computed by: not known: nothing was seen of what ran
  mv(f32[4, 4], f32[4])  output.0
    a chain #1                                                   torch-2.9.0
    two chains #2                                                torch-2.10.0

1 outputs add in one order on both, which gives equal bits for every input of their shape:
  mm 1
1 are not known:
  1 x gelu: it is no sum
)");
  CHECK(order_count_text(order_changes(two_releases(), 0, 1)) == "orders: 3 other, 1 the same, 1 not known");
}

TEST_CASE("changes alone leave out what is the same and what is not known", "[cli]") {
  const std::string text = order_changes_text(two_releases(), 0, 1, true);
  CHECK_THAT(text, Catch::Contains("mm(f32[8, 8]") && !Catch::Contains("add in one order") && !Catch::Contains("gelu"));
}

TEST_CASE("a stack without records, a drill and a defect are told", "[cli]") {
  OperatorAtlas atlas = two_releases();
  atlas.columns[1].problem = "crash: SIGSEGV";
  atlas.planted = {"result"};
  atlas.rows[1].by_column[0].word = CallWord::defect;
  atlas.rows[1].by_column[0].why = "element 3 is wrong";
  const std::string text = order_changes_text(atlas, 0, 1);
  CHECK_THAT(text, Catch::StartsWith("DRILL, planted: result\n"));
  CHECK_THAT(text, Catch::Contains("torch-2.10.0 has no records: crash: SIGSEGV\n"));
  CHECK_THAT(text, Catch::Contains("  mm(f32[4, 4], f32[4, 4])\n    defect: element 3 is wrong\n"));
  CHECK_THAT(order_count_text(order_changes(atlas, 0, 1)), Catch::EndsWith("; 1 that no order explains"));
}

}  // namespace
}  // namespace reprobench
