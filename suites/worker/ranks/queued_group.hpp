// A process group over a library that works asynchronously to the host, as NCCL does. Its calls return when they are
// queued, the device does the queued work, and errors are reported when the host asks. Here the host waits for each
// call until it is done, until the library reports an error, or until time is up; then the communicator is given up, so
// that no queued work keeps the device busy and no later call waits again.
//
// Nothing here knows NCCL: a test plays the queue.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "suites/worker/ranks/process_group.hpp"

namespace reprobench {

// A library whose collectives return as soon as they are queued.
class CollectiveQueue : public ProcessGroup {
 public:
  // Whether all queued work is done. It is asked again and again, so it must be cheap. Throws RunFailure where the
  // device failed.
  virtual bool is_done() = 0;

  // The error that came up in the meantime, in the library's words; empty if there is none. Throws CollectiveError if
  // it is this rank's own failure.
  virtual std::string trouble() = 0;

  // Ends queued work without a result, whatever the other ranks do. No call may be queued after it.
  virtual void abort() noexcept = 0;
};

// `timeout` is that of each call.
std::unique_ptr<ProcessGroup> waiting_for(std::shared_ptr<CollectiveQueue> queue, std::chrono::milliseconds timeout);

// Aborts the queue and waits for that at most two seconds. An abort may itself wait for a rank that is gone, and the
// reason for the abort still has to be reported. The queue then lives on with the thread that still aborts it.
void give_up(const std::shared_ptr<CollectiveQueue>& queue);

// Asks `is_done` until it is true, and now and then asks for `trouble`. Throws std::runtime_error with the trouble or,
// when time is up, with how long it waited. Exceptions of the two functions come through.
void wait_until(const std::function<bool()>& is_done, const std::function<std::string()>& trouble,
                std::chrono::milliseconds timeout);

}  // namespace reprobench
