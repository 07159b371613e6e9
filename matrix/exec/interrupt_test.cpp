#include "matrix/exec/interrupt.hpp"

#include <signal.h>

#include "ci/catch.hpp"

namespace reprobench {
namespace {

TEST_CASE("Ctrl-C, TERM and HUP are counted while somebody listens, and the first one is remembered", "[exec]") {
  const auto [first, second, was_terminated] = GENERATE(table<int, int, bool>(
      {{SIGINT, SIGTERM, false}, {SIGTERM, SIGINT, true}, {SIGHUP, SIGINT, true}, {SIGINT, SIGHUP, false}}));
  {
    const InterruptHandler handler;
    CHECK(handler.count() == 0);
    CHECK_FALSE(handler.was_terminated());
    raise(first);
    CHECK(handler.count() == 1);
    CHECK(handler.was_terminated() == was_terminated);
    raise(second);
    CHECK(handler.count() == 2);
    CHECK(handler.was_terminated() == was_terminated);
  }
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    REQUIRE(sigaction(number, nullptr, &action) == 0);
    CHECK(action.sa_handler == SIG_DFL);
  }
  const InterruptHandler next;  // begins with nothing of the one before
  CHECK(next.count() == 0);
  CHECK_FALSE(next.was_terminated());
}

}  // namespace
}  // namespace reprobench
