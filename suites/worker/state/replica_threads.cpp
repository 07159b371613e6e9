#include "suites/worker/state/replica_threads.hpp"

#include <utility>

#include <ATen/Parallel.h>

namespace reprobench {

ReplicaThreads::ReplicaThreads(int replicas) : thrown_(static_cast<std::size_t>(replicas)) {
  for (int replica = 1; replica < replicas; ++replica) {
    threads_.emplace_back([this, replica] { serve(replica); });
  }
}

ReplicaThreads::~ReplicaThreads() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ReplicaThreads::run(const std::function<void(int replica)>& work) {
  {
    const std::lock_guard lock(mutex_);
    work_ = &work;
    at_work_ = threads_.size();
    ++rounds_;
  }
  changed_.notify_all();
  attempt(0, work);
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return at_work_ == 0; });
  }
  std::exception_ptr first;
  for (std::exception_ptr& thrown : thrown_) {
    const std::exception_ptr one = std::exchange(thrown, nullptr);
    if (one && !first) first = one;
  }
  if (first) std::rethrow_exception(first);
}

void ReplicaThreads::serve(int replica) {
  at::init_num_threads();  // MKL and OpenMP keep their number of threads by thread, and a new one has the machine's
  std::unique_lock lock(mutex_);
  for (std::int64_t done = 0;; ++done) {
    changed_.wait(lock, [&] { return stops_ || rounds_ > done; });
    if (stops_) return;
    const auto& work = *work_;
    lock.unlock();
    attempt(replica, work);
    lock.lock();
    if (--at_work_ == 0) changed_.notify_all();
  }
}

void ReplicaThreads::attempt(int replica, const std::function<void(int replica)>& work) {
  try {
    work(replica);
  } catch (...) {
    thrown_[static_cast<std::size_t>(replica)] = std::current_exception();
  }
}

}  // namespace reprobench
