// How a check, an attempt and a cell can end. Every word here is shown to users and stored in documents: add words,
// never rename one.
#pragma once

#include <array>
#include <string_view>

#include "matrix/contract/document/words.hpp"

namespace reprobench {

// How a cell ended. `failed`: the stack under test is to blame. `errored`: the infrastructure is. `inconclusive`: it
// cannot be decided. `skipped`: declared, with rule and reason. `unfinished`: the run was interrupted before the cell
// ended; a finished run has no such cell. `recorded`: it ran, and no armed check asked anything of it.
enum class Outcome { passed, failed, inconclusive, errored, skipped, unfinished, recorded };
template <>
struct Words<Outcome> {
  static constexpr std::array<std::string_view, 7> table = {"passed",  "failed",     "inconclusive", "errored",
                                                            "skipped", "unfinished", "recorded"};
};

// How one check ended. There is no "ignored": a check that could not be decided is inconclusive and says why.
enum class CheckStatus { passed, failed, inconclusive };
template <>
struct Words<CheckStatus> {
  static constexpr std::array<std::string_view, 3> table = {"passed", "failed", "inconclusive"};
};

enum class Dimension { numerics, throughput, memory, communication };
template <>
struct Words<Dimension> {
  static constexpr std::array<std::string_view, 4> table = {"numerics", "throughput", "memory", "communication"};
};

// How an attempt ended, from evidence that the worker cannot fake: wait status, timers, the files it left (reliability
// rules R1-R6).
enum class AttemptEnd {
  completed,     // exit 0, complete and valid result echoing cell_id and nonce, nothing leaked
  nonzero,       // exit code other than 0
  crash,         // ended by a signal that nobody of us sent
  cuda_oom,      // the worker's own record says device memory ran out
  host_oom,      // killed by the kernel or by a memory limit
  disk_limit,    // its files took more of the disk than an attempt may
  worker_error,  // the worker caught a throw and said so in result.json
  contract,      // exit 0, but output missing, partial, invalid or not this attempt's
  leaked,        // processes were alive after the worker ended
  timeout,       // total time over the cell's limit
  hang,          // no heartbeat for longer than the gap
  launch,        // never started: exec failed, no first heartbeat because the loader failed
  store,         // the attempt's folder could not be written
  lost,          // no exit record: shepherd or runner died
  interrupted,   // stopped by the user
  xid,           // the program made the GPU report an error of the application class (xid.hpp)
  gpu_hw,        // the GPU or its driver failed: an Xid of the device class, or the GPU no longer answers
};
template <>
struct Words<AttemptEnd> {
  static constexpr std::array<std::string_view, 17> table = {
      "completed", "nonzero", "crash",  "cuda_oom", "host_oom", "disk_limit",  "worker_error", "contract", "leaked",
      "timeout",   "hang",    "launch", "store",    "lost",     "interrupted", "xid",          "gpu_hw"};
};
static_assert(static_cast<std::size_t>(Outcome::recorded) + 1 == Words<Outcome>::table.size());
static_assert(static_cast<std::size_t>(CheckStatus::inconclusive) + 1 == Words<CheckStatus>::table.size());
static_assert(static_cast<std::size_t>(Dimension::communication) + 1 == Words<Dimension>::table.size());
static_assert(static_cast<std::size_t>(AttemptEnd::gpu_hw) + 1 == Words<AttemptEnd>::table.size());

// Who is to blame for an end: `product` fails the cell, `infra` is retried and then errors the cell, `user` leaves it
// unfinished.
enum class Side { none, product, infra, user };
Side side_of(AttemptEnd end);

}  // namespace reprobench
