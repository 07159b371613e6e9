#include "matrix/cli/text/orders_text.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

CallComparison with_orders(std::vector<OrderName> orders) {
  CallComparison call;
  call.orders = std::move(orders);
  return call;
}

OrderName unknown(const char* output) { return {output, "", "it is no sum"}; }

OperatorAtlas three_releases() {
  OperatorAtlas atlas;
  atlas.run = "r-1";
  atlas.cpu = "a CPU, AVX2";
  atlas.columns = {
      {"torch-2.1.0", "2.1.0", "a", ""}, {"torch-2.9.0", "2.9.0", "b", ""}, {"torch-2.15.0", "2.15.0", "c", ""}};
  atlas.reference = 1;
  const OrderName one{"output.0", "a chain #1", ""};
  const OrderName other{"output.0", "two chains #2", ""};
  atlas.rows = {
      {"mm(f32[4, 4], f32[4, 4])", {with_orders({one}), with_orders({one}), with_orders({one})}},
      {"mm(f32[8, 8], f32[8, 8])", {with_orders({other}), with_orders({one}), with_orders({unknown("output.0")})}},
      {"gelu(f32[4])", {with_orders({}), with_orders({unknown("output.0")}), with_orders({unknown("output.0")})}}};
  return atlas;
}

TEST_CASE("orders that changed are told by stack, and a table counts them by operator and release", "[cli]") {
  CHECK(orders_text(three_releases(), false) == R"(orders of summation: 3 outputs of 3 calls on 3 stacks; a CPU, AVX2

mm(f32[8, 8], f32[8, 8])  output.0
  two chains #2                                                torch-2.1.0
  a chain #1                                                   torch-2.9.0
  not known: it is no sum: torch-2.15.0

1 outputs have one order on every stack that made them: equal bits for every input of their shape.
1 outputs whose order no stack has:
  1 x it is no sum

| operator | outputs | 2.1.0 | 2.9.0 | 2.15.0 |
| --- | --- | --- | --- | --- |
| `mm` | 2 | 1 | = | 1? |
| `gelu` | 1 |  | 1? | 1? |
=: all outputs add in the order of torch-2.9.0; 2: so many in another order, replayed to the bit on both sides; 3?: so many whose order is not known on one side
)");
}

TEST_CASE("the table counts an operator once wherever its calls stand, and an output that is missing as not known",
          "[cli]") {
  OperatorAtlas atlas = three_releases();
  std::swap(atlas.rows[1], atlas.rows[2]);
  const OrderName gradient{"gradient.0", "a chain #3", ""};
  atlas.rows[2].by_column[1].orders.push_back(gradient);
  CHECK_THAT(orders_text(atlas, false), Catch::Contains("| `mm` | 3 | 1 1? | = | 2? |\n| `gelu` | 1 |"));
}

TEST_CASE("of two runs each column is held against its own", "[cli]") {
  OperatorAtlas atlas = three_releases();
  atlas.expected_run = "r-0";
  atlas.columns[0].against = 2;
  const std::string text = orders_text(atlas, false);
  CHECK_THAT(text, Catch::Contains("| `mm` | 2 | 1? | = | 1? |\n"));
  CHECK_THAT(text, Catch::Contains("=: all outputs add in the order of the other run's column; "));
}

TEST_CASE("with all, orders that are equal everywhere stand there too; a drill says so", "[cli]") {
  OperatorAtlas atlas = three_releases();
  atlas.planted = {"result"};
  const std::string text = orders_text(atlas, true);
  CHECK_THAT(text, Catch::StartsWith("DRILL, planted: result\n"));
  CHECK_THAT(text,
             Catch::Contains("mm(f32[4, 4], f32[4, 4])  output.0\n"
                             "  a chain #1                                                   torch-2.1.0, torch-2.9.0, "
                             "torch-2.15.0\n"));
}

TEST_CASE("a run without orders says where they are asked for", "[cli]") {
  OperatorAtlas atlas = three_releases();
  for (AtlasRow& row : atlas.rows) row.by_column.assign(3, CallComparison{});
  CHECK(orders_text(atlas, true) == "run r-1 asked for no orders of summation; see matrix/orders.yaml\n");
}

}  // namespace
}  // namespace reprobench
