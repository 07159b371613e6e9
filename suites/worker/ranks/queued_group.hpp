// A process group over a library that works behind the host's back, as NCCL does: its calls return when they are
// queued, what was queued is done on the device, and errors come up whenever somebody asks. Here the host waits for
// each call until it is done, until the library reports an error, or until time is up; then the communicator is given
// up, so that nothing that was queued keeps the device busy and no later call waits again.
//
// Nothing here knows NCCL: a test plays the queue.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "suites/worker/ranks/process_group.hpp"

namespace reprobench {

// Its collectives return as soon as they are queued.
class CollectiveQueue : public ProcessGroup {
 public:
  // Whether all that was queued is done. Asked again and again, so cheap. Throws RunFailure where the device failed.
  virtual bool is_done() = 0;

  // What went wrong in the meantime, in the library's words; empty: nothing. Throws CollectiveError where it is this
  // rank's own failure.
  virtual std::string trouble() = 0;

  // Makes what is queued end without a result, whatever the other ranks do. Nothing is queued after it.
  virtual void abort() noexcept = 0;
};

// `timeout` is that of each call.
std::unique_ptr<ProcessGroup> waiting_for(std::shared_ptr<CollectiveQueue> queue, std::chrono::milliseconds timeout);

// Aborts it, and waits for that no longer than two seconds: an abort may itself wait for a rank that is gone, and why
// it was called has to be told. The queue then lives on with the thread that still aborts it.
void give_up(const std::shared_ptr<CollectiveQueue>& queue);

// Asks `is_done` until it says so, and now and then for trouble. Throws std::runtime_error with that, or with how long
// it waited when time is up; whatever the two throw comes through.
void wait_until(const std::function<bool()>& is_done, const std::function<std::string()>& trouble,
                std::chrono::milliseconds timeout);

}  // namespace reprobench
