// The verbose output of this stack's libraries on this CPU, whichever they are, and the rest of standard output.
#include "suites/worker/record/library_calls.hpp"

#include <cstdio>
#include <stdexcept>

#include <ATen/core/Tensor.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <unistd.h>

#include "ci/catch.hpp"
#include "suites/worker/record/operator_hook.hpp"

namespace reprobench {
namespace {

// What comes out of standard output while `work` runs.
std::string printed_by(const std::function<void()>& work) {
  std::fflush(stdout);
  std::FILE* file = std::tmpfile();
  REQUIRE(file != nullptr);
  const int before = dup(STDOUT_FILENO);
  dup2(fileno(file), STDOUT_FILENO);
  work();
  std::fflush(stdout);
  dup2(before, STDOUT_FILENO);
  close(before);
  std::rewind(file);
  std::string text;
  for (int letter = 0; (letter = std::fgetc(file)) != EOF;) text += static_cast<char>(letter);
  std::fclose(file);
  return text;
}

TEST_CASE("a product is heard of, or why it is not is said", "[worker]") {
  const at::Tensor a = at::ones({64, 64});
  const LibraryCalls product = library_calls([&] { at::mm(a, a); });
  CAPTURE(product.calls, product.unheard);
  CHECK_FALSE((product.calls.empty() && product.unheard.empty()));
  CHECK(library_calls([] {}).calls.empty());
}

TEST_CASE("the libraries are silent before and after, and what others print comes out once", "[worker]") {
  const at::Tensor a = at::ones({64, 64});
  LibraryCalls seen;
  const std::string printed = printed_by([&] {
    at::mm(a, a);
    std::fputs("before ", stdout);
    seen = library_calls([&] {
      std::fputs("within\n", stdout);
      std::fflush(stdout);
      at::mm(a, a);
    });
    std::fputs("after", stdout);
    at::mm(a, a);
  });
  CHECK(printed == "before within\nafter");
}

TEST_CASE("work that throws leaves standard output and the libraries as they were", "[worker]") {
  const at::Tensor a = at::ones({64, 64});
  const std::string printed = printed_by([&] {
    CHECK_THROWS_AS(library_calls([] {
                      std::fputs("said\n", stdout);
                      throw std::runtime_error("stopped");
                    }),
                    std::runtime_error);
    at::mm(a, a);
    std::fputs("after", stdout);
  });
  CHECK(printed == "said\nafter");
}

TEST_CASE("where standard output is closed the work is done all the same, and that nothing was heard is said",
          "[worker]") {
  std::fflush(stdout);
  const int before = dup(STDOUT_FILENO);
  close(STDOUT_FILENO);
  bool done = false;
  const LibraryCalls seen = library_calls([&] { done = true; });
  dup2(before, STDOUT_FILENO);
  close(before);
  CHECK(done);
  CHECK(seen.unheard == "standard output could not be caught: Bad file descriptor");
}

}  // namespace
}  // namespace reprobench
