// The parts of the work of several ranks, without a second rank: positions, which rank holds up a collective, numbers
// whose sums are known.
#include <set>

#include <ATen/core/Tensor.h>
#include <ATen/ops/equal.h>

#include "ci/catch.hpp"
#include "suites/worker/ranks/crafted_values.hpp"
#include "suites/worker/ranks/late_rank.hpp"
#include "suites/worker/ranks/rank_group.hpp"
#include "suites/worker/temporary_folder.hpp"

namespace reprobench {
namespace {

TEST_CASE("a position is read by others as it stands, and outlives its process", "[ranks]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "position";
  CHECK_FALSE(read_position(path));
  {
    PositionFile file(path);
    CHECK(read_position(path)->entered == 0);
    file.enter("meeting", 0);
    file.leave();
    file.enter("all_reduce", 4096);
    const Position seen = *read_position(path);
    CHECK(seen.text() == "call 2, all_reduce of 4096 bytes");
    CHECK(seen.left == 1);
    CHECK(file.now().entered == 2);
    file.enter("a name that is longer than there is room for", 0);
  }
  CHECK(read_position(path)->text() == "call 3, a name that is longer than ther");
  CHECK(read_position(path)->call(2)->text() == "all_reduce of 4096 bytes");
  CHECK(read_position(path)->call(4) == nullptr);
  std::filesystem::resize_file(path, 64);  // as another version of the worker would leave it
  CHECK_FALSE(read_position(path));
}

Position at_call(std::int64_t entered, std::int64_t left, const std::string& name = "all_reduce",
                 std::int64_t bytes = 4096) {
  return {entered, left, {{name, bytes, ""}}};
}

TEST_CASE("who never entered a collective holds it up, and of several the one furthest behind", "[ranks]") {
  const Holdup behind = holdup_of(at_call(7, 6), 0, {{}, at_call(6, 6), at_call(4, 3, "barrier", 0)});
  CHECK(behind.rank == 2);
  CHECK(behind.text == "rank 2 never entered it: its last is call 4, barrier, which it has not left");
  const Holdup done = holdup_of(at_call(7, 6), 2, {at_call(7, 6), at_call(6, 6), {}});
  CHECK(done.rank == 1);
  CHECK(done.text == "rank 1 never entered it: its last is call 6, all_reduce of 4096 bytes, done");
  CHECK(holdup_of(at_call(1, 0), 0, {{}, {}}).text == "rank 1 never began");
  CHECK(holdup_of(at_call(1, 0), 0, {{}, at_call(0, 0)}).text == "rank 1 never entered it, nor any other");
}

TEST_CASE("who does something else at the same place is named with it", "[ranks]") {
  CHECK(holdup_of(at_call(7, 6), 0, {{}, at_call(7, 6, "all_gather")}).text ==
        "rank 1 does call 7, all_gather of 4096 bytes");
  CHECK(holdup_of(at_call(7, 6), 0, {{}, at_call(7, 6, "all_reduce", 8)}).rank == 1);
  // One that is not there at all comes before it.
  CHECK(holdup_of(at_call(7, 6), 0, {{}, at_call(7, 6, "all_gather"), at_call(6, 6)}).rank == 2);
}

TEST_CASE("of three ranks the one that is alone with its call is named, also by itself", "[ranks]") {
  const Position odd = at_call(7, 6, "all_gather");
  CHECK(holdup_of(at_call(7, 6), 0, {{}, at_call(7, 6), odd}).rank == 2);
  CHECK(holdup_of(at_call(7, 6), 1, {at_call(7, 6), {}, odd}).text == "rank 2 does call 7, all_gather of 4096 bytes");
  const Holdup itself = holdup_of(odd, 2, {at_call(7, 6), at_call(7, 6), {}});
  CHECK(itself.rank == 2);
  CHECK(itself.text ==
        "this rank alone does call 7, all_gather of 4096 bytes, where others do all_reduce of 4096 bytes");
  // Of three that all differ, the first other one: nobody is alone with it.
  CHECK(holdup_of(odd, 2, {at_call(7, 6), at_call(7, 6, "reduce"), {}}).rank == 0);
}

TEST_CASE("calls differ by name, bytes or type, at the same number alone", "[ranks]") {
  const TemporaryFolder folder;
  PositionFile own(folder.path() / "own");
  PositionFile its(folder.path() / "its");
  const PositionFile read = PositionFile::of_other(folder.path() / "its");
  own.enter("all_reduce", 8, "fp32");
  CHECK_FALSE(own.differs_from(read));  // it is not there yet
  its.enter("all_reduce", 8, "fp32");
  CHECK_FALSE(own.differs_from(read));
  its.enter("barrier", 0);  // one ahead
  CHECK_FALSE(own.differs_from(read));
  own.enter("barrier", 0);
  CHECK_FALSE(own.differs_from(read));
  const auto differ = [&](std::string_view name, std::int64_t bytes, std::string_view detail) {
    own.enter("all_reduce", 8, "fp32");
    its.enter(name, bytes, detail);
    return own.differs_from(read);
  };
  CHECK(differ("all_gather", 8, "fp32"));
  CHECK(differ("all_reduce", 16, "fp32"));
  CHECK(differ("all_reduce", 8, "int32"));
  CHECK_FALSE(differ("all_reduce", 8, "fp32"));
  for (int call = 0; call < 40; ++call) its.enter("barrier", 0);  // so far ahead that it is written over
  CHECK_FALSE(own.differs_from(read));
}

TEST_CASE("where all are in it, nobody is named", "[ranks]") {
  const Holdup holdup = holdup_of(at_call(7, 6), 1, {at_call(7, 6), {}, at_call(8, 7)});
  CHECK_FALSE(holdup.rank);
  CHECK(holdup.text == "all ranks entered it");
}

TEST_CASE("the latest rank is the one whose median is, not whose worst", "[ranks]") {
  const std::vector<double> entered = {0, 100, 200, 5, 104, 206, 1, 190, 201};
  const LateRank late = latest_rank(entered, 3);
  CHECK(late.rank == 1);
  CHECK(late.median_ns == 5);
  CHECK(latest_rank(std::vector<double>{}, 3).median_ns == 0);
}

std::vector<float> values_of(const at::Tensor& tensor) {
  return {tensor.data_ptr<float>(), tensor.data_ptr<float>() + tensor.numel()};
}

at::Tensor crafted_input(const CraftedCall& call, int rank) {
  return CraftedValues(call.dtype, call.ranks, largest_tensor(call), at::kCPU).input(call, rank);
}

at::Tensor crafted_output(const CraftedCall& call, int rank) {
  return CraftedValues(call.dtype, call.ranks, largest_tensor(call), at::kCPU).output(call, rank);
}

TEST_CASE("crafted numbers by hand, with two ranks of two elements", "[ranks]") {
  // Element i of rank r in call c is (i + 13 r + 5 c) mod 251 - 125.
  const auto input = [](const char* name, int rank) { return values_of(crafted_input({name, 2, 2, 3}, rank)); };
  const auto output = [](const char* name, int rank) { return values_of(crafted_output({name, 2, 2, 3}, rank)); };
  using Row = std::vector<float>;
  CHECK(input("all_reduce", 0) == Row{-110, -109});
  CHECK(input("all_reduce", 1) == Row{-97, -96});
  CHECK(output("all_reduce", 0) == Row{-207, -205});
  CHECK(output("all_reduce", 1) == Row{-207, -205});
  CHECK(output("reduce", 0) == Row{-207, -205});
  CHECK_FALSE(crafted_output({"reduce", 2, 2, 3}, 1).defined());
  CHECK(output("broadcast", 1) == Row{-110, -109});
  CHECK(output("send_recv", 0) == Row{-97, -96});
  CHECK(output("all_gather", 0) == Row{-110, -109, -97, -96});
  CHECK(input("reduce_scatter", 1) == Row{-97, -96, -95, -94});
  CHECK(output("reduce_scatter", 1) == Row{-203, -201});
  CHECK(output("all_to_all", 0) == Row{-110, -109, -97, -96});
  CHECK(output("all_to_all", 1) == Row{-108, -107, -95, -94});
}

TEST_CASE("crafted numbers and their sums are exact in every type, whatever the number of ranks", "[ranks]") {
  CHECK(largest_crafted("fp32", 2) == 125);
  CHECK(largest_crafted("bf16", 2) == 125);
  CHECK(largest_crafted("bf16", 3) == 85);
  CHECK(largest_crafted("fp16", 16) == 125);
  CHECK(largest_crafted("fp16", 32) == 64);
  CHECK(largest_crafted("bf16", 1000) == 1);
  for (const std::string_view dtype : collective_dtypes()) {
    for (const int ranks : {2, 3, 8}) {
      CAPTURE(dtype, ranks);
      const CraftedCall call{"all_reduce", ranks, 600, 3, dtype};
      at::Tensor sum = crafted_input(call, 0).to(at::kDouble);
      at::Tensor in_type = crafted_input(call, 0);
      for (int rank = 1; rank < ranks; ++rank) {
        sum.add_(crafted_input(call, rank).to(at::kDouble));
        in_type = in_type.add(crafted_input(call, rank));
      }
      CHECK(at::equal(crafted_output(call, 0).to(at::kDouble), sum));
      CHECK(wrong_elements(in_type, crafted_output(call, 0)).empty());
    }
  }
  CHECK_THROWS_AS(empty_values("fp8", 1, at::kCPU), std::invalid_argument);
}

TEST_CASE("a wrong element of another type is named with its own bits", "[ranks]") {
  const auto wrong = [](std::string_view dtype) {
    const at::Tensor expected = crafted_output({"broadcast", 2, 2, 0, dtype}, 1);  // -125, -124
    at::Tensor result = expected.clone();
    result.narrow(0, 1, 1).fill_(1);
    return wrong_elements(result, expected);
  };
  CHECK(wrong("bf16") == "element 1 is 1 (0x3f80) instead of -124 (0xc2f8); 1 of 2 elements are wrong");
  CHECK(wrong("fp16") == "element 1 is 1 (0x3c00) instead of -124 (0xd7c0); 1 of 2 elements are wrong");
  CHECK(wrong("int64") ==
        "element 1 is 1 (0x0000000000000001) instead of -124 (0xffffffffffffff84); 1 of 2 elements "
        "are wrong");
  CHECK(wrong_elements(crafted_output({"broadcast", 2, 2, 0, "int32"}, 1),
                       crafted_output({"broadcast", 2, 2, 0, "fp32"}, 1)) == "its elements are of another type");
}

TEST_CASE("crafted numbers are the same out of a longer sequence, and begin anew after 251", "[ranks]") {
  const CraftedValues longer("fp32", 3, 100'000, at::kCPU);
  for (const std::int64_t number : {0, 49, 50, 1000}) {
    const CraftedCall call{"all_to_all", 3, 700, number};
    CHECK(at::equal(longer.input(call, 2), crafted_input(call, 2)));
    CHECK(at::equal(longer.output(call, 1), crafted_output(call, 1)));
    const std::vector<float> values = values_of(longer.input(call, 2));
    CHECK(values.size() == 2100);
    CHECK(values[0] == static_cast<float>((26 + 5 * number) % 251 - 125));
    CHECK(values[2099] == static_cast<float>((2099 + 26 + 5 * number) % 251 - 125));
  }
  CHECK_THROWS_AS(longer.input({"all_reduce", 3, 2, 0, "bf16"}, 0), std::invalid_argument);
}

TEST_CASE("no call's numbers are those of the call before", "[ranks]") {
  for (std::int64_t call = 1; call <= 250; ++call) {
    CHECK_FALSE(at::equal(crafted_output({"all_reduce", 2, 1, call}, 0), crafted_output({"all_reduce", 2, 1, 0}, 0)));
  }
}

TEST_CASE("the first wrong element is named with both values and their bits", "[ranks]") {
  const at::Tensor expected = crafted_output({"all_reduce", 2, 4, 0}, 0);  // -237, -235, -233, -231
  at::Tensor result = expected.clone();
  CHECK(wrong_elements(result, expected).empty());
  result.data_ptr<float>()[3] = 7;
  result.data_ptr<float>()[1] = 5;
  CHECK(wrong_elements(result, expected) ==
        "element 1 is 5 (0x40a00000) instead of -235 (0xc36b0000); 2 of 4 elements are wrong");
  CHECK(wrong_elements(result.slice(0, 0, 2), expected) == "it has 2 elements instead of 4");
}

TEST_CASE("a zero of the other sign is wrong too", "[ranks]") {
  at::Tensor expected = crafted_output({"all_reduce", 2, 1, 0}, 0).zero_();
  CHECK_FALSE(wrong_elements(expected.neg(), expected).empty());
}

TEST_CASE("numbers of which the order of three summands shows", "[ranks]") {
  const at::Tensor a = order_sensitive_values(1, 0, 4096);
  const at::Tensor b = order_sensitive_values(1, 1, 4096);
  const at::Tensor c = order_sensitive_values(1, 2, 4096);
  const auto differing = a.add(b).add(c).ne(b.add(c).add(a)).sum().item<std::int64_t>();
  CHECK(differing > 400);
  CHECK(at::equal(a.add(b), b.add(a)));  // two have one order
  CHECK(at::equal(a, order_sensitive_values(1, 0, 4096)));
  CHECK_FALSE(at::equal(a, order_sensitive_values(2, 0, 4096)));
}

}  // namespace
}  // namespace reprobench
