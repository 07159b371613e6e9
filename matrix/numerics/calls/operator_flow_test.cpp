// The calls of a step as a graph, worked out by hand for one small tree.
#include "matrix/numerics/calls/operator_flow.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

OperatorTensor value(const std::string& digest) { return {"float32", {2}, digest}; }

// Calls stand in the order they end, callees first:
//
//   a ( b ( c ), d )   e   g ( f )
//
// so c b d a e f g at places 0 to 6; the index of a call, which is that of its start, is 10 times its letter's.
struct Tree {
  Tree() {
    const std::pair<const char*, int> order[] = {{"c", 2}, {"b", 1}, {"d", 1}, {"a", 0}, {"e", 0}, {"f", 1}, {"g", 0}};
    for (const auto& [name, depth] : order) {
      OperatorRecord call;
      call.name = name;
      call.depth = depth;
      call.index = 10 * (*name - 'a');
      calls.push_back(call);
    }
  }
  OperatorFlow flow() const { return OperatorFlow(calls); }

  std::vector<OperatorRecord> calls;
};

constexpr std::size_t kC = 0, kB = 1, kD = 2, kA = 3, kE = 4, kF = 5, kG = 6;

TEST_CASE("each call knows who made it, and which make none", "[flow]") {
  const Tree tree;
  const OperatorFlow flow = tree.flow();
  CHECK(flow.parent == std::vector<std::size_t>{kB, kA, kA, kNoCall, kNoCall, kG, kNoCall});
  std::string innermost;
  for (std::size_t i = 0; i < tree.calls.size(); ++i) {
    if (flow.is_innermost(i)) innermost += tree.calls[i].name;
  }
  CHECK(innermost == "cdef");
  CHECK(flow.partner == std::vector<std::size_t>(7, kNoCall));
}

TEST_CASE("siblings are the calls of one caller, whatever those between them call", "[flow]") {
  const Tree tree;
  const OperatorFlow flow = tree.flow();
  const std::size_t before[] = {kNoCall, kNoCall, kB, kNoCall, kA, kNoCall, kE};
  const std::size_t behind[] = {kNoCall, kD, kNoCall, kE, kG, kNoCall, kNoCall};
  for (std::size_t i = 0; i < 7; ++i) {
    CAPTURE(tree.calls[i].name);
    CHECK(flow.sibling_before(i) == before[i]);
    CHECK(flow.sibling_behind(i) == behind[i]);
  }
}

TEST_CASE("a call encloses itself and what it calls, at any depth", "[flow]") {
  const Tree tree;
  const OperatorFlow flow = tree.flow();
  const std::vector<std::size_t> enclosed[] = {{kC}, {kC, kB}, {kD}, {kC, kB, kD, kA}, {kE}, {kF}, {kF, kG}};
  for (std::size_t caller = 0; caller < 7; ++caller) {
    for (std::size_t call = 0; call < 7; ++call) {
      const auto& in = enclosed[caller];
      CHECK(flow.encloses(caller, call) == (std::find(in.begin(), in.end(), call) != in.end()));
    }
  }
}

TEST_CASE("a call is in sight where every call above it has a partner", "[flow]") {
  const Tree tree;
  const auto in_sight = [&](const std::vector<std::size_t>& paired) {
    OperatorFlow flow = tree.flow();
    for (const std::size_t call : paired) flow.partner[call] = 0;
    std::string names;
    for (std::size_t i = 0; i < 7; ++i) {
      if (flow.is_in_sight(i)) names += tree.calls[i].name;
    }
    return names;
  };
  CHECK(in_sight({}) == "aeg");
  CHECK(in_sight({kA}) == "bdaeg");
  CHECK(in_sight({kA, kB}) == "cbdaeg");
  CHECK(in_sight({kB}) == "aeg");
  CHECK(in_sight({kC, kD, kE, kF}) == "aeg");
  CHECK(in_sight({kG}) == "aefg");
}

