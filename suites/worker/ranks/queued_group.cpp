#include "suites/worker/ranks/queued_group.hpp"

#include <future>
#include <stdexcept>
#include <thread>
#include <utility>

#include <ATen/core/Tensor.h>

namespace reprobench {
namespace {

using Clock = std::chrono::steady_clock;

// How often the library is asked for errors, which costs more than asking whether the device is done.
constexpr std::chrono::microseconds kBetweenQuestions{500};
// A call that takes longer than this gains nothing from a host that asks without pause.
constexpr std::chrono::milliseconds kImpatience{2};
constexpr std::chrono::seconds kLongestAbort{2};

class WaitingGroup final : public ProcessGroup {
 public:
  WaitingGroup(std::shared_ptr<CollectiveQueue> queue, std::chrono::milliseconds timeout)
      : queue_(std::move(queue)), timeout_(timeout) {}

  std::string_view library() const override { return queue_->library(); }
  c10::Device where() const override { return queue_->where(); }
  std::optional<std::int64_t> device_time_ns() override { return queue_->device_time_ns(); }
  std::string take_log() override { return queue_->take_log(); }

  void all_reduce(at::Tensor& values) override {
    finish([&] { queue_->all_reduce(values); });
  }
  void reduce(at::Tensor& values, int root) override {
    finish([&] { queue_->reduce(values, root); });
  }
  void broadcast(at::Tensor& values, int root) override {
    finish([&] { queue_->broadcast(values, root); });
  }
  void all_gather(const at::Tensor& own, at::Tensor& all) override {
    finish([&] { queue_->all_gather(own, all); });
  }
  void reduce_scatter(const at::Tensor& all, at::Tensor& own) override {
    finish([&] { queue_->reduce_scatter(all, own); });
  }
  void all_to_all(const at::Tensor& sent, at::Tensor& received) override {
    finish([&] { queue_->all_to_all(sent, received); });
  }
  void shift(const at::Tensor& sent, at::Tensor& received) override {
    finish([&] { queue_->shift(sent, received); });
  }
  void barrier() override {
    finish([&] { queue_->barrier(); });
  }

 private:
  template <class Queue>
  void finish(Queue queue) {
    if (is_given_up_) throw CollectiveError("the communicator was given up after an earlier failure");
    try {
      queue();
      wait_until([&] { return queue_->is_done(); }, [&] { return queue_->trouble(); }, timeout_);
    } catch (const UnsupportedCollective&) {
      throw;  // nothing was queued
    } catch (...) {
      is_given_up_ = true;
      give_up(queue_);
      throw;
    }
  }

  std::shared_ptr<CollectiveQueue> queue_;
  std::chrono::milliseconds timeout_;
  bool is_given_up_ = false;
};

}  // namespace

void wait_until(const std::function<bool()>& is_done, const std::function<std::string()>& trouble,
                std::chrono::milliseconds timeout) {
  const Clock::time_point began = Clock::now();
  Clock::time_point asked = began;
  while (!is_done()) {
    const Clock::time_point now = Clock::now();
    if (now - asked >= kBetweenQuestions) {
      asked = now;
      if (const std::string why = trouble(); !why.empty()) throw std::runtime_error(why);
    }
    if (now - began >= timeout)
      throw std::runtime_error("it did not end in " + std::to_string(timeout.count()) + " ms");
    if (now - began >= kImpatience) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  // Of a call that failed its device may well be done.
  if (const std::string why = trouble(); !why.empty()) throw std::runtime_error(why);
}

void give_up(const std::shared_ptr<CollectiveQueue>& queue) {
  auto aborted = std::make_shared<std::promise<void>>();
  const std::future<void> end = aborted->get_future();
  std::thread([queue, aborted] {
    queue->abort();
    aborted->set_value();
  }).detach();
  static_cast<void>(end.wait_for(kLongestAbort));
}

std::unique_ptr<ProcessGroup> waiting_for(std::shared_ptr<CollectiveQueue> queue, std::chrono::milliseconds timeout) {
  return std::make_unique<WaitingGroup>(std::move(queue), timeout);
}

}  // namespace reprobench
