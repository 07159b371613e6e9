#include "matrix/record/operator_reader.hpp"

#include "ci/catch.hpp"
#include "matrix/contract/trace.hpp"
#include "matrix/record/sample_attempt.hpp"

namespace reprobench {
namespace {

OperatorRecord operator_of_step(std::int64_t step, std::int64_t index) {
  return {step,
          index,
          "aten::addmm",
          1,
          "forward",
          "fc1",
          {{"float32", {8, 6}, std::string(32, 'a'), 0}, {"float32", {}, "", 0}},
          {{"float32", {8, 10}, std::string(32, 'b'), 3}},
          "1, 1e-05 (0x3ee4f8b588e368f1)"};
}

std::string lines_of(const std::vector<OperatorRecord>& records) {
  std::string text;
  for (std::size_t i = 0; i < records.size(); ++i) {
    text += trace_line(to_json(records[i]), static_cast<std::int64_t>(i));
  }
  return text;
}

TEST_CASE("operator calls come back as they were written, by step and in order", "[operators]") {
  const TemporaryFolder folder;
  const auto path = folder.path / "operators.jsonl";
  std::ofstream(path) << lines_of({operator_of_step(3, 0), operator_of_step(3, 1), operator_of_step(4, 0)});
  const OperatorCalls calls = read_operator_calls(path);
  CHECK(calls.problem.empty());
  REQUIRE(calls.of_step(3).size() == 2);
  CHECK(calls.of_step(4).size() == 1);
  CHECK(calls.of_step(5).empty());
  const OperatorRecord back = calls.of_step(3)[1];
  const OperatorRecord sent = operator_of_step(3, 1);
  CHECK(back.index == 1);
  CHECK(back.name == sent.name);
  CHECK(back.depth == 1);
  CHECK(back.pass == sent.pass);
  CHECK(back.module == sent.module);
  CHECK((back.inputs == sent.inputs));
  CHECK((back.outputs == sent.outputs));
  CHECK(back.constants == sent.constants);
}

TEST_CASE("a file of operator calls that is cut, spoiled or not there says so and keeps what is whole", "[operators]") {
  const TemporaryFolder folder;
  const auto path = folder.path / "operators.jsonl";
  std::string text = lines_of({operator_of_step(3, 0), operator_of_step(3, 1)});
  SECTION("cut") { text.resize(text.size() - 5); }
  SECTION("a digit changed") { text[text.rfind("\"depth\":1") + 8] = '2'; }
  SECTION("a field left out") {
    nlohmann::json body = to_json(operator_of_step(3, 1));
    body.erase("pass");
    text = lines_of({operator_of_step(3, 0)}) + trace_line(body, 1);
  }
  std::ofstream(path) << text;
  const OperatorCalls calls = read_operator_calls(path);
  CHECK_FALSE(calls.problem.empty());
  CHECK(calls.of_step(3).size() == 1);
  CHECK_FALSE(read_operator_calls(folder.path / "none").problem.empty());
}

}  // namespace
}  // namespace reprobench