TEST_CASE("of callers without a partner the outermost stands for a call, up to one that has a partner", "[flow]") {
  Tree tree;
  for (OperatorRecord& call : tree.calls) call.name = "aten::" + call.name;
  OperatorFlow flow = tree.flow();
  CHECK(flow.outermost_without_partner(kC) == kA);
  CHECK(flow.outermost_without_partner(kD) == kA);
  CHECK(flow.outermost_without_partner(kE) == kE);
  CHECK(flow.outermost_without_partner(kF) == kG);
  flow.partner[kA] = 0;
  CHECK(flow.outermost_without_partner(kC) == kB);
  CHECK(flow.outermost_without_partner(kD) == kD);
  flow.partner[kB] = 0;
  CHECK(flow.outermost_without_partner(kC) == kC);
  flow.partner[kA] = kNoCall;
  CHECK(flow.outermost_without_partner(kC) == kC);
  CHECK(flow.outermost_without_partner(kB) == kA);
}

TEST_CASE("a backward node stands for none of the operators that it calls, each of which may stand for its own",
          "[flow]") {
  Tree tree;
  for (OperatorRecord& call : tree.calls) call.name = "aten::" + call.name;
  tree.calls[kA].name = "autograd::engine::evaluate_function: ABackward0";
  const OperatorFlow flow = tree.flow();
  CHECK(flow.outermost_without_partner(kC) == kB);
  CHECK(flow.outermost_without_partner(kD) == kD);
  CHECK(flow.outermost_without_partner(kA) == kA);
}

TEST_CASE("a value's maker is the one on record, or the last before the reader that returned the same bytes",
          "[flow]") {
  Tree tree;
  for (const std::size_t call : {kC, kB, kE}) tree.calls[call].outputs = {value("other"), value("v")};
  tree.calls[kD].outputs = {value("")};
  const OperatorFlow flow = tree.flow();
  CHECK(flow.maker(kC, value("v")) == kNoCall);
  CHECK(flow.maker(kB, value("v")) == kNoCall);  // what it calls makes it later than it takes it
  CHECK(flow.maker(kD, value("v")) == kB);
  CHECK(flow.maker(kA, value("v")) == kNoCall);
  CHECK(flow.maker(kE, value("v")) == kB);
  CHECK(flow.maker(kF, value("v")) == kE);
  CHECK(flow.maker(kG, value("v")) == kE);
  CHECK(flow.maker(kG, value("w")) == kNoCall);
  CHECK(flow.maker(kG, value("")) == kNoCall);
  OperatorTensor shown = value("v");
  shown.made_by = 30;  // d
  CHECK(flow.maker(kG, shown) == kD);
  shown.made_by = 0;  // a
  CHECK(flow.maker(kG, shown) == kA);
  shown.made_by = 99;
  CHECK(flow.maker(kG, shown) == kNoCall);
}

TEST_CASE("values are those of calls in sight, and what a later call takes has been read, with its callers", "[flow]") {
  Tree tree;
  tree.calls[kC].inputs = {value("c in")};
  tree.calls[kC].outputs = {value("c out")};
  tree.calls[kA].inputs = {value("a in"), value("a in too")};
  tree.calls[kD].outputs = {value("d out"), value("d out too")};
  tree.calls[kE].inputs = {value(""), value("c out")};
  tree.calls[kG].outputs = {value("")};
  OperatorFlow flow = tree.flow();
  flow.partner[kA] = 0;
  flow.note_values();
  for (const char* digest : {"a in", "a in too", "d out", "d out too", "c out"}) CHECK(flow.has_value(value(digest)));
  CHECK_FALSE(flow.has_value(value("c in")));  // of b, which has no partner; e took what c made
  CHECK_FALSE(flow.has_value(value("")));
  std::string read;
  for (std::size_t i = 0; i < 7; ++i) {
    if (flow.is_read(i)) read += tree.calls[i].name;
  }
  CHECK(read == "cba");
}

TEST_CASE("what differs makes its callers differ, and nobody beside them", "[flow]") {
  const Tree tree;
  OperatorFlow flow = tree.flow();
  const auto apart = [&] {
    std::string names;
    for (std::size_t i = 0; i < 7; ++i) {
      if (flow.is_apart(i)) names += tree.calls[i].name;
    }
    return names;
  };
  CHECK(apart().empty());
  flow.note_apart(kD);
  CHECK(apart() == "da");
  flow.note_apart(kC);
  CHECK(apart() == "cbda");
  flow.note_apart(kG);
  CHECK(apart() == "cbdag");
}

