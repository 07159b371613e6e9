// Why an attempt, a cell, a check or a skip ended as it did, as one word for programs; the sentence beside it is for
// people. Every word here is stored in documents: add words, never rename one. Only a failed cell has another kind of
// reason: the metric of its failed check. To add a code, add a row here and in reasons.md, then name it where it
// arises. A word that is not in the table does not compile.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

#include "matrix/contract/document/words.hpp"

namespace reprobench {

// Where a code first arises. A cell takes over the code of an attempt, a skip, or an undecided check.
enum class ReasonOf { attempt, cell, check, skip };
template <>
struct Words<ReasonOf> {
  static constexpr std::array<std::string_view, 4> table = {"attempt", "cell", "check", "skip"};
};

struct ReasonInfo {
  std::string_view code;
  ReasonOf of;
  std::string_view meaning;  // one sentence, no full stop
};

// clang-format off
inline constexpr auto kReasons = std::to_array<ReasonInfo>({
    {"nonzero",                ReasonOf::attempt, "the worker left with an exit code other than 0"},
    {"crash",                  ReasonOf::attempt, "a signal that nobody of us sent ended the worker"},
    {"cuda_oom",               ReasonOf::attempt, "device memory ran out, by the worker's own record"},
    {"host_oom",               ReasonOf::attempt, "the kernel or a memory limit killed the worker"},
    {"disk_limit",             ReasonOf::attempt, "the attempt's files took more of the disk than an attempt may"},
    {"worker_error",           ReasonOf::attempt, "the worker caught a throw and said so in its result"},
    {"contract",               ReasonOf::attempt, "exit code 0, but output that is missing, partial, invalid or another attempt's"},
    {"leaked",                 ReasonOf::attempt, "processes of the attempt were alive after its worker ended"},
    {"timeout",                ReasonOf::attempt, "the attempt took longer than the cell's limit"},
    {"hang",                   ReasonOf::attempt, "no heartbeat for longer than the cell's gap"},
    {"launch",                 ReasonOf::attempt, "the worker never started"},
    {"store",                  ReasonOf::attempt, "the attempt's folder could not be written"},
    {"lost",                   ReasonOf::attempt, "no exit record: the shepherd or the runner died"},
    {"interrupted",            ReasonOf::attempt, "the user stopped the run before every repeat had ended"},
    {"xid",                    ReasonOf::attempt, "the program made the GPU report an error"},
    {"gpu_hw",                 ReasonOf::attempt, "the GPU or its driver failed"},
    {"not_started",            ReasonOf::cell,    "the run has no record of this cell"},
    {"unsupported",            ReasonOf::cell,    "the stack cannot do what the cell asks for"},
    {"bad_injection",          ReasonOf::cell,    "the worker could not plant the fault that was asked for"},
    {"input_changed",          ReasonOf::cell,    "a file of the user's is not there, or not the one that was planned"},
    {"input_refused",          ReasonOf::cell,    "a file of the user's is the one that was planned, and not what this work can use"},
    {"non_finite_loss",        ReasonOf::cell,    "the loss of a step is not a finite number, whatever the thresholds say"},
    {"non_finite_tensor",      ReasonOf::cell,    "a weight, a gradient or the optimizer's state is not finite, whatever the thresholds say"},
    {"nothing_updated",        ReasonOf::cell,    "every step was skipped, because a gradient was not finite, whatever the thresholds say"},
    {"ranks_apart",            ReasonOf::cell,    "ranks of one training have other losses or gradient norms, whatever the thresholds say"},
    {"nothing_armed",          ReasonOf::cell,    "the cell ran to completion and no armed check asks anything of it"},
    {"wrong_libraries",        ReasonOf::cell,    "the worker loaded something else than is installed of its stack, or did not tell"},
    {"same_libraries",         ReasonOf::cell,    "the cell and its reference loaded the same torch under two names of stacks"},
    {"replaced_bits",          ReasonOf::cell,    "an attempt completed with other bits than the one that was made in its place"},
    {"all_checks_passed",      ReasonOf::cell,    "every armed check passed"},
    {"within_bound",           ReasonOf::check,   "the measured value keeps its bound"},
    {"over_bound",             ReasonOf::check,   "the measured value breaks its bound"},
    {"gain",                   ReasonOf::check,   "better than the reference by more than the bound allows it to be worse"},
    {"noise",                  ReasonOf::check,   "the interval of the ratio reaches over the bound: more repeats would decide it"},
    {"too_few_samples",        ReasonOf::check,   "too few pairs for a 95 % interval of the ratio"},
    {"unpaired",               ReasonOf::check,   "this cell and its reference have different numbers of repeats"},
    {"not_finite",             ReasonOf::check,   "the measured value is not a finite number"},
    {"missing_metric",         ReasonOf::check,   "an attempt has no value of this metric"},
    {"unknown_metric",         ReasonOf::check,   "this build knows no such metric"},
    {"incomplete_repeats",     ReasonOf::check,   "the cell did not get as far as this check"},
    {"no_reference",           ReasonOf::check,   "there is no reference cell, or it did not run"},
    {"reference_failed",       ReasonOf::check,   "the reference cell did not complete"},
    {"not_comparable",         ReasonOf::check,   "the two sides differ in what makes their values comparable"},
    {"undiagnosed",            ReasonOf::check,   "bits differ from the reference's, and what the difference is was not found out"},
    {"unarmed",                ReasonOf::check,   "no check of a dimension that the matrix or suite asks about is armed for a required cell"},
    {"own_reference",          ReasonOf::check,   "a required cell is what it would be compared with"},
    {"reference_blas",         ReasonOf::check,   "the BLAS in use is netlib's reference code, whose speed judges no stack"},
    {"throttled",              ReasonOf::check,   "the GPU held itself back while it was timed"},
    {"contended",              ReasonOf::check,   "another process computed on the GPU while it was timed"},
    {"busy_while_waiting",     ReasonOf::check,   "a worker computed while it waited for its turn, on the cores of the one that was timed"},
    {"clock",                  ReasonOf::check,   "the GPU's SM clock moved, or was another than the reference's"},
    {"no_telemetry",           ReasonOf::check,   "what the GPU did while it was timed is not known"},
    {"no-wheel",               ReasonOf::skip,    "this torch release never shipped with this CUDA"},
    {"no-kernel-image",        ReasonOf::skip,    "the stack has no kernels for this device class"},
    {"no-collective-kernel",   ReasonOf::skip,    "the stack reaches this device class through PTX, and NCCL carries none"},
    {"knob-needs-gpu",         ReasonOf::skip,    "a knob that acts on a GPU alone is set for a cell on the CPU"},
    {"tf32-needs-sm80",        ReasonOf::skip,    "TF32 needs a GPU of class sm_80 or later"},
    {"bf16-needs-sm80",        ReasonOf::skip,    "bfloat16 needs a GPU of class sm_80 or later"},
    {"fused-attention",        ReasonOf::skip,    "the attention backend that a knob names cannot do what the other knobs ask for"},
    {"no-peer",                ReasonOf::skip,    "what is between two devices is asked of the CPU"},
    {"no-package",             ReasonOf::skip,    "the probe runs an AOTInductor package of the user's, and none is named"},
    {"device-class",           ReasonOf::skip,    "this host has no usable GPU of the class"},
    {"device-count",           ReasonOf::skip,    "this host has fewer usable GPUs of the class than the cell takes"},
    {"world-size",             ReasonOf::skip,    "the host cannot run as many ranks on this device class"},
    {"excluded-settings",      ReasonOf::skip,    "two settings of the cell cannot be had together"},
    {"graph-needs-step-trace", ReasonOf::skip,    "as `excluded-settings`, in runs before that code: a captured step, and every tensor traced"},
    {"graph-needs-device-memory", ReasonOf::skip, "as `excluded-settings`, in runs before that code: a captured step, and managed memory"},
    {"replicas",               ReasonOf::skip,    "as `excluded-settings`, in runs before that code: replicas beside another setting"},
    {"micro-batches",          ReasonOf::skip,    "ranks, replicas and accumulation cannot cut the batch into equal parts"},
    {"resumed-micro-batches",  ReasonOf::skip,    "the ranks that resume a training cannot share out its micro-batches evenly"},
    {"driver-floor",           ReasonOf::skip,    "the driver is older than the stack's CUDA needs"},
    {"driver-branch-end",      ReasonOf::skip,    "the driver no longer knows this device class"},
    {"cpu-isa",                ReasonOf::skip,    "the CPU lacks the vector instructions that a knob asks for"},
    {"wheel-architecture",     ReasonOf::skip,    "the stack's wheels are built for another processor architecture"},
    {"glibc-floor",            ReasonOf::skip,    "the host's glibc is older than the stack needs"},
    {"system-stack-absent",    ReasonOf::skip,    "the stack comes with the system and is not there as declared"},
    {"host-memory",            ReasonOf::skip,    "the host has not the memory that the cell is predicted to need"},
    {"deselected",             ReasonOf::skip,    "an option of the command line left the cell out"},
});
// clang-format on

// The place of the code's row in the table; kReasons.size() for a word that is not there.
constexpr std::size_t reason_index(std::string_view code) {
  const auto found = std::find_if(kReasons.begin(), kReasons.end(), [&](const auto& row) { return row.code == code; });
  return static_cast<std::size_t>(found - kReasons.begin());
}

// One of the reasons, or none.
class Reason {
 public:
  constexpr Reason() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a literal that is in the table is a reason
  consteval Reason(const char* code) : Reason(of(code)) {}

  // For a word that is known only when the program runs; throws std::logic_error if the table lacks it.
  static constexpr Reason of(std::string_view code) {
    const std::size_t index = reason_index(code);
    if (index == kReasons.size()) throw std::logic_error("no reason in the table: " + std::string(code));
    return Reason(kReasons[index]);
  }

  // The text lives as long as the program.
  constexpr std::string_view code() const { return code_; }
  constexpr bool empty() const { return code_.empty(); }
  operator std::string() const { return std::string(code_); }  // NOLINT(google-explicit-constructor): as documents do
  friend constexpr bool operator==(std::string_view stored, const Reason& reason) { return stored == reason.code_; }

 private:
  constexpr explicit Reason(const ReasonInfo& row) : code_(row.code) {}

  std::string_view code_;
};

// Reasons that several places use. A cell that an option left out stays in the plan, because a run also says what did
// not run.
inline constexpr Reason kBadInjection = "bad_injection";
inline constexpr Reason kDeselected = "deselected";

}  // namespace reprobench
