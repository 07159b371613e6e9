#include "matrix/plan/stack_question.hpp"

#include "ci/catch.hpp"
#include "matrix/base/usage_error.hpp"
#include "matrix/plan/resolve_fixture.hpp"

using namespace reprobench;

TEST_CASE("a question is components with versions of any length", "[plan]") {
  CHECK(parse_stack_question("torch=2.9 cuda=11.8") == StackClaims{{"torch", "2.9"}, {"cuda", "11.8"}});
  CHECK(parse_stack_question("  torch=2.9.0+cu128\n cuda=cu128 ") ==
        StackClaims{{"torch", "2.9.0+cu128"}, {"cuda", "cu128"}});
  CHECK(parse_stack_question("cudnn=8.x driver>=525 python>=3.10") ==
        StackClaims{{"cudnn", "8"}, {"driver", "525"}, {"python", "3.10"}});
  CHECK(parse_stack_question("sm=sm_90 abi=1 channel=zip") ==
        StackClaims{{"sm", "sm_90"}, {"abi", "1"}, {"channel", "zip"}});
  CHECK(parse_stack_question("torch=2.9.0a0+145a3a7bda.nv25.10").size() == 1);
}

TEST_CASE("a question that cannot be understood is refused, with the nearest name", "[plan]") {
  const std::map<std::string, std::string> refused = {
      {"", "the question names no component; ask as in `torch=2.9 cuda=12.8`"},
      {"torch", "`torch` is no NAME=VERSION, as in `torch=2.9 cuda=12.8`"},
      {"=2.9", "`=2.9` is no NAME=VERSION, as in `torch=2.9 cuda=12.8`"},
      {"tocrh=2.9", "there is no component `tocrh`; did you mean `torch`?"},
      {"torch=", "`` is no torch; write it as 2.9 or 2.9.0+cu128"},
      {"torch=2..9", "`2..9` is no torch; write it as 2.9 or 2.9.0+cu128"},
      {"torch==2.9", "`=2.9` is no torch; write it as 2.9 or 2.9.0+cu128"},
      {"cuda=cuda12", "`cuda12` is no cuda; write it as 12.8, 12.8.1 or cu128"},
      {"cudnn=9+1", "`9+1` is no cudnn; write it as 9.10.2.21"},
      {"abi=2", "`2` is no abi; write it as 1"},
      {"channel=pip", "`pip` is no channel; write it as wheel"},
      {"torch=2.9 torch=2.8", "`torch` is asked twice"},
  };
  for (const auto& [question, said] : refused) CHECK_THROWS_WITH(parse_stack_question(question), said);
  CHECK_THROWS_AS(parse_stack_question("torch=x"), UsageError);
}

TEST_CASE("an answer resolves every source that it names, and no other", "[plan]") {
  const StackAnswer answer = answer_stack_question({{"torch", "2.9"}, {"cuda", "12.8"}}, shipped_facts());
  CHECK(answer.overall == StackExists::exists);
  std::map<std::string, std::string> named;
  for (const auto& finding : answer.findings) {
    for (const auto& key : finding.sources) named[key] = shipped_facts().sources.at(key);
  }
  REQUIRE(answer.defects.size() == 3);
  CHECK(answer.defects[0].id == "conv3d-bf16-wrong");
  CHECK(answer.defects[0].effect == DefectEffect::numerics);
  for (const auto& defect : answer.defects) {
    for (const auto& key : defect.sources) named[key] = shipped_facts().sources.at(key);
  }
  CHECK(answer.sources == named);
  CHECK(answer.sources.at("D1") == "pytorch/pytorch issue 163539");
}
