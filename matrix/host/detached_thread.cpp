#include "matrix/host/detached_thread.hpp"

#include <thread>

#include <signal.h>

namespace reprobench {

void start_detached(std::function<void()> work) {
  sigset_t all;
  sigset_t previous;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &previous);
  std::thread(std::move(work)).detach();
  pthread_sigmask(SIG_SETMASK, &previous, nullptr);
}

}  // namespace reprobench
