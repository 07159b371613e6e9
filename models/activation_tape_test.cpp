#include "models/activation_tape.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

TEST_CASE("a value dies with its last reader, or lives until who saved it has run backward", "[models]") {
  ActivationTape tape;
  const auto a = tape.make(100, {}, {}, 0, /*has_gradient=*/false);
  const auto b = tape.make(10, {a}, {}, 0, /*has_gradient=*/false);
  const auto c = tape.make(50, {b}, {}, 0, /*has_gradient=*/false);
  tape.make(1, {c}, {}, 0, /*has_gradient=*/false);
  CHECK(tape.peak({}).total() == 110);  // a and b; c comes when a is gone
  tape.save(c, a);
  CHECK(tape.peak({}).total() == 160);
}

TEST_CASE("a gradient lives beside what it is made of, and a parameter's stays", "[models]") {
  ActivationTape tape;
  const auto x = tape.make(100, {}, {}, 7);
  tape.make(1, {x}, {x}, 1000);
  // x, the loss, both gradients, and the parameter gradients of the second call; then x and its gradient go.
  const LiveElements peak = tape.peak({});
  CHECK(peak.activations == 100 + 1 + 100);
  CHECK(peak.gradients == 1000);
}

TEST_CASE("what a trace of every tensor shows stays, value and gradient, until the step is over", "[models]") {
  ActivationTape tape;
  const auto a = tape.make(100, {});
  const auto b = tape.make(100, {a});
  tape.make(1, {b});
  tape.show(a);
  tape.show(b);
  CHECK(tape.peak({}).total() == 200);  // two at a time
  CHECK(tape.peak({.traces_tensors = true}).total() >= 400);
}

TEST_CASE("scratch counts during its own call alone, and a shared gradient is no second one", "[models]") {
  ActivationTape tape;
  const auto rows = tape.make(10, {}, {}, 500);
  const auto x = tape.make(10, {rows}, {rows}, 500);
  tape.make(1, {x}, {x});
  CHECK(tape.peak({}).gradients == 1000);
  tape.share_gradient(rows);
  CHECK(tape.peak({}).gradients == 500);
  CHECK(tape.peak({}).activations > 500);  // the one that is added, until it is
  tape.scratch(x, 5000);
  CHECK(tape.peak({}).activations > 5000);
  CHECK(tape.peak({}).activations < 5100);
}

// x, a block that makes 100 and 30 of it and saves both, its result of 10, and a loss.
ActivationTape tape_of_blocks(int count) {
  ActivationTape tape;
  auto x = tape.make(10, {}, {}, 0, /*has_gradient=*/false);
  for (int i = 0; i < count; ++i) {
    tape.begin_block({x});
    const auto wide = tape.make(100, {x}, {x}, 0, /*has_gradient=*/false);
    const auto narrow = tape.make(30, {wide}, {wide}, 0, /*has_gradient=*/false);
    x = tape.make(10, {narrow}, {narrow}, 0, /*has_gradient=*/false);
    tape.end_block();
  }
  return tape;
}

TEST_CASE("of blocks computed again what goes into them stays, and of one at a time what it saves", "[models]") {
  // 10, 100, 30 and 10 of the first; each further one adds what it saves, and its result, which the next one saves.
  CHECK(tape_of_blocks(3).peak({}).total() == 10 + 3 * (100 + 30 + 10));
  // Nothing but what goes in stays: three times 10, and the last block whole.
  CHECK(tape_of_blocks(3).peak({.computes_blocks_again = true}).total() == 3 * 10 + 100 + 30);
  CHECK(tape_of_blocks(9).peak({.computes_blocks_again = true}).total() == 9 * 10 + 100 + 30);
}

TEST_CASE("a block is computed again beside the gradient that waits for it", "[models]") {
  ActivationTape tape;
  const auto x = tape.make(10, {});
  tape.begin_block({x});
  const auto wide = tape.make(100, {x}, {x});
  const auto out = tape.make(5, {wide}, {wide});
  tape.end_block();
  tape.make(1, {out});
  // x, the gradient of the block's result, what the block makes again: 100 and 5; then the gradient of the 100, when
  // the second result of 5 is gone.
  CHECK(tape.peak({.computes_blocks_again = true}).activations == 10 + 5 + 100 + 100);
}

TEST_CASE("a block in a block is a part of it, and an empty one is none", "[models]") {
  ActivationTape tape;
  const auto x = tape.make(10, {});
  tape.begin_block({x});
  tape.begin_block({x});
  tape.end_block();
  tape.end_block();
  CHECK_FALSE(tape.has_blocks());
  tape.begin_block({x});
  tape.make(5, {x});
  tape.begin_block({x});
  tape.make(5, {x});
  tape.end_block();
  tape.end_block();
  CHECK(tape.has_blocks());
}

TEST_CASE("the outputs of the micro-batch before live until there are others", "[models]") {
  ActivationTape tape;
  const auto field = tape.make(3, {}, {}, 0, /*has_gradient=*/false);
  tape.hold(field);
  const auto wide = tape.make(100, {field}, {}, 0, /*has_gradient=*/false);
  const auto outputs = tape.make(50, {wide}, {}, 0, /*has_gradient=*/false);
  tape.make(120, {outputs}, {}, 0, /*has_gradient=*/false);
  tape.hold_outputs(outputs);
  CHECK(tape.peak({}).total() == 3 + 50 + 120);
  CHECK(tape.peak({.micro_batches = 4}).total() == 4 * 3 + 50 + 100 + 50);  // and not 50 more beside the 120
}

TEST_CASE("the first sum of two gradients is there beside both", "[models]") {
  ActivationTape tape;
  const auto x = tape.make(1, {}, {}, 700);
  tape.make(1, {x}, {x}, 300);
  CHECK(tape.peak({.micro_batches = 2}).total() == 1000 + 700);
}

TEST_CASE("a tape of nothing is empty, which is not a step of no memory", "[models]") {
  CHECK(ActivationTape().is_empty());
}

}  // namespace
}  // namespace reprobench
