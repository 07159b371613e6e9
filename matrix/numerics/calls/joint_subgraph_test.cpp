#include "matrix/numerics/calls/joint_subgraph.hpp"

#include <map>

#include "ci/catch.hpp"
#include "matrix/numerics/calls/written_step.hpp"

namespace reprobench {
namespace {

// Calls of an update, each as "name constants: what it takes > what it makes"; values are words, and equal words are
// equal values.
class Step {
 public:
  Step& call(const std::string& name, const std::string& constants, const std::vector<std::string>& takes,
             const std::string& makes) {
    OperatorRecord& record = calls_.emplace_back();
    record.step = 1;
    record.index = static_cast<std::int64_t>(calls_.size()) - 1;
    record.name = name;
    record.constants = constants;
    record.pass = "optimizer";
    for (const std::string& value : takes) {
      record.inputs.push_back(tensor(value));
      const auto maker = makers_.find(value);
      record.inputs.back().made_by = maker == makers_.end() ? -1 : maker->second;
    }
    record.outputs.push_back(tensor(makes));
    makers_[makes] = record.index;
    return *this;
  }

  const std::vector<OperatorRecord>& calls() const { return calls_; }

 private:
  static OperatorTensor tensor(const std::string& value) {
    static std::map<std::string, std::string> digests;
    const std::string digest = std::to_string(100 + digests.size());
    return {"float32", {4}, std::string(29, '0') + digests.try_emplace(value, digest).first->second};
  }

