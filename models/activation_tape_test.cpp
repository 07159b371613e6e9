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
  CHECK(tape.peak(false).total() == 110);  // a and b; c comes when a is gone
  tape.save(c, a);
  CHECK(tape.peak(false).total() == 160);
}

TEST_CASE("a gradient lives beside what it is made of, and a parameter's stays", "[models]") {
  ActivationTape tape;
  const auto x = tape.make(100, {}, {}, 7);
  tape.make(1, {x}, {x}, 1000);
  // x, the loss, both gradients, and the parameter gradients of the second call; then x and its gradient go.
  const LiveElements peak = tape.peak(false);
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
  CHECK(tape.peak(false).total() == 200);  // two at a time
  CHECK(tape.peak(true).total() >= 400);
}

TEST_CASE("scratch counts during its own call alone, and a shared gradient is no second one", "[models]") {
  ActivationTape tape;
  const auto rows = tape.make(10, {}, {}, 500);
  const auto x = tape.make(10, {rows}, {rows}, 500);
  tape.make(1, {x}, {x});
  CHECK(tape.peak(false).gradients == 1000);
  tape.share_gradient(rows);
  CHECK(tape.peak(false).gradients == 500);
  CHECK(tape.peak(false).activations > 500);  // the one that is added, until it is
  tape.scratch(x, 5000);
  CHECK(tape.peak(false).activations > 5000);
  CHECK(tape.peak(false).activations < 5100);
}

TEST_CASE("a tape of nothing is empty, which is not a step of no memory", "[models]") {
  CHECK(ActivationTape().is_empty());
}

}  // namespace
}  // namespace reprobench
