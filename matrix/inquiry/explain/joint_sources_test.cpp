#include "matrix/inquiry/explain/joint_sources.hpp"

#include "ci/catch.hpp"
#include "matrix/inquiry/explain/explanation_fixture.hpp"
#include "matrix/numerics/calls/step_divergence.hpp"
#include "matrix/numerics/calls/written_step.hpp"

namespace reprobench {
namespace {

// fc2's update takes half of twice the moment, as another release could write it.
std::vector<Deviation> written_otherwise(double factor = 1) {
  return {{"doubled fc2.weight", 2, 2, 0, times(factor)},
          {"constants optimizer fc2.weight aten::addcdiv_", 2, 2, 0, becomes(0.05)}};
}

// fp32 rounds nothing of what is doubled and halved: somewhere the two sides have to differ.
const Deviation kRounded{"optimizer fc2.weight aten::addcdiv_", 2, 2, 5};

Explanation explanation_of(std::vector<Deviation> deviations) {
  ScriptedReplays replays;
  replays.stacks["stack-b"] = std::move(deviations);
  return *compare_stacks(replays, explained()).explanation;
}

bool has_word(const Explanation& found, ExplainedWord word) {
  return std::ranges::any_of(found.further_sources,
                             [&](const FurtherSource& source) { return source.diagnosis.word == word; }) ||
         found.diagnosis->word == word;
}

TEST_CASE("two places that ask for something else and together for the same are one that asks for the same",
          "[joint]") {
  auto deviations = written_otherwise();
  deviations.push_back(kRounded);
  const Explanation found = explanation_of(deviations);
  REQUIRE(found.region);
  CHECK_FALSE(found.call);
  CHECK(names_of(found.region->measured) == "aten::mul, aten::addcdiv_");
  CHECK(names_of(found.region->expected) == "aten::addcdiv_");
  REQUIRE(found.budget);
  CHECK(*found.budget->forms_apart_rel <= kJointFormRel);
  REQUIRE(found.module);
  CHECK_FALSE(has_word(found, ExplainedWord::another_computation));
  REQUIRE(found.element);
  CHECK(found.element->index == 5);
}

TEST_CASE("what does not quite make up for the other place leaves both as they are", "[joint]") {
  auto deviations = written_otherwise(1 + 0x1p-20);
  deviations.push_back(kRounded);
  const Explanation found = explanation_of(deviations);
  CHECK(has_word(found, ExplainedWord::another_computation));
  CHECK(names_of(found.region->measured) == "aten::mul");
}

TEST_CASE("behind a harmless difference, too, two places that make up for each other are one", "[joint]") {
  auto deviations = written_otherwise();
  deviations.push_back(kRounded);
  deviations.push_back({"forward fc1 aten::addmm", 2, 2, 0});
  const Explanation found = explanation_of(deviations);
  CHECK(found.call->measured.module == "fc1");
  CHECK_FALSE(has_word(found, ExplainedWord::another_computation));
  const auto joint = std::ranges::find_if(found.further_sources,
                                          [](const FurtherSource& source) { return source.region.has_value(); });
  REQUIRE(joint != found.further_sources.end());
  CHECK(joint->on_substituted_inputs);
  CHECK(names_of(joint->region->measured) == "aten::mul, aten::addcdiv_");
}

// A decay of 1e-5 that is off by a millionth moves a weight by 1e-11 of it: no constant is excused by its effect.
TEST_CASE("one constant that differs is another computation, however little it does", "[joint]") {
  const Explanation found =
      explanation_of({{"constants optimizer fc2.weight aten::addcdiv_", 2, 2, 0, becomes(0.05)}, kRounded});
  CHECK(found.diagnosis->word == ExplainedWord::another_computation);
}

WrittenStep update(const std::string& mark) {
  WrittenStep step;
  step.call("aten::sqrt", {"square"}, {"root"});
  step.call("aten::add_", {"root"}, {"size" + mark}, "epsilon" + mark).from(0, 0);
  step.call("aten::addcdiv_", {"weight", "moment", "size" + mark}, {"updated" + mark}, "rate" + mark).from(2, 1);
  return step;
}

// Which sources are looked at, of an epsilon and a rate that differ: 0 is the first one, 1 the further one.
std::vector<std::size_t> parts_of(bool first_is_on_substituted, bool further_is_on_substituted, FoundIn found_in) {
  const WrittenStep ours = update("'");
  const WrittenStep theirs = update("");
  const StepDivergence divergence = divergence_of_step(ours.calls, theirs.calls);
  REQUIRE(divergence.sources.size() == 2);
  Explanation explanation;
  explanation.call = divergence.sources[0].call;
  explanation.on_substituted_inputs = first_is_on_substituted;
  FurtherSource& further = explanation.further_sources.emplace_back();
  further.call = divergence.sources[1].call;
  further.inputs_agree = divergence.sources[1].inputs_agree;
  further.on_substituted_inputs = further_is_on_substituted;
  const JointSources found = joint_sources(explanation, ours.calls, theirs.calls, found_in);
  std::vector<std::size_t> parts;
  for (const JointSources::Part& part : found.parts) {
    REQUIRE(part.within.size() == 1);
    CHECK(part.within[0].place == 0);
    parts.push_back(part.further ? 1 + *part.further : 0);
  }
  for (const FurtherSource& joint : found.joints)
    CHECK(joint.on_substituted_inputs == (found_in != FoundIn::plain_replay));
  return parts;
}

// Values that were given may change which calls correspond.
TEST_CASE("joint sources are made of those that were found in the same kind of replay, or of all", "[joint]") {
  using Parts = std::vector<std::size_t>;
  CHECK(parts_of(false, false, FoundIn::plain_replay) == Parts{0, 1});
  CHECK(parts_of(false, true, FoundIn::plain_replay) == Parts{0});
  CHECK(parts_of(false, true, FoundIn::substituted_replay) == Parts{1});
  CHECK(parts_of(false, false, FoundIn::substituted_replay).empty());
  CHECK(parts_of(true, true, FoundIn::plain_replay).empty());
  CHECK(parts_of(false, true, FoundIn::any_replay) == Parts{0, 1});
}

// One layer of attention that scales its queries, or else the scores.
void add_layer(WrittenStep& step, bool scales_queries, const std::string& layer, bool is_swapped) {
  const auto last = step.calls.empty() ? -1 : step.calls.back().index;
  const std::string key = layer + " key";
  if (scales_queries) {
    step.call("aten::mul", {layer + " query"}, {layer + " scaled"}, "0.125");
    step.calls.back().outputs[0].shape = {2, 4};  // scores have other shapes than queries
  }
  const std::string taken = layer + (scales_queries ? " scaled" : " query");
  const std::vector<std::string> inputs = is_swapped ? std::vector{key, taken} : std::vector{taken, key};
  step.call("aten::bmm", inputs, {layer + (scales_queries ? " scores'" : " raw")});
  for (OperatorTensor& input : step.calls.back().inputs) input.made_by = -1;
  if (scales_queries) step.from(is_swapped ? 1 : 0, last + 1);
  if (!scales_queries) step.call("aten::mul", {layer + " raw"}, {layer + " scores"}, "0.125").from(0, last + 1);
}

TEST_CASE("of joint sources with the same calls, constants and ways between them one tells for all", "[joint]") {
  const bool is_swapped = GENERATE(false, true);
  WrittenStep ours;
  WrittenStep theirs;
  for (const char* layer : {"h.0", "h.1"}) {
    add_layer(ours, true, layer, is_swapped && std::string(layer) == "h.1");
    add_layer(theirs, false, layer, is_swapped && std::string(layer) == "h.1");
  }
  Explanation explanation;
  for (const DivergencePoint& source : divergence_of_step(ours.calls, theirs.calls).sources) {
    FurtherSource& further = explanation.further_sources.emplace_back();
    further.call = source.call;
    further.region = source.region;
    further.budget.emplace();
    further.budget->forms_apart_rel = 0.5;
  }
  const JointSources found = joint_sources(explanation, ours.calls, theirs.calls, FoundIn::plain_replay);
  REQUIRE(found.joints.size() == 4);  // of each layer the product, and the product with the other side's scaling
  CHECK(found.alike == (is_swapped ? std::vector<std::size_t>{0, 1, 2, 3} : std::vector<std::size_t>{0, 1, 0, 1}));
}

TEST_CASE("a subgraph that makes no difference on own values is dropped, whatever it made of substituted ones",
          "[joint]") {
  WrittenStep ours;
  ours.call("aten::softmax", {"scores"}, {"weights"});
  Explanation explanation;
  FurtherSource& source = explanation.further_sources.emplace_back();
  source.on_substituted_inputs = true;
  source.region.emplace();
  source.region->measured.at = ours.calls[0];
  source.region->expected.outflow = ours.calls[0].inputs[0];
  bool is_dropped = false;
  SECTION("equal bits") { is_dropped = true; }
  SECTION("other bits") { ours.calls[0].inputs[0].digest = "other scores"; }
  SECTION("not on record") { ours.calls[0].inputs[0].digest = source.region->expected.outflow.digest = ""; }
  SECTION("another call") { ours.calls[0].name = "aten::exp"; }
  SECTION("found in the plain replay") { source.on_substituted_inputs = false; }
  SECTION("what a call made, and not what one takes") { source.region->measured.is_taken = false; }
  drop_equal_on_own_values(ours.calls, explanation);
  CHECK(explanation.further_sources.empty() == is_dropped);
}

FurtherSource judged(std::optional<double> forms_apart_rel) {
  FurtherSource source;
  source.region.emplace();
  source.budget.emplace();
  source.budget->forms_apart_rel = forms_apart_rel;
  return source;
}

TEST_CASE("a part gives way to the smallest joint source in which another place makes up for it", "[joint]") {
  Explanation explanation;
  for (std::int64_t i = 0; i < 4; ++i) {
    explanation.further_sources.emplace_back().call.emplace().measured.index = i;
  }
  JointSources found;
  found.joints = {judged(1e-8), judged(1e-15), judged(0)};
  found.places_apart = {2, 2, 3};
  found.alike = {0, 1, 2};
  for (std::size_t i = 0; i < 3; ++i) found.joints[i].region->measured.at.index = 10 + static_cast<std::int64_t>(i);
  SECTION("shared") {
    found.parts = {{1, {{0, {}}, {1, {}}, {2, {}}}}, {2, {{1, {}}}}};
    settle(std::move(found), explanation);
    REQUIRE(explanation.further_sources.size() == 3);
    CHECK(explanation.further_sources[0].call->measured.index == 0);
    CHECK(explanation.further_sources[1].call->measured.index == 3);
    CHECK(explanation.further_sources[2].region->measured.at.index == 11);
  }
  SECTION("nothing makes up for it") {
    found.places_apart = {1, 1, 1};
    const bool are_calls = GENERATE(true, false);  // a subgraph of one side alone is a place of its own
    found.parts = {{1, {{0, {}}, {1, {}}, {2, {}}}, are_calls}, {2, {{1, {}}}, are_calls}};
    settle(std::move(found), explanation);
    CHECK(explanation.further_sources.size() == (are_calls ? 4 : 3));
  }
  SECTION("a part whose own distance is not known") {
    found.joints[1].budget->forms_apart_rel = GENERATE(0.99e-14, 1.01e-14);
    const bool is_gone = *found.joints[1].budget->forms_apart_rel < 1e-14;
    found.parts = {{1, {{1, {}}}}};
    settle(std::move(found), explanation);
    CHECK(explanation.further_sources.back().region.has_value() == is_gone);
  }
  SECTION("too far apart, or not known in fp64") {
    found.joints[1].budget->forms_apart_rel = GENERATE(std::optional<double>(1.01 * kJointFormRel), std::nullopt);
    found.parts = {{1, {{1, {}}}}, {2, {{1, {}}}}};
    settle(std::move(found), explanation);
    CHECK(explanation.further_sources.size() == 4);
  }
  SECTION("less by far, and not gone") {
    const auto [part, joint, is_gone] = GENERATE(table<double, double, bool>(
        {{1e-3, kJointFormRel, true}, {1e-6, 1e-13, false}, {1e-6, 1e-15, true}, {1e-9, 0, true}}));
    CAPTURE(part, joint);
    found.joints[1].budget->forms_apart_rel = joint;
    found.parts = {{1, {{1, {}}}, false, part}};
    settle(std::move(found), explanation);
    CHECK(explanation.further_sources[1].region.has_value() == false);
    CHECK(explanation.further_sources.back().region.has_value() == is_gone);
  }
  SECTION("its results go two ways: each of them is within one that makes up for it") {
    const SourceReader first{true, 4};
    const SourceReader second{false, 5};
    const bool are_both_the_same = GENERATE(true, false);
    if (!are_both_the_same) found.joints[2].budget->forms_apart_rel = 0.5;
    found.parts = {{1, {{1, {first}}, {2, {second}}}}};
    settle(std::move(found), explanation);
    REQUIRE(explanation.further_sources.size() == (are_both_the_same ? 5 : 4));
    CHECK(explanation.further_sources[1].call->measured.index == (are_both_the_same ? 2 : 1));
  }
  SECTION("one that was not judged is told by one that is alike") {
    found.joints[2].budget.reset();
    found.alike[2] = GENERATE(std::size_t{1}, std::size_t{2});
    const bool is_told = found.alike[2] == 1;
    found.parts = {{1, {{2, {}}}}};
    settle(std::move(found), explanation);
    CHECK(explanation.further_sources.back().region.has_value() == is_told);
  }
  SECTION("the first source is one of them") {
    explanation.call.emplace();
    found.parts = {{std::nullopt, {{2, {}}}}, {0, {{2, {}}}}};
    settle(std::move(found), explanation);
    CHECK_FALSE(explanation.call);
    CHECK(explanation.region->measured.at.index == 12);
    CHECK(explanation.further_sources.size() == 3);
  }
}

}  // namespace
}  // namespace reprobench