  std::vector<OperatorRecord> calls_;
  std::map<std::string, std::int64_t> makers_;
};

Step folded() {
  return Step()
      .call("aten::sqrt", "", {"square"}, "root")
      .call("aten::add_", "eps", {"root"}, "folded size")
      .call("aten::addcdiv_", "-rate", {"weight", "moment", "folded size"}, "updated")
      .call("aten::mul_", "0.9", {"other weight"}, "decayed");
}

Step written_out() {
  return Step()
      .call("aten::sqrt", "", {"square"}, "root")
      .call("aten::div", "correction", {"root"}, "corrected root")
      .call("aten::add_", "own eps", {"corrected root"}, "size")
      .call("aten::addcdiv_", "-own rate", {"weight", "moment", "size"}, "otherwise updated")
      .call("aten::mul_", "0.9", {"other weight"}, "decayed");
}

std::vector<std::int64_t> indices(const OperatorSubgraph& subgraph) {
  std::vector<std::int64_t> all;
  for (const OperatorRecord& call : subgraph.calls) all.push_back(call.index);
  return all;
}

using Indices = std::vector<std::int64_t>;

TEST_CASE("a value made otherwise and the call that makes up for it are one subgraph, ending further and further on",
          "[joint]") {
  const Step ours = written_out();
  const Step theirs = folded();
  const StepDivergence divergence = divergence_of_step(ours.calls(), theirs.calls());
  REQUIRE(divergence.sources.size() == 2);
  for (const DivergencePoint& source : divergence.sources) {
    const auto joints = joint_subgraphs(ours.calls(), theirs.calls(), source);
    REQUIRE_FALSE(joints.empty());
    const OperatorRegion& widest = joints.back().region;
    CHECK(joints.back().places_apart == 3);  // two constants and a call
    CHECK(indices(widest.measured) == Indices{1, 2, 3});
    CHECK(indices(widest.expected) == Indices{1, 2});
    CHECK(widest.measured.at.name == "aten::addcdiv_");
    CHECK_FALSE(widest.measured.is_taken);
    CHECK(widest.measured.place == 0);
    CHECK_FALSE(widest.constants_differ);
    CHECK(is_part_of(source, widest));
  }
  CHECK(joint_subgraphs(ours.calls(), theirs.calls(), divergence.sources[0]).size() == 2);  // at add_, then at addcdiv_
  CHECK(joint_subgraphs(ours.calls(), theirs.calls(), divergence.sources[1]).size() == 1);
}

TEST_CASE("calls that make up for each other to the last bit are one subgraph, too", "[joint]") {
  const auto updated = [](Step step, const char* size, const char* rate) {
    return step.call("aten::addcdiv_", rate, {"weight", "moment", size}, "updated");
  };
  const Step ours = updated(
      Step().call("aten::sqrt", "", {"square"}, "root").call("aten::div", "correction", {"root"}, "corrected root"),
      "corrected root", "-own rate");
  const Step theirs = updated(Step().call("aten::sqrt", "", {"square"}, "root"), "root", "-rate");
  const StepDivergence divergence = divergence_of_step(ours.calls(), theirs.calls());
  REQUIRE(divergence.sources.size() == 1);
  const auto joints = joint_subgraphs(ours.calls(), theirs.calls(), divergence.sources[0]);
  REQUIRE(joints.size() == 1);
  CHECK(joints[0].places_apart == 2);
  CHECK(indices(joints[0].region.measured) == Indices{1, 2});
  CHECK(indices(joints[0].region.expected) == Indices{1});
  CHECK(joints[0].region.measured.at.name == "aten::addcdiv_");
}

// A sum with a number, as LibTorch carries it out: the number is copied and handed on as a tensor without dimensions.
void add_number(WrittenStep& step, const std::string& to, const std::string& number, const std::string& sum) {
  step.caller("aten::add_", {to}, {sum}, [&](WrittenStep& inside) {
    inside.call("aten::copy_", {"", number}, {"copy of " + number});
    inside.calls.back().inputs[1].shape = inside.calls.back().outputs[0].shape = {};
    inside.call("aten::add_", {to, number}, {sum});
    inside.calls.back().inputs[1].shape = {};
  });
  step.calls.back().constants = number;
}

TEST_CASE("a number that a call hands on to what it calls is its constant, and no state that began apart", "[joint]") {
  WrittenStep ours;
  ours.call("aten::sqrt", {"square"}, {"root"}).call("aten::div", {"root"}, {"corrected"}, "0.04");
  add_number(ours, "corrected", "1e-8", "size'");
  ours.call("aten::addcdiv_", {"weight", "moment", "size'"}, {"updated'"}, "-0.005");
  WrittenStep theirs;
  theirs.call("aten::sqrt", {"square"}, {"root"});
  add_number(theirs, "root", "4e-10", "size");
  theirs.call("aten::addcdiv_", {"weight", "moment", "size"}, {"updated"}, "-0.0002");
  const StepDivergence divergence = divergence_of_step(ours.calls, theirs.calls);
  CHECK_FALSE(divergence.begins_apart);
  REQUIRE_FALSE(divergence.sources.empty());
  REQUIRE(divergence.sources.front().region);
  CHECK(names_of(divergence.sources.front().region->measured) == "aten::div");
  const auto joints = joint_subgraphs(ours.calls, theirs.calls, divergence.sources.front());
  REQUIRE(joints.size() == 2);
  CHECK(names_of(joints[0].region.measured) == "aten::div, aten::add_");
  CHECK(joints[0].places_apart == 2);
  CHECK(names_of(joints[1].region.measured) == "aten::div, aten::add_, aten::addcdiv_");
  CHECK(names_of(joints[1].region.expected) == "aten::add_, aten::addcdiv_");
  CHECK(joints[1].places_apart == 3);
}

// A root that one side has divided, and a sum of it with a number: of one side, and of the other.
WrittenStep sum_of_root(bool is_ours) {
  WrittenStep step;
  step.call("aten::sqrt", {"square"}, {"root"});
  if (is_ours) step.call("aten::div", {"root"}, {"corrected"}, "0.04");
  add_number(step, is_ours ? "corrected" : "root", is_ours ? "1e-8" : "4e-10", is_ours ? "size'" : "size");
  return step;
}

TEST_CASE("what a call hands on and is no number, or none of its constants, began apart", "[joint]") {
  WrittenStep ours = sum_of_root(true);
  WrittenStep theirs = sum_of_root(false);
  const auto begins_apart = [&] { return divergence_of_step(ours.calls, theirs.calls).begins_apart; };
  CHECK_FALSE(begins_apart());
  SECTION("it has dimensions") {
    const auto copy = [](WrittenStep& step) { return step.calls.end()[-3].inputs[1].shape = {2, 3}; };
    CHECK(copy(ours) == copy(theirs));
    CHECK(begins_apart());
  }
  SECTION("the constants are the same") {
    ours.calls.back().constants = theirs.calls.back().constants;
    CHECK(begins_apart());
  }
  SECTION("a call of the step made it: a source") {
    ours.calls.insert(ours.calls.begin(), ours.calls.front());
    OperatorRecord& maker = ours.calls.front();
    maker.name = "aten::exp";
    maker.index = 40;
    maker.outputs = {{"float32", {}, "1e-8"}};
    ours.calls.end()[-3].inputs[1].made_by = 40;
    const StepDivergence divergence = divergence_of_step(ours.calls, theirs.calls);
    REQUIRE_FALSE(divergence.sources.empty());
    REQUIRE(divergence.sources.front().region);
    CHECK(names_of(divergence.sources.front().region->measured) == "aten::exp");
  }
}

TEST_CASE("a joint subgraph ends in an operator, not in what that calls", "[joint]") {
  const auto step = [](bool is_ours) {
    WrittenStep written = sum_of_root(is_ours);
    const std::string mark = is_ours ? "'" : "";
    written.caller("aten::addcdiv_", {"weight", "moment", "size" + mark}, {"updated" + mark}, [&](WrittenStep& inside) {
      inside.call("aten::mul", {"moment", "size" + mark}, {"product" + mark});
    });
    written.calls.back().constants = is_ours ? "-0.005" : "-0.0002";
    return written;
  };
  const WrittenStep ours = step(true);
  const WrittenStep theirs = step(false);
  const auto source = divergence_of_step(ours.calls, theirs.calls).sources.front();
  const auto joints = joint_subgraphs(ours.calls, theirs.calls, source);
  REQUIRE(joints.size() == 2);
  CHECK(joints[1].region.measured.at.name == "aten::addcdiv_");
  CHECK(joints[1].places_apart == 3);
}

TEST_CASE("a pair with equal constants is no other place, although it is part of the subgraph", "[joint]") {
  const auto step = [](bool is_ours) {
    const std::string mark = is_ours ? "'" : "";
    return Step()
        .call("aten::mul", is_ours ? "2" : "1", {"root"}, "size" + mark)
        .call("aten::neg", "", {"size" + mark}, "negative" + mark)
        .call("aten::addcdiv_", "-rate", {"weight", "moment", "negative" + mark}, "updated" + mark);
  };
  const Step ours = step(true);
  const Step theirs = step(false);
  const auto sources = divergence_of_step(ours.calls(), theirs.calls()).sources;
  REQUIRE(sources.size() == 1);
  const auto joints = joint_subgraphs(ours.calls(), theirs.calls(), sources.front());
  REQUIRE(joints.size() == 2);
  CHECK(indices(joints[0].region.measured) == Indices{0, 1});
  CHECK(indices(joints[1].region.measured) == Indices{0, 1, 2});
  for (const JointSubgraph& joint : joints) CHECK(joint.places_apart == 1);
}

TEST_CASE("a call that took equal values where it was found, and takes others here, ends a subgraph itself",
          "[joint]") {
  const Step ours = written_out();
  const Step theirs = folded();
  auto source = divergence_of_step(ours.calls(), theirs.calls()).sources.at(1);
  REQUIRE(source.call);
  REQUIRE(source.call->measured.name == "aten::addcdiv_");
  source.inputs_agree = true;
  const auto joints = joint_subgraphs(ours.calls(), theirs.calls(), source);
  REQUIRE(joints.size() == 1);
  CHECK(indices(joints[0].region.measured) == Indices{1, 2, 3});
}

TEST_CASE("a call outside of the subgraph that takes what the source made is not covered", "[joint]") {
  const bool is_ours = GENERATE(true, false);
  Step ours = written_out();
  Step theirs = folded();
  const auto source = divergence_of_step(ours.calls(), theirs.calls()).sources.at(1);
  REQUIRE(source.call);
  const auto inside = joint_subgraphs(ours.calls(), theirs.calls(), source);
  REQUIRE(inside.size() == 1);
  CHECK(inside[0].not_covered.empty());
  // The update, by a call that has a partner of its own.
  (is_ours ? ours : theirs).call("aten::norm", "", {is_ours ? "otherwise updated" : "updated"}, "length");
  (is_ours ? theirs : ours).call("aten::norm", "", {"other weight"}, "other length");
  const auto joints = joint_subgraphs(ours.calls(), theirs.calls(), source);
  REQUIRE(joints.size() == 1);
  CHECK(joints[0].not_covered == std::vector<SourceReader>{{is_ours, is_ours ? 5 : 4}});
}

// Attention that scales its queries, against one that scales the scores.
WrittenStep scaled_queries() {
  WrittenStep step;
  step.call("aten::mul", {"query"}, {"scaled"}, "0.125");
  step.call("aten::bmm", {"scaled", "key"}, {"scores'"}).from(0, 0);
  step.call("aten::softmax", {"scores'"}, {"weights'"}).from(0, 1);
  return step;
}

WrittenStep scaled_scores() {
  WrittenStep step;
  step.call("aten::bmm", {"query", "key"}, {"raw"});
  step.call("aten::mul", {"raw"}, {"scores"}, "0.125").from(0, 0);
  step.call("aten::softmax", {"scores"}, {"weights"}).from(0, 1);
  return step;
}

std::vector<JointSubgraph> joints_of_first(const WrittenStep& ours, const WrittenStep& theirs) {
  const StepDivergence divergence = divergence_of_step(ours.calls, theirs.calls);
  REQUIRE_FALSE(divergence.sources.empty());
  REQUIRE(divergence.sources.front().region);
  CHECK(names_of(divergence.sources.front().region->measured) == "aten::mul");
  return joint_subgraphs(ours.calls, theirs.calls, divergence.sources.front());
}

TEST_CASE("what one side makes before a call of both and the other one behind it is one subgraph", "[joint]") {
  const auto joints = joints_of_first(scaled_queries(), scaled_scores());
  REQUIRE(joints.size() == 3);  // the product alone, with the other side's scaling, with the softmax
  CHECK(names_of(joints[0].region.measured) == "aten::mul, aten::bmm");
  CHECK(names_of(joints[0].region.expected) == "aten::bmm");
  CHECK(names_of(joints[1].region.measured) == "aten::mul, aten::bmm");
  CHECK(names_of(joints[1].region.expected) == "aten::bmm, aten::mul");
  CHECK(joints[1].places_apart == 2);
  CHECK(joints[1].not_covered.empty());
  CHECK(names_of(joints[2].region.expected) == "aten::bmm, aten::mul, aten::softmax");
}

TEST_CASE("each way that a result takes within its pass has a subgraph, the backward pass is judged by itself",
          "[joint]") {
  WrittenStep ours = scaled_queries();
  WrittenStep theirs = scaled_scores();
  SECTION("another product of the scaled queries") {
    ours.call("aten::mm", {"scaled", "value"}, {"product'"}).from(0, 0);
    theirs.call("aten::mm", {"query", "value"}, {"product"});
    const auto joints = joints_of_first(ours, theirs);
    REQUIRE(joints.size() == 4);
    const SourceReader product{true, 3};
    for (std::size_t i = 0; i < 3; ++i) CHECK(joints[i].not_covered == std::vector{product});
    CHECK(names_of(joints[3].region.measured) == "aten::mul, aten::mm");
    CHECK(names_of(joints[3].region.expected) == "aten::mm");
    CHECK(joints[3].not_covered == std::vector<SourceReader>{{true, 1}});
  }
  SECTION("a product of the backward pass") {
    ours.in("backward", "h.0").call("aten::mm", {"scaled", "gradient"}, {"product'"}).from(0, 0);
    theirs.in("backward", "h.0").call("aten::mm", {"query", "gradient"}, {"product"});
    for (const JointSubgraph& joint : joints_of_first(scaled_queries(), theirs)) CHECK_FALSE(joint.is_taken_backward);
    for (const JointSubgraph& joint : joints_of_first(ours, theirs)) {
      CHECK(joint.not_covered.empty());
      CHECK(joint.is_taken_backward);
    }
  }
}

// Each call takes the one before twice, so that the ways through them double with each.
TEST_CASE("calls of one side that take a value more than once are followed once", "[joint]") {
  WrittenStep ours = scaled_queries();
  ours.calls.pop_back();
  std::string value = "scores'";
  for (int i = 0; i < 60; ++i) {
    const std::string next = "sum " + std::to_string(i);
    ours.call("aten::add", {value, value}, {next});
    for (OperatorTensor& input : ours.calls.back().inputs) input.made_by = ours.calls.end()[-2].index;
    value = next;
  }
  ours.call("aten::softmax", {value}, {"weights'"}).from(0, ours.calls.back().index);
  CHECK(joints_of_first(ours, scaled_scores()).size() == 1);
}

TEST_CASE("a subgraph of too many calls, or with a value that differed before the step, is none", "[joint]") {
  const auto found = [](std::size_t calls, const char* weight) {
    Step ours;
    Step theirs;
    ours.call("aten::sqrt", "", {"square"}, "root");
    theirs.call("aten::sqrt", "", {"square"}, "root");
    std::string value = "root";
    for (std::size_t i = 0; i + 1 < calls; ++i) {
      const std::string next = "part " + std::to_string(i);
      ours.call(i % 2 == 0 ? "aten::div" : "aten::neg", "", {value}, next);
      value = next;
    }
    ours.call("aten::addcdiv_", "-own rate", {weight, value}, "otherwise updated");
    theirs.call("aten::addcdiv_", "-rate", {"weight", "root"}, "updated");
    // Written out by hand, since a step that begins apart has no sources.
    DivergencePoint source{OperatorDivergence{}, std::nullopt, false};
    source.call->measured = ours.calls().back();
    source.call->expected = theirs.calls().back();
    return joint_subgraphs(ours.calls(), theirs.calls(), source).size();
  };
  CHECK(found(3, "weight") == 1);
  CHECK(found(kMostJointCalls, "weight") == 1);
  CHECK(found(kMostJointCalls + 1, "weight") == 0);
  CHECK(found(3, "another weight") == 0);
}

}  // namespace
}  // namespace reprobench
