// The behaviours of the fake worker. A behaviour is one of these words, optionally with `=VALUE`, or several joined by
// commas:
//
//   ok                     a correct run; the same bits on every stack
//   ok_other_bits          correct and repeatable, but with bits (and numbers, by 1e-6) of its stack's own
//   bits=N                 correct and repeatable, with bits that all stacks have that are told the same number
//   other_code             computed by other library code, as its result says
//   poison_shows           bits that depend on what freshly allocated memory held
//   other_initial_bits     inputs and first weights of its stack's own, under an unchanged workload_digest
//   drift=K                from step K (default 2) on, bits that differ between repeats
//   nan=K                  from step K (default 2) on, the loss is NaN
//   slow=FACTOR            step times scaled: 1.1 plants 10 % slower, 0.9 plants 10 % faster
//   stall=FACTOR           every 20th step takes so many times as long
//   late_start=FACTOR      the time to the first step scaled
//   slow_triad=FACTOR      of a probe: the triad's rate divided
//   wrong_result           of a probe: its first operation's result is wrong
//   slow_collective=FACTOR of a probe of collectives: the time of each call multiplied
//   other_order            of a probe of collectives: sums with other bits
//   absent_call            of the probe `operators`: its release lacks the last call's operator
//   flipped_bit            of a probe: one repetition differs from the first
//   rss=FACTOR             resident set scaled
//   drop_metric            no memory and start-up figures
//   different_workload     another workload_digest
//   exit=N  crash=SIGNAL   after half the steps; SIGNAL is a number
//   throw                  a caught exception: failure in result.json, exit code 1
//   hang  stop             after half the steps: sleeps for ever; stops itself with SIGSTOP
//   silent                 sleeps for ever before the trace's first byte
//   trickle                a step every 20 ms for ever
//   ignore_term            as hang, deaf to SIGTERM
//   no_result  partial_result  wrong_nonce  wrong_cell  wrong_version       broken result.json, exit code 0
//   truncated_trace  bad_crc                                               broken trace.jsonl, exit code 0
//   lost_segments          a trace of level `recent` without its segments, exit code 0
//   leak  setsid_child     leaves a child; one in a session of its own, forked twice
//   flood=BYTES            prints that much before the first step
//   close_stdout           closes stdout and stderr first
//   wrong_rank             result.json names the next rank
//   wrong_block            steps of a resident name the next block
//   busy_wait              computes while others have their turn
//   early_child            starts a child before the first step, which does not end
//   early_setsid_child     the same in a session of its own, forked twice
//   paced=MS               a pause of so long after every step, for an observer
//   lockstep               each step ends when all ranks of the attempt have done it, as an all-reduce makes it
//   never_stop             where it is to stop and write a checkpoint it runs on to its last step
//   retrain                where it is to resume from a checkpoint it trains again from the start
//   other_checkpoint       it reports another checkpoint than the one that is there
//   segment=N                  all this in the process that is stopped (1) or resumed (2); the others are ok
//   rank=N                 all this in rank N; the others are ok, and paced and in lockstep if that is said
//   xid=N  clock_events=BITS  foreign_pid=PID  gpu_lost  nvml_hang=MS
//                          device trouble after half the steps, through the fake libnvidia-ml (fake_gpu.hpp); the
//                          second and third pass with the training
//   once                   the device trouble only in the first attempt of a repeat
//   brief                  the device trouble passes after a few readings
#pragma once

#include <map>
#include <optional>
#include <string>

#include "matrix/contract/request.hpp"

namespace reprobench {

class Behaviour {
 public:
  // Throws ContractError for a word that is not in the list above or a value that is no number.
  explicit Behaviour(const std::string& text);

  bool does(const std::string& word) const { return words_.contains(word); }
  // The behaviour of that rank of an attempt.
  Behaviour of_rank(int rank) const;
  // The behaviour of the request's process in an attempt that is stopped and resumed.
  Behaviour of_segment(const CellRequest& request) const;

  double value(const std::string& word, double otherwise) const;

 private:
  std::map<std::string, std::optional<double>> words_;
};

// A script is a JSON object {"KEY": "BEHAVIOUR", ...}. KEY is "PART" or "PART/REPEAT"; the first entry in file order
// whose PART occurs in "CELL_ID SUITE-MODEL-STACK-DEVICE-PRECISION" and whose REPEAT, if given, is the request's
// decides. Without such an entry it is "ok". Throws ContractError if the script is not such an object.
Behaviour behaviour_from_script(const std::string& script, const CellRequest& request);

}  // namespace reprobench
