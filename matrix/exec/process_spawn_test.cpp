#include "matrix/exec/process_spawn.hpp"

#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>

#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ci/catch.hpp"

namespace reprobench {
namespace {

using std::chrono::milliseconds;

// What starting this says, and how long it took to say it.
struct SpawnFailure {
  int code = 0;
  std::string words;
  std::chrono::steady_clock::duration time{};
};

SpawnFailure failure_of(const std::string& program) {
  SpawnRequest request;
  request.command = {program};
  const auto begin = std::chrono::steady_clock::now();
  SpawnFailure failure;
  try {
    const pid_t pid = spawn_process(request);
    waitpid(pid, nullptr, 0);
  } catch (const std::system_error& error) {
    failure.code = error.code().value();
    failure.words = error.what();
  }
  failure.time = std::chrono::steady_clock::now() - begin;
  return failure;
}

TEST_CASE("a program that is not there is named at once", "[exec]") {
  const SpawnFailure failure = failure_of("/no/such/program");
  CHECK(failure.code == ENOENT);
  CHECK(failure.words == "cannot start /no/such/program: No such file or directory");
}

// Pauses of 10, 20, 40, 80 and 160 ms.
TEST_CASE("a host that is full of processes is asked six times", "[exec][process]") {
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_NPROC, &before) == 0);
  const rlimit none{0, before.rlim_max};
  SpawnFailure failure;
  std::thread([&] {
    constexpr long kNobody = 65'534;
    syscall(SYS_setresuid, kNobody, kNobody, kNobody);  // of this thread alone: root has no such limit
    setrlimit(RLIMIT_NPROC, &none);
    failure = failure_of("/bin/true");
    setrlimit(RLIMIT_NPROC, &before);
  }).join();
  setrlimit(RLIMIT_NPROC, &before);
  CHECK(failure.code == EAGAIN);
  CHECK(failure.words == "cannot start /bin/true: Resource temporarily unavailable");
  CHECK(failure.time >= milliseconds(310));
}

}  // namespace
}  // namespace reprobench
