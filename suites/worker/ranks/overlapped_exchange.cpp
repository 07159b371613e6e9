#include "suites/worker/ranks/overlapped_exchange.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include "suites/worker/ranks/gradient_sum.hpp"
#include "suites/worker/ranks/rank_group.hpp"
#include "suites/worker/record/operator_hook.hpp"

namespace reprobench {
namespace {

// Small enough that the models of the suites have several; DDP's default of 25 MB is of models of a thousand times
// that.
constexpr std::int64_t kBucketElements = std::int64_t{1} << 16;

std::int64_t ns_between(std::chrono::steady_clock::time_point from, std::chrono::steady_clock::time_point to) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(to - from).count();
}

std::vector<std::int64_t> trained_elements(const TrainState& state) {
  std::vector<std::int64_t> elements;
  for (std::size_t i = 0; i < state.size(); ++i) {
    elements.push_back(state.is_frozen(i) ? 0 : state.parameter(i).numel());
  }
  return elements;
}

}  // namespace

std::vector<std::vector<std::size_t>> bucket_plan(const std::vector<std::int64_t>& elements,
                                                  std::int64_t bucket_elements) {
  std::vector<std::vector<std::size_t>> plan;
  std::int64_t in_bucket = 0;
  for (std::size_t i = elements.size(); i-- > 0;) {
    if (elements[i] == 0) continue;
    if (plan.empty() || in_bucket + elements[i] > bucket_elements) {
      plan.emplace_back();
      in_bucket = 0;
    }
    plan.back().push_back(i);
    in_bucket += elements[i];
  }
  return plan;
}

struct OverlappedExchange::Bucket {
  std::vector<std::size_t> parameters;
  std::vector<std::int64_t> places;  // of each parameter's gradient in `own`
  at::Tensor own;
  at::Tensor all;           // every rank's, in their order
  std::size_t waiting = 0;  // gradients that have not come
  bool is_ready = false;    // to be sent
  Clock::time_point began;  // of its exchange
  Clock::time_point ended;
};

OverlappedExchange::OverlappedExchange(RankGroup& ranks, TrainState& state, const std::optional<Injection>& fault)
    : ranks_(ranks), state_(state), fault_(fault), bucket_of_(state.size()) {
  for (const auto& parameters : bucket_plan(trained_elements(state), kBucketElements)) {
    Bucket& bucket = buckets_.emplace_back();
    bucket.parameters = parameters;
    std::int64_t elements = 0;
    for (const std::size_t i : parameters) {
      bucket_of_[i] = buckets_.size() - 1;
      bucket.places.push_back(elements);
      elements += state.parameter(i).numel();
      state.parameter(i).register_hook([this, i](const at::Tensor& gradient) { came(i, gradient); });
    }
    const auto options = state.parameter(parameters.front()).options().requires_grad(false);
    bucket.own = at::zeros({elements}, options);
    bucket.all = at::empty({ranks.size() * elements}, options);
  }
  order_.resize(buckets_.size());
  thread_ = std::thread([this] { send_in_order(); });
}

OverlappedExchange::~OverlappedExchange() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void OverlappedExchange::during(std::int64_t step, double unscale, const std::function<void()>& backward) {
  unscale_ = unscale;
  holds_first_ = fault_ && fault_->kind == "bucket_late" && step >= fault_->step;
  {
    const std::lock_guard lock(mutex_);
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    const bool is_swapped = fault_ && fault_->kind == "bucket_order" && step == fault_->step;
    if (is_swapped && order_.size() > 1) std::swap(order_[0], order_[1]);
    for (Bucket& bucket : buckets_) {
      bucket.waiting = bucket.parameters.size();
      bucket.is_ready = false;
    }
    sent_ = 0;
    runs_ = true;
  }
  backward();
  backward_ended_ = Clock::now();
  holds_first_ = false;
  // What a pass made no gradient of is sent as zeros, so that buckets have one size on every rank.
  for (Bucket& bucket : buckets_) {
    if (bucket.waiting > 0) {
      for (std::size_t k = 0; k < bucket.parameters.size(); ++k) {
        const at::Tensor& parameter = state_.parameter(bucket.parameters[k]);
        if (!parameter.grad().defined()) bucket.own.narrow(0, bucket.places[k], parameter.numel()).zero_();
      }
    }
    mark_ready(bucket);
  }
}

// Once a pass and parameter: where it is read several times, autograd has added those up.
void OverlappedExchange::came(std::size_t parameter, const at::Tensor& gradient) {
  const c10::NoGradGuard no_grad;
  const OperatorPause pause;
  Bucket& bucket = buckets_[bucket_of_[parameter]];
  const auto k = static_cast<std::size_t>(std::ranges::find(bucket.parameters, parameter) - bucket.parameters.begin());
  at::Tensor place = bucket.own.narrow(0, bucket.places[k], gradient.numel());
  place.copy_(gradient.flatten());
  if (unscale_ != 1) place.mul_(unscale_);
  if (--bucket.waiting == 0 && !(holds_first_ && &bucket == &buckets_.front())) mark_ready(bucket);
}

void OverlappedExchange::mark_ready(Bucket& bucket) {
  {
    const std::lock_guard lock(mutex_);
    bucket.is_ready = true;
  }
  changed_.notify_all();
}

void OverlappedExchange::send_in_order() {
  std::unique_lock lock(mutex_);
  while (true) {
    const auto can_send = [&] {
      return runs_ && !failure_ && sent_ < order_.size() && buckets_[order_[sent_]].is_ready;
    };
    changed_.wait(lock, [&] { return stops_ || can_send(); });
    if (stops_) return;
    Bucket& bucket = buckets_[order_[sent_]];
    lock.unlock();
    std::exception_ptr failed;
    try {
      exchange(bucket);
    } catch (...) {
      failed = std::current_exception();
    }
    lock.lock();
    failure_ = failed;
    ++sent_;
    changed_.notify_all();
  }
}

void OverlappedExchange::exchange(Bucket& bucket) {
  bucket.began = Clock::now();
  ranks_.call("all_gather", static_cast<std::int64_t>(bucket.all.nbytes()),
              [&](ProcessGroup& group) { group.all_gather(bucket.own, bucket.all); });
  bucket.ended = Clock::now();
}

ExchangeTimes OverlappedExchange::finish(double share) {
  const c10::NoGradGuard no_grad;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return failure_ || sent_ == order_.size(); });
    runs_ = false;
    if (failure_) std::rethrow_exception(failure_);
  }
  ExchangeTimes times;
  for (Bucket& bucket : buckets_) {
    times.exchange_ns += ns_between(bucket.began, bucket.ended);
    times.hidden_ns += std::max<std::int64_t>(0, ns_between(bucket.began, std::min(bucket.ended, backward_ended_)));
    const std::int64_t elements = bucket.own.numel();
    PairwiseSum sum;
    for (int rank = 0; rank < ranks_.size(); ++rank) sum.add({bucket.all.narrow(0, rank * elements, elements)});
    const at::Tensor total = sum.take().front();
    for (std::size_t k = 0; k < bucket.parameters.size(); ++k) {
      const at::Tensor& parameter = state_.parameter(bucket.parameters[k]);
      if (!parameter.grad().defined()) continue;
      parameter.mutable_grad() =
          total.narrow(0, bucket.places[k], parameter.numel()).view(parameter.sizes()).mul(share);
    }
  }
  return times;
}

}  // namespace reprobench