// x -> p -> q -> r on one side; the other has x and, where told, one of the others, and partners where told.
struct Chain {
  Chain() {
    const char* values[] = {"x", "p", "q", "r"};
    for (std::size_t i = 0; i < 3; ++i) {
      OperatorRecord call;
      call.name = std::string("makes ") + values[i + 1];
      call.index = static_cast<std::int64_t>(i);
      call.inputs = {value(values[i])};
      call.outputs = {value(values[i + 1])};
      calls.push_back(call);
    }
    OperatorRecord source;
    source.outputs = {value("x")};
    others = {source};
  }
  std::string behind(std::size_t reader, const std::vector<std::size_t>& paired = {}) {
    OperatorFlow own(calls);
    OperatorFlow other(others);
    for (const std::size_t call : paired) own.partner[call] = 0;
    own.note_values();
    other.note_values();
    OperatorSlice slice(own, other);
    const OperatorSubgraph subgraph = slice.behind(reader, 0);
    CHECK(subgraph.is_taken);
    CHECK(subgraph.place == 0);
    CHECK(subgraph.at.name == calls[reader].name);
    leaves = slice.leaves_step();
    constants_differ = slice.constants_differ();
    std::string names;
    for (const OperatorRecord& call : subgraph.calls) names += call.name + "; ";
    return names;
  }

  std::vector<OperatorRecord> calls;
  std::vector<OperatorRecord> others;
  bool leaves = false;
  bool constants_differ = false;
};

TEST_CASE("a subgraph reaches back to what both sides have", "[flow]") {
  Chain chain;
  CHECK(chain.behind(2) == "makes p; makes q; ");
  CHECK_FALSE(chain.leaves);
  CHECK(chain.behind(1) == "makes p; ");
  CHECK(chain.behind(0).empty());
  chain.others[0].outputs.push_back(value("p"));
  CHECK(chain.behind(2) == "makes q; ");
  CHECK(chain.behind(2, {0, 1}) == "makes q; ");
  chain.others[0].outputs = {value("other")};
  CHECK(chain.behind(2) == "makes p; makes q; ");
  CHECK(chain.leaves);
  chain.calls[0].inputs[0].digest = "";  // memory that nobody wrote leaves nothing
  CHECK(chain.behind(2) == "makes p; makes q; ");
  CHECK_FALSE(chain.leaves);
}

TEST_CASE("a view is followed through where its partner shows the same, and is part of the subgraph where not",
          "[flow]") {
  Chain chain;
  chain.calls[1].outputs[0].digest = "";
  chain.calls[2].inputs[0] = value("");
  chain.calls[2].inputs[0].made_by = 1;
  CHECK(chain.behind(2, {1}) == "makes p; ");
  CHECK_FALSE(chain.constants_differ);
  chain.calls[1].constants = "0, 1";
  CHECK(chain.behind(2, {1}) == "makes p; makes q; ");
  CHECK(chain.constants_differ);
  CHECK(chain.behind(2) == "makes p; makes q; ");
  CHECK_FALSE(chain.constants_differ);  // without a partner it is a call like any other
}

TEST_CASE("what a call made stands in its subgraph with the call itself", "[flow]") {
  Chain chain;
  chain.calls[2].outputs.push_back(value("s"));
  OperatorFlow own(chain.calls);
  OperatorFlow other(chain.others);
  own.note_values();
  other.note_values();
  OperatorSlice slice(own, other);
  const OperatorSubgraph subgraph = slice.made_by(2, 1);
  CHECK(subgraph.calls.size() == 3);
  CHECK(subgraph.outflow.digest == "s");
  CHECK(subgraph.at.name == "makes r");
  CHECK_FALSE(subgraph.is_taken);
  CHECK(subgraph.place == 1);
  CHECK(slice.met() == std::set<std::size_t>{0, 1, 2});
  CHECK_FALSE(slice.meets_apart());
  own.note_apart(1);
  OperatorSlice known(own, other);
  CHECK(known.made_by(2, 0).calls.size() == 1);
  CHECK(known.meets_apart());
}

}  // namespace
}  // namespace reprobench
