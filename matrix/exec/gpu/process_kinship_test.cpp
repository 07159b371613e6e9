#include "matrix/exec/gpu/process_kinship.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ci/catch.hpp"

namespace reprobench {
namespace {

// A child whose own child sleeps, both under this name; gone with its owner.
class SleepingFamily {
 public:
  explicit SleepingFamily(const char* name) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    child_ = fork();
    if (child_ == 0) {
      prctl(PR_SET_NAME, name);
      const pid_t grandchild = fork();
      if (grandchild != 0 && write(ends[1], &grandchild, sizeof grandchild) < 0) _exit(1);
      for (;;) pause();
    }
    REQUIRE(read(ends[0], &grandchild_, sizeof grandchild_) == sizeof grandchild_);
    close(ends[0]);
    close(ends[1]);
  }
  ~SleepingFamily() {
    kill(grandchild_, SIGKILL);
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  pid_t child() const { return child_; }
  pid_t grandchild() const { return grandchild_; }

 private:
  pid_t child_ = -1;
  pid_t grandchild_ = -1;
};

TEST_CASE("this process and all below it are its own, whatever they are called", "[exec][gpu]") {
  const SleepingFamily family(GENERATE("plain", "a) R 1 (b", ")"));
  CHECK(kinship_of(getpid()) == Kinship::own);
  CHECK(kinship_of(family.child()) == Kinship::own);
  CHECK(kinship_of(family.grandchild()) == Kinship::own);
}

TEST_CASE("what is above or beside this process is foreign, and what is not there is hidden", "[exec][gpu]") {
  CHECK(kinship_of(1) == Kinship::foreign);
  const SleepingFamily family("beside");
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t brother = fork();
  if (brother == 0) {
    const Kinship seen[] = {kinship_of(family.child()), kinship_of(getppid()), kinship_of(getpid())};
    _exit(write(ends[1], seen, sizeof seen) == sizeof seen ? 0 : 1);
  }
  Kinship seen[3] = {};
  REQUIRE(read(ends[0], seen, sizeof seen) == sizeof seen);
  close(ends[0]);
  close(ends[1]);
  waitpid(brother, nullptr, 0);
  CHECK(seen[0] == Kinship::foreign);
  CHECK(seen[1] == Kinship::foreign);
  CHECK(seen[2] == Kinship::own);
  CHECK(kinship_of(brother) == Kinship::hidden);
  CHECK(kinship_of(999'999'999) == Kinship::hidden);
}

}  // namespace
}  // namespace reprobench
