// Which calls correspond, worked out by hand.
#include "matrix/numerics/calls/operator_alignment.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

OperatorTensor tensor_of(const std::string& digest, std::int64_t extent = 4) {
  return {"float32", {extent}, digest, 0};
}

// A call that takes and makes one tensor each; a digest that is empty is not on record.
OperatorRecord made_by(const std::string& name, const std::string& taken = "", const std::string& made = "",
                       int depth = 0) {
  OperatorRecord call;
  call.name = name;
  call.depth = depth;
  call.pass = "forward";
  call.inputs = {tensor_of(taken)};
  call.outputs = {tensor_of(made)};
  return call;
}

// Calls without values, a letter each.
std::vector<OperatorRecord> named(const std::string& letters) {
  std::vector<OperatorRecord> calls;
  for (const char letter : letters) calls.push_back(made_by(std::string(1, letter)));
  return calls;
}

TEST_CASE("calls without values are matched by name: the same ends, and between them the common subsequence",
          "[alignment]") {
  struct Row {
    const char* ours;
    const char* theirs;
    CallPairs pairs;
  };
  for (const Row& row : {
           Row{"abc", "abc", {{0, 0}, {1, 1}, {2, 2}}},
           Row{"xABCy", "xBDCy", {{0, 0}, {2, 1}, {3, 3}, {4, 4}}},
           Row{"PABQA", "APBAQ", {{1, 0}, {2, 2}, {4, 3}}},
           Row{"PAX", "QAAY", {{1, 1}}},  // the first of two alike
           Row{"PAAX", "QAY", {{2, 1}}},
           Row{"PBAAX", "QBAY", {{1, 1}, {2, 2}}},
           Row{"aab", "ab", {{0, 0}, {2, 1}}},
           Row{"ab", "cd", {}},
           Row{"", "ab", {}},
           Row{"aaa", "a", {{0, 0}}},
       }) {
    CAPTURE(row.ours, row.theirs);
    CHECK(aligned_calls(named(row.ours), named(row.theirs)) == row.pairs);
  }
}

TEST_CASE("a name alone is not enough: pass, number and shapes are as well", "[alignment]") {
  const std::vector<OperatorRecord> calls = named("a");
  std::vector<OperatorRecord> other = calls;
  SECTION("the same") {
    CHECK(aligned_calls(calls, other).size() == 1);
    return;
  }
  SECTION("pass") { other[0].pass = "backward"; }
  SECTION("shape") { other[0].outputs[0].shape = {5}; }
  SECTION("number") { other[0].outputs.push_back(tensor_of("")); }
  SECTION("shape taken") { other[0].inputs[0].shape = {5}; }
  CHECK(aligned_calls(calls, other).empty());
}

TEST_CASE("a call may take fewer tensors than its partner, of the same shapes", "[alignment]") {
  const std::vector<OperatorRecord> calls = named("a");
  std::vector<OperatorRecord> other = calls;
  other[0].inputs.push_back(tensor_of(""));  // a bias
  CHECK(aligned_calls(calls, other).size() == 1);
  other[0].inputs[0].shape = {5};
  CHECK(aligned_calls(calls, other).empty());
  other[0].inputs[0].dtype.clear();  // on record as absent
  other[0].inputs[1] = calls[0].inputs[0];
  CHECK(aligned_calls(calls, other).size() == 1);
}

TEST_CASE("what takes and makes the same values corresponds in whatever order it ran", "[alignment]") {
  const OperatorRecord one = made_by("f", "in-1", "out-1");
  const OperatorRecord two = made_by("f", "in-2", "out-2");
  const OperatorRecord plain = made_by("n");
  CHECK(aligned_calls(std::vector{one, two}, std::vector{two, one}) == CallPairs{{0, 1}, {1, 0}});
  CHECK(aligned_calls(std::vector{one, two, plain}, std::vector{two, one, plain}) == CallPairs{{0, 1}, {1, 0}, {2, 2}});
  CHECK(aligned_calls(std::vector{one, plain, two}, std::vector{one, plain, two}) == CallPairs{{0, 0}, {1, 1}, {2, 2}});
  // Between two that are known nothing of outside is matched.
  CHECK(aligned_calls(std::vector{plain, one}, std::vector{one, plain}) == CallPairs{{1, 0}});
}

