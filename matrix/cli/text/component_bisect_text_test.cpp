#include "matrix/cli/text/component_bisect_text.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

ComponentBisectDocument with(const ComponentAnswer& answer) {
  ComponentBisectDocument document;
  document.good = "a";
  document.bad = "b";
  document.asked = "bits";
  document.components = {{"openmp", {{"libgomp.so.1", "1111"}}, {{"libgomp.so.1", "2222"}}},
                         {"torch", {{"libc10.so", "3333"}, {"libtorch_cpu.so", "4444"}}, {{"libc10.so", "5555"}}}};
  document.answers = {answer};
  return document;
}

const std::string kHead =
    "b against a: 2 components differ\n"
    "  openmp       libgomp.so.1 2222 against libgomp.so.1 1111\n"
    "  torch        libc10.so 5555 against libc10.so 3333 and 1 more\n"
    "relu(f32[4])\n";

TEST_CASE("a culprit is said with what shows it, and with what the rest does", "[cli][bisect]") {
  ComponentAnswer answer;
  answer.subject = "relu(f32[4])";
  answer.word = ComponentWord::found;
  answer.rest = PointState::as_good;
  answer.evaluations.resize(7);
  ComponentCulprit culprit;
  culprit.components = {{"torch", PointState::as_bad, true}};
  culprit.stack = "a-with-torch-of-b";
  culprit.differing = {"output.0 float32[4]"};
  culprit.judgement = "rounding";
  culprit.commands = {"make it", "show it"};
  answer.culprits = {culprit};
  CHECK(component_bisect_text(with(answer)) ==
        kHead +
            "  culprit      torch\n"
            "  other bits   output.0 float32[4]\n"
            "  judged       rounding\n"
            "  shown by     make it\n"
            "               show it\n"
            "  without      all other components exchanged, the good end stays as it is\n"
            "  evaluations  7\n");
  answer.culprits[0].components = {{"openmp", PointState::as_good, true}, {"torch", PointState::untestable, false}};
  answer.rest = PointState::untestable;
  const std::string together = component_bisect_text(with(answer));
  CHECK(
      together.find("  culprit      openmp (of no effect alone) and torch (untestable alone; not tested without it: it "
                    "may be no part of the cause)\n") != std::string::npos);
  CHECK(together.find("  without") == std::string::npos);
}

TEST_CASE("a hidden variable is said with all in which the two differ", "[cli][bisect]") {
  ComponentAnswer answer;
  answer.subject = "relu(f32[4])";
  answer.word = ComponentWord::hidden;
  answer.problem = "it is in none of them";
  answer.evaluations.resize(5);
  CHECK(component_bisect_text(with(answer)) == kHead +
                                                   "  hidden       it is in none of them\n"
                                                   "  they differ  in nothing that a worker tells of itself\n"
                                                   "  evaluations  5\n");
  for (int i = 0; i < 20; ++i) answer.differences.push_back({"variable " + std::to_string(i), "1", "2"});
  const std::string text = component_bisect_text(with(answer));
  CHECK(text.find("  they differ  variable 0: ") != std::string::npos);
  CHECK(text.find("variable 19: ") != std::string::npos);
}

}  // namespace
}  // namespace reprobench
