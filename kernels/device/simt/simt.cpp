#include "kernels/device/simt/simt.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

#include <ucontext.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

// Bounds of the section that holds all shared variables; absent where no kernel has any.
extern "C" {
[[gnu::weak]] extern unsigned char __start_simt_shared[];
[[gnu::weak]] extern unsigned char __stop_simt_shared[];
}

namespace reprobench::simt {

Index3 thread_index;
Index3 block_index;
Index3 block_extent;
Index3 grid_extent;

namespace {

constexpr std::size_t kStackBytes = 256 * 1024;
constexpr unsigned kWarp = 32;
constexpr unsigned char kGarbage = 0xa5;

enum class Waits { no, warp, block, for_ever };

struct Fiber {
  ucontext_t context{};
  std::unique_ptr<std::byte[]> stack{new std::byte[kStackBytes]};
  void* sanitizer_stack = nullptr;
  Waits waits = Waits::no;
  unsigned exchanges = 0;  // how many so far: picks the slot
  std::uint64_t slots[2] = {};
};

class Block {
 public:
  Block(std::vector<Fiber>& fibers, unsigned threads, const std::function<void()>& kernel)
      : fibers_(fibers), threads_(threads), kernel_(kernel) {}

  // Runs every thread of the block to its end; `turns` is the order in which threads get their turn.
  void run(const std::vector<unsigned>& turns);

  void wait(Waits what) {
    fibers_[current_].waits = what;
    switch_to_scheduler(false);
  }
  Fiber& fiber(unsigned thread) { return fibers_[thread]; }
  unsigned current() const { return current_; }
  unsigned threads() const { return threads_; }
  const std::function<void()>& kernel() const { return kernel_; }
  void switch_to_scheduler(bool finished);

 private:
  void start(unsigned thread);
  void resume(unsigned thread);
  bool release_warps();
  bool release_block();

  std::vector<Fiber>& fibers_;
  unsigned threads_;
  const std::function<void()>& kernel_;
  ucontext_t scheduler_{};
  void* scheduler_sanitizer_stack_ = nullptr;
  const void* scheduler_stack_ = nullptr;
  std::size_t scheduler_stack_bytes_ = 0;
  unsigned current_ = 0;

  friend void fiber_main();
};

Block* g_block = nullptr;  // the one that runs: the emulator is single-threaded

void fiber_main() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &g_block->scheduler_stack_, &g_block->scheduler_stack_bytes_);
#endif
  g_block->kernel()();
  g_block->fiber(g_block->current()).waits = Waits::for_ever;
  g_block->switch_to_scheduler(true);
}

void Block::switch_to_scheduler([[maybe_unused]] bool finished) {
  Fiber& fiber = fibers_[current_];
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(finished ? nullptr : &fiber.sanitizer_stack, scheduler_stack_, scheduler_stack_bytes_);
#endif
  swapcontext(&fiber.context, &scheduler_);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fiber.sanitizer_stack, &scheduler_stack_, &scheduler_stack_bytes_);
#endif
}

void Block::start(unsigned thread) {
  Fiber& fiber = fibers_[thread];
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = fiber.stack.get();
  fiber.context.uc_stack.ss_size = kStackBytes;
  fiber.context.uc_link = nullptr;
  fiber.waits = Waits::no;
  fiber.exchanges = 0;
  makecontext(&fiber.context, &fiber_main, 0);
}

void Block::resume(unsigned thread) {
  current_ = thread;
  thread_index = {thread, 0, 0};
  Fiber& fiber = fibers_[thread];
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&scheduler_sanitizer_stack_, fiber.stack.get(), kStackBytes);
#endif
  swapcontext(&scheduler_, &fiber.context);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(scheduler_sanitizer_stack_, nullptr, nullptr);
#endif
}