// What is known by its values is a capital, what is known by its name alone a small letter.
std::vector<OperatorRecord> mixed(const std::string& letters) {
  std::vector<OperatorRecord> calls;
  for (const char letter : letters) {
    const std::string name(1, letter);
    const bool has_values = letter >= 'A' && letter <= 'Z';
    calls.push_back(has_values ? made_by("f", "in-" + name, "out-" + name) : made_by(name));
  }
  return calls;
}

TEST_CASE("a name is looked for between the same two known calls, and in no other place", "[alignment]") {
  struct Row {
    const char* ours;
    const char* theirs;
    CallPairs pairs;
  };
  for (const Row& row : {
           Row{"nAnBn", "nAnBn", {{0, 0}, {1, 1}, {2, 2}, {3, 3}, {4, 4}}},
           Row{"nABn", "nAnBn", {{0, 0}, {1, 1}, {2, 3}, {3, 4}}},
           Row{"AnB", "nABn", {{0, 1}, {2, 2}}},
           Row{"Anm", "mAn", {{0, 1}, {1, 2}}},
           Row{"mAn", "Anm", {{1, 0}, {2, 1}}},
           Row{"nnA", "nA", {{0, 0}, {2, 1}}},
           Row{"Ann", "An", {{0, 0}, {1, 1}}},
           Row{"AnBmC", "AmBnC", {{0, 0}, {2, 2}, {4, 4}}},
           Row{"AnBmC", "ABC", {{0, 0}, {2, 1}, {4, 2}}},
           Row{"nA", "nB", {{0, 0}, {1, 1}}},  // other values of one operator: the name is what is left
           // B moved: what stands in one order on both sides is A and C, and n is between them.
           Row{"ABnC", "AnCB", {{0, 0}, {1, 3}, {2, 1}, {3, 2}}},
           Row{"CnAB", "ABnC", {{0, 3}, {2, 0}, {3, 1}}},
       }) {
    CAPTURE(row.ours, row.theirs);
    CHECK(aligned_calls(mixed(row.ours), mixed(row.theirs)) == row.pairs);
  }
}

TEST_CASE("of calls that take the same, those correspond that make the same too", "[alignment]") {
  const OperatorRecord left = made_by("f", "in", "left");
  const OperatorRecord right = made_by("f", "in", "right");
  const OperatorRecord wrong = made_by("f", "in", "wrong");
  CHECK(aligned_calls(std::vector{left, right}, std::vector{right, left}) == CallPairs{{0, 1}, {1, 0}});
  CHECK(aligned_calls(std::vector{left, right}, std::vector{wrong, left}) == CallPairs{{0, 1}, {1, 0}});
  // Made more often on one side: by name, then.
  CHECK(aligned_calls(std::vector{left, left}, std::vector{left}) == CallPairs{{0, 0}});
  OperatorRecord other_constants = left;
  other_constants.constants = "2";
  CHECK(aligned_calls(std::vector{left, other_constants}, std::vector{other_constants, left}) ==
        CallPairs{{0, 1}, {1, 0}});
}

TEST_CASE("callers come first, then what each pair of them calls", "[alignment]") {
  const auto inner = [](const std::string& name) { return made_by(name, "", "", 1); };
  const std::vector<OperatorRecord> ours = {inner("a"), made_by("P"), inner("b"), inner("c"), made_by("Q")};
  const std::vector<OperatorRecord> theirs = {inner("a"), inner("x"), made_by("P"), inner("c"), made_by("Q")};
  CHECK(aligned_calls(ours, theirs) == CallPairs{{0, 0}, {1, 2}, {3, 3}, {4, 4}});
  // The same inner calls under other callers do not correspond.
  const std::vector<OperatorRecord> elsewhere = {inner("a"), made_by("R")};
  CHECK(aligned_calls(std::vector{ours[0], ours[1]}, elsewhere).empty());
}

TEST_CASE("inputs agree as far as they are on record", "[alignment]") {
  OperatorRecord ours = made_by("f", "one");
  OperatorRecord theirs = ours;
  CHECK(inputs_agree(ours, theirs));
  theirs.inputs.push_back(tensor_of(""));  // never written
  CHECK(inputs_agree(ours, theirs));
  CHECK(inputs_agree(theirs, ours));
  theirs.inputs.push_back(tensor_of("two"));
  CHECK_FALSE(inputs_agree(ours, theirs));
  CHECK_FALSE(inputs_agree(theirs, ours));
  ours.inputs.push_back(tensor_of("other"));
  CHECK_FALSE(inputs_agree(ours, theirs));
}

}  // namespace
}  // namespace reprobench
