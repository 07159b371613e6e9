// Threads that do the work of a training's replicas at the same time. They live as long as the training: a thread that
// computes for the first time makes its own pool of intra-operator threads, and autograd numbers its calls by thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace reprobench {

class ReplicaThreads {
 public:
  // Starts one thread less than there are replicas: the thread that calls run() does the first one's work.
  explicit ReplicaThreads(int replicas);
  ~ReplicaThreads();
  ReplicaThreads(const ReplicaThreads&) = delete;
  ReplicaThreads& operator=(const ReplicaThreads&) = delete;

  // Runs `work` once for each replica, all at once, and waits for all of them. The exception of the lowest replica that
  // threw comes through.
  void run(const std::function<void(int replica)>& work);

 private:
  void serve(int replica);
  void attempt(int replica, const std::function<void(int replica)>& work);

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void(int replica)>* work_ = nullptr;
  std::int64_t rounds_ = 0;  // rounds that have begun
  std::size_t at_work_ = 0;  // threads that have not ended this round
  bool stops_ = false;
  std::vector<std::exception_ptr> thrown_;  // by replica
  std::vector<std::thread> threads_;
};

}  // namespace reprobench
