// Ends of a process that no code can catch, each in a child process: the result that they leave behind.
#include "suites/worker/last_words.hpp"

#include <csignal>
#include <exception>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>

#include <sys/wait.h>
#include <unistd.h>

#include "suites/worker/result_file.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/training_fixture.hpp"

namespace reprobench {
namespace {

constexpr int kCaught = 7;

void fail_as_cuda_does() { throw std::runtime_error("CUDA error: an illegal memory access was encountered\n#0 frame"); }

// As page-locked memory that is given back after a fault of the GPU.
struct PageLocked {
  ~PageLocked() { fail_as_cuda_does(); }
};

struct Ending {
  int status = 0;
  std::optional<CellResult> result;
};

// `attempt(result)` in a process of its own, with last words in a file of that name.
template <class Attempt>
Ending ending_of(Attempt attempt, const char* file_name = "result.json") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / file_name;
  Ending ending;
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);  // the test program would report it as its own
    CellResult result;
    result.cell_id = "cell";
    result.nonce = "0123456789abcdef";
    result.steps_completed = 5;
    try {
      const LastWords last_words(result, [&] { write_result(path, result); });
      attempt(result);
    } catch (...) {
    }
    _exit(kCaught);
  }
  REQUIRE(waitpid(child, &ending.status, 0) == child);
  if (std::ifstream file(path); file) ending.result = result_from_json(nlohmann::json::parse(file));
  return ending;
}

TEST_CASE("memory that cannot be given back while a failure is on its way leaves a failed result", "[worker]") {
  const Ending ending = ending_of([](CellResult&) {
    const PageLocked batch;
    throw RunFailure("illegal_address", "waiting for a step: an illegal memory access was encountered");
  });
  CHECK(WIFEXITED(ending.status));
  CHECK(WEXITSTATUS(ending.status) == kFailedExit);
  REQUIRE(ending.result);
  REQUIRE(ending.result->failure);
  CHECK(ending.result->failure->detail == "CUDA error: an illegal memory access was encountered");
  CHECK(ending.result->failure->step == 5);
}

TEST_CASE("a failure that was noted first is the one that the result has", "[worker]") {
  const Ending ending = ending_of([](CellResult& result) {
    const PageLocked batch;
    result.failure = WorkerFailure{"illegal_address", "waiting for a step", 5};
    throw RunFailure("illegal_address", "waiting for a step");
  });
  CHECK(WEXITSTATUS(ending.status) == kFailedExit);
  REQUIRE(ending.result);
  CHECK(ending.result->failure->detail == "waiting for a step");
}

TEST_CASE("memory that cannot be given back in the middle of a run is the failure itself", "[worker]") {
  const Ending ending = ending_of([](CellResult&) { const PageLocked batch; });
  CHECK(WEXITSTATUS(ending.status) == kFailedExit);
  REQUIRE(ending.result);
  CHECK(ending.result->failure->detail == "CUDA error: an illegal memory access was encountered");
}

TEST_CASE("an end that no exception explains is still a crash", "[worker]") {
  const Ending ending = ending_of([](CellResult&) { std::terminate(); });
  CHECK(WIFSIGNALED(ending.status));
  CHECK(WTERMSIG(ending.status) == SIGABRT);
  CHECK_FALSE(ending.result);
}

TEST_CASE("a result that cannot be written leaves a crash", "[worker]") {
  const Ending ending = ending_of([](CellResult&) { const PageLocked batch; }, "no/such/folder/result.json");
  CHECK(WIFSIGNALED(ending.status));
  CHECK_FALSE(ending.result);
}

TEST_CASE("what a process ends with is put back once an attempt is over", "[worker]") {
  const auto before = std::get_terminate();
  CellResult result;
  {
    const LastWords last_words(result, [] {});
  }
  CHECK(std::get_terminate() == before);
}

TEST_CASE("what can be caught is caught as ever", "[worker]") {
  const Ending ending = ending_of([](CellResult&) { fail_as_cuda_does(); });
  CHECK(WEXITSTATUS(ending.status) == kCaught);
  CHECK_FALSE(ending.result);
}

// Tensors of the run die after that.
TEST_CASE("a training notes its failure before it lets go of anything", "[worker]") {
  const TemporaryFolder folder;
  CellRequest request = training_request(mlp(), 9, TraceLevel::step);
  request.inject = Injection{"weight_nan", 3, "fc2.bias", 0};
  CellResult result;
  CHECK_THROWS_AS(run_training(request, folder.path(), kTestData, result), RunFailure);
  REQUIRE(result.failure);
  CHECK(result.failure->cause == "non_finite_loss");
  CHECK(result.failure->step == 3);
}

}  // namespace
}  // namespace reprobench
