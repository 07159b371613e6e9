#include "matrix/exec/interrupt.hpp"

#include <signal.h>

namespace reprobench {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

std::atomic<int> interrupts_seen{0};
std::atomic<int> first_signal{0};
int handlers = 0;  // of which the outermost takes the signals and gives them back
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may only touch lock-free atomics");

extern "C" void count_interrupt(int signal_number) {
  int none = 0;
  first_signal.compare_exchange_strong(none, signal_number);
  interrupts_seen.fetch_add(1);
}

void set_handlers(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;  // no SA_RESTART: a wait must return early
  sigemptyset(&action.sa_mask);
  for (const int signal_number : kSignals) sigaction(signal_number, &action, nullptr);
}

}  // namespace

InterruptHandler::InterruptHandler() {
  if (++handlers > 1) return;
  interrupts_seen = 0;
  first_signal = 0;
  set_handlers(&count_interrupt);
}

InterruptHandler::~InterruptHandler() {
  if (--handlers == 0) set_handlers(SIG_DFL);
}

const std::atomic<int>& InterruptHandler::count() const { return interrupts_seen; }

bool InterruptHandler::was_terminated() const { return first_signal == SIGTERM || first_signal == SIGHUP; }

}  // namespace reprobench
