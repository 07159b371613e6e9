#include "matrix/inquiry/selftest/selftest_answer.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

constexpr SelftestFault kRounds{"f",   FaultTarget::none, PlantedAt::anywhere, "",
                                false, "rounding",        "aten::mm aten::bmm"};
constexpr SelftestFault kIsWrong{"f", FaultTarget::none, PlantedAt::anywhere, "", false, "wrong", "aten::mm aten::bmm"};
constexpr SelftestFault kAnywhere{"f", FaultTarget::none, PlantedAt::anywhere, "", false, "rounding", ""};

Explanation at_operator(const std::string& name, ExplainedWord word) {
  Explanation explanation;
  explanation.call.emplace();
  explanation.call->measured.name = name;
  explanation.diagnosis = Diagnosis{word, ""};
  return explanation;
}

TEST_CASE("an answer is right by its word and its operator together", "[selftest]") {
  using enum ExplainedWord;
  const auto is_right = [](const SelftestFault& fault, const char* name, ExplainedWord word) {
    return answer_to(fault, at_operator(name, word)).is_right;
  };
  CHECK(is_right(kRounds, "aten::mm", rounding));
  CHECK(is_right(kRounds, "aten::bmm", rounding));
  CHECK_FALSE(is_right(kRounds, "aten::m", rounding));
  CHECK_FALSE(is_right(kRounds, "aten::addmm", rounding));
  CHECK(is_right(kAnywhere, "aten::addmm", rounding));
  for (const ExplainedWord word : {defect, another_computation}) {
    CHECK(is_right(kIsWrong, "aten::mm", word));
    CHECK_FALSE(is_right(kIsWrong, "aten::gelu", word));
    CHECK_FALSE(is_right(kRounds, "aten::mm", word));
    CHECK_FALSE(is_right(kAnywhere, "aten::mm", word));
  }
  CHECK_FALSE(is_right(kIsWrong, "aten::mm", rounding));
  for (const SelftestFault& fault : {kRounds, kIsWrong, kAnywhere}) CHECK_FALSE(is_right(fault, "aten::mm", undecided));
}

TEST_CASE("an answer that blames no operator is wrong", "[selftest]") {
  CHECK(answer_to(kAnywhere, Explanation{}).text == "no operator");
  CHECK_FALSE(answer_to(kAnywhere, Explanation{}).is_right);
  Explanation nowhere;
  nowhere.diagnosis = Diagnosis{ExplainedWord::rounding, ""};
  CHECK(answer_to(kAnywhere, nowhere).text == "rounding at no operator");
  CHECK_FALSE(answer_to(kAnywhere, nowhere).is_right);
}

TEST_CASE("of a subgraph the call that ends it answers, and of several sources the worst", "[selftest]") {
  Explanation explanation;
  explanation.diagnosis = Diagnosis{ExplainedWord::rounding, ""};
  OperatorRegion& region = explanation.region.emplace();
  OperatorRecord call;
  for (const char* name : {"aten::softmax", "aten::mm"}) {
    call.name = name;
    region.expected.calls.push_back(call);
  }
  CHECK(answer_to(kRounds, explanation).text == "rounding at aten::mm");
  CHECK(answer_to(kRounds, explanation).is_right);
  FurtherSource& behind = explanation.further_sources.emplace_back();
  behind.call.emplace();
  behind.call->measured.name = "aten::mul_";
  behind.diagnosis = Diagnosis{ExplainedWord::defect, ""};
  explanation.diagnosis = behind.diagnosis;
  CHECK(answer_to(kIsWrong, explanation).text == "defect at aten::mul_");
  CHECK_FALSE(answer_to(kIsWrong, explanation).is_right);
}

}  // namespace
}  // namespace reprobench
