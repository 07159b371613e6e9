#include "suites/worker/last_words.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "suites/worker/worker_failure.hpp"

namespace reprobench {
namespace {

std::atomic<LastWords*> speaker = nullptr;

}  // namespace

LastWords::LastWords(CellResult& result, std::function<void()> write) : result_(result), write_(std::move(write)) {
  speaker = this;
  before_ = std::set_terminate(&LastWords::end_process);
}

LastWords::~LastWords() {
  std::set_terminate(before_);
  speaker = nullptr;
}

// A second thread that gets here, or a throw while words are said, finds no speaker.
void LastWords::end_process() {
  LastWords* const words = speaker.exchange(nullptr);
  if (words != nullptr) {
    if (words->say()) std::_Exit(kFailedExit);  // destructors would fail as this one did
    words->before_();
  }
  std::abort();
}

bool LastWords::say() {
  try {
    const std::exception_ptr thrown = std::current_exception();
    if (!result_.failure && thrown == nullptr) return false;
    if (!result_.failure) result_.failure = failure_of(thrown, result_.steps_completed);
    write_();
    std::fprintf(stderr, "reprobench-worker: it ended while it cleaned up after: %s\n",
                 result_.failure->detail.c_str());
    return true;
  } catch (...) {
    return false;  // there is no result, and the handler before says what it can
  }
}

}  // namespace reprobench