// A warp goes on when all of its threads that still run wait for the warp.
bool Block::release_warps() {
  bool released = false;
  for (unsigned first = 0; first < threads_; first += kWarp) {
    const unsigned end = std::min(first + kWarp, threads_);
    bool ready = false;
    bool all = true;
    for (unsigned t = first; t < end; ++t) {
      ready |= fibers_[t].waits == Waits::warp;
      all &= fibers_[t].waits == Waits::warp || fibers_[t].waits == Waits::for_ever;
    }
    if (!ready || !all) continue;
    for (unsigned t = first; t < end; ++t) {
      if (fibers_[t].waits == Waits::warp) fibers_[t].waits = Waits::no;
    }
    released = true;
  }
  return released;
}

bool Block::release_block() {
  bool ready = false;
  for (unsigned t = 0; t < threads_; ++t) {
    if (fibers_[t].waits == Waits::warp) return false;
    ready |= fibers_[t].waits == Waits::block;
  }
  for (unsigned t = 0; ready && t < threads_; ++t) {
    if (fibers_[t].waits == Waits::block) fibers_[t].waits = Waits::no;
  }
  return ready;
}

void Block::run(const std::vector<unsigned>& turns) {
  for (unsigned t = 0; t < threads_; ++t) start(t);
  while (true) {
    for (const unsigned t : turns) {
      if (fibers_[t].waits == Waits::no) resume(t);
    }
    if (release_warps() || release_block()) continue;
    for (unsigned t = 0; t < threads_; ++t) {
      if (fibers_[t].waits != Waits::for_ever) throw std::logic_error("simt: a barrier that not all threads reach");
    }
    return;
  }
}

std::vector<unsigned> in_order(unsigned count, Order order) {
  std::vector<unsigned> turns(count);
  std::iota(turns.begin(), turns.end(), 0u);
  if (order == Order::backward) std::reverse(turns.begin(), turns.end());
  if (order == Order::shuffled) std::shuffle(turns.begin(), turns.end(), std::mt19937(count));
  return turns;
}

}  // namespace

void run(unsigned blocks, unsigned threads, Order order, const std::function<void()>& kernel) {
  static std::vector<Fiber> fibers;
  if (fibers.size() < threads) fibers.resize(threads);
  block_extent = {threads, 1, 1};
  grid_extent = {blocks, 1, 1};
  const std::vector<unsigned> turns = in_order(threads, order);
  for (const unsigned b : in_order(blocks, order)) {
    block_index = {b, 0, 0};
    std::memset(__start_simt_shared, kGarbage, static_cast<std::size_t>(__stop_simt_shared - __start_simt_shared));
    Block block(fibers, threads, kernel);
    g_block = &block;
    block.run(turns);
  }
  g_block = nullptr;
}

void synchronize_block() { g_block->wait(Waits::block); }
void synchronize_warp() { g_block->wait(Waits::warp); }

// Two slots in turn: a lane is at most one barrier ahead of the others of its warp.
std::uint64_t exchange(std::uint64_t value, unsigned source) {
  const unsigned self = g_block->current();
  Fiber& fiber = g_block->fiber(self);
  const unsigned slot = fiber.exchanges++ % 2;
  fiber.slots[slot] = value;
  g_block->wait(Waits::warp);
  return g_block->fiber(self - self % kWarp + source).slots[slot];
}

unsigned ballot(bool predicate) {
  const unsigned self = g_block->current();
  Fiber& fiber = g_block->fiber(self);
  const unsigned slot = fiber.exchanges++ % 2;
  fiber.slots[slot] = predicate;
  g_block->wait(Waits::warp);
  unsigned bits = 0;
  const unsigned first = self - self % kWarp;
  for (unsigned lane = 0; lane < kWarp && first + lane < g_block->threads(); ++lane) {
    Fiber& other = g_block->fiber(first + lane);
    if (other.waits != Waits::for_ever && other.slots[slot] != 0) bits |= 1u << lane;
  }
  return bits;
}

std::uint64_t global_timer_ns() {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

std::uint64_t cycle_counter() { return global_timer_ns() / 2 * 3; }

}  // namespace reprobench::simt
