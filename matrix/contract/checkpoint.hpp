// Checkpoints of a training: when a worker writes them, whether it begins from one, and how it reports that.
//
// All ranks of a training write one checkpoint together. They lie in a folder as checkpoint-STEP.safetensors
// (suites/worker/checkpoint/checkpoint_file.hpp), each complete or not there at all. Like a replay they belong to an
// attempt, never to the cell: with and without them the cell_id is the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "matrix/contract/document/description.hpp"

namespace reprobench {

struct Checkpointing {
  std::string folder;             // absolute; created if it is missing
  std::int64_t every_steps = 0;   // 0: only if the run ends early, by `stop_after` or SIGTERM
  std::int64_t keep = 2;          // how many of the newest are kept
  std::int64_t stop_after = 0;    // the run ends after this step, complete and with a checkpoint; 0: after its last
  bool resume = false;            // begin from the newest complete one of this run or, if there is none, from the start
  std::int64_t resume_after = 0;  // the step that the caller knows the newest one to have; 0: not known
};

template <>
struct Description<Checkpointing> {
  static constexpr About about =
      About::part("checkpoint", "When to write the whole state, and whether to begin from it.");
  static void fields(auto& field, Checkpointing& checkpoint) {
    field("folder", checkpoint.folder, rule::not_empty);
    field.optional("every_steps", checkpoint.every_steps,
                   rule::at_least(1).says("Absent: only where the run ends early."));
    field("keep", checkpoint.keep, rule::at_least(1).says("So many of the newest stay."));
    field.optional("stop_after", checkpoint.stop_after,
                   rule::at_least(1).says("The run ends after this step, with a checkpoint."));
    field("resume", checkpoint.resume,
          "Begin from the newest whole one of this run; where there is none, from the start.");
    field.optional("resume_after", checkpoint.resume_after,
                   rule::at_least(1).says("The step that the newest is known to be of."));
  }
};

// A file that a worker wrote and kept.
struct WrittenCheckpoint {
  std::int64_t step = 0;
  std::string file;      // "checkpoint-00000008.safetensors"
  std::string checksum;  // over everything in the file but itself
};

// Only the weights, rounded to 16 bits, beside a checkpoint of the same step (knob `gathered_weights`).
struct WrittenWeights {
  std::int64_t step = 0;
  std::string file;    // "weights-00000008.safetensors"
  std::string sha256;  // of the file: the SHA-256 of a workload that takes it as `weights`
};

struct RefusedCheckpoint {
  std::string file;
  std::string reason;  // "changed: ...", "foreign: workload_digest ..., this run has ..."
};

// A process's report of the checkpoint that it went on from. `checksum` and `written_by` are in the file and in no
// request, so a process that names them has read it. `state` is computed from the tensors in memory after they were
// loaded.
struct ResumedFrom {
  std::int64_t after_step = 0;
  std::string file;
  std::string checksum;
  std::string written_by;  // the nonce of the process that wrote it
  std::string chain;       // chain of the steps until there; with several ranks chain_of_ranks() (kernels/digest)
  // Root over parameters, optimizer state, buffers and scaler state, in the order of the trace's final line; if several
  // ranks wrote or read it, by role and name. State that ranks share out is taken whole. A rank takes its own part from
  // its memory and the others' from the file, so that it speaks for itself alone.
  std::string state;
};

struct CheckpointsOfRun {
  std::vector<WrittenCheckpoint> written;  // and kept, oldest first
  std::vector<RefusedCheckpoint> refused;  // newest first: those that were refused before one was taken
  std::optional<ResumedFrom> resumed;      // nothing: the run began from the start
  std::vector<WrittenWeights> weights;     // and kept, oldest first
};

template <>
struct Description<WrittenCheckpoint> {
  static constexpr About about = About::part("written_checkpoint");
  static void fields(auto& field, WrittenCheckpoint& written) {
    field("step", written.step, rule::at_least(1));
    field("file", written.file, rule::not_empty);
    field("checksum", written.checksum, rule::digest.says("Over everything in the file but itself."));
  }
};

template <>
struct Description<WrittenWeights> {
  static constexpr About about = About::part("written_weights");
  static void fields(auto& field, WrittenWeights& written) {
    field("step", written.step, rule::at_least(1));
    field("file", written.file, rule::not_empty);
    field("sha256", written.sha256, rule::hex(64).says("Of the file."));
  }
};

template <>
struct Description<RefusedCheckpoint> {
  static constexpr About about = About::part("refused_checkpoint", "Not gone on from, and why.");
  static void fields(auto& field, RefusedCheckpoint& refused) {
    field("file", refused.file, rule::not_empty);
    field("reason", refused.reason, rule::not_empty);
  }
};

template <>
struct Description<ResumedFrom> {
  static constexpr About about = About::part("resumed", "The checkpoint that a process went on from.");
  static void fields(auto& field, ResumedFrom& resumed) {
    field("after_step", resumed.after_step, rule::at_least(1));
    field("file", resumed.file, rule::not_empty);
    field("checksum", resumed.checksum, rule::digest);
    field("written_by", resumed.written_by, rule::not_empty.says("The nonce of the process that wrote it."));
    field("chain", resumed.chain, rule::digest.says("Of the steps until there."));
    field("state", resumed.state,
          rule::digest.says("Of parameters, optimizer state and buffers once they were loaded."));
  }
};

template <>
struct Description<CheckpointsOfRun> {
  static constexpr About about = About::part("checkpoints", "What a run wrote, and what it began from.");
  static void fields(auto& field, CheckpointsOfRun& checkpoints) {
    field("written", checkpoints.written, "And kept, oldest first.");
    field("refused", checkpoints.refused, "Passed over on the way to the one that was taken, newest first.");
    field.optional("resumed", checkpoints.resumed, "Absent: from the start.");
    field.optional("weights", checkpoints.weights, "Rounded to 16 bits, of the checkpoints that are kept.");
  }
};

}  // namespace reprobench
