// The largest batch of a training that a given memory holds, by a worker's predictions for one batch after the other.
// Also how a larger batch can be trained all the same: cut into micro-batches, or with blocks computed again. Nothing
// is trained for an answer. Pure, except for the worker that is asked.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "matrix/contract/attempt_memory.hpp"
#include "matrix/contract/document/description.hpp"
#include "matrix/contract/knob.hpp"

namespace reprobench {

inline constexpr std::int64_t kLargestBatch = 1'000'000;  // no larger batch is asked about

struct BatchQuestion {
  std::int64_t batch_size = 0;
  KnobValues knobs;  // that are not at their default
};
// One answer for each question, in their order.
using AskMemory = std::function<std::vector<AttemptMemory>(const std::vector<BatchQuestion>&)>;

// How far measured peaks have been above predicted ones, as a share of the predicted: 0.1 where every tensor is mapped
// by itself, 0.5 where a heap keeps what is freed. A batch is said to fit only if it fits with this margin.
// suites/memory.md has the numbers.
double largest_excess(const KnobValues& knobs);

// The prediction with that margin; no measured peak has been higher.
std::int64_t at_most_bytes(const AttemptMemory& need, const KnobValues& knobs);

struct BatchNeed {
  std::int64_t batch_size = 0;
  std::int64_t micro_batch_size = 0;
  std::int64_t at_most_bytes = 0;
  AttemptMemory need;
};

struct LargestBatch {
  KnobValues knobs;                    // that are not at their default
  std::string why_not;                 // nothing is predicted with these knobs
  std::optional<BatchNeed> largest;    // nothing: not even the smallest fits
  std::optional<BatchNeed> too_large;  // the next one; nothing: a batch of kLargestBatch fits
};

// A way to train the batch that was asked for, which fits.
struct BatchWay {
  KnobValues knobs;
  BatchNeed need;
};

struct BatchFit {
  std::string stack;
  std::string model;
  std::string preset;
  std::int64_t available_bytes = 0;
  std::string available_source;      // "free", "--memory"
  LargestBatch asked;                // with the knobs that were asked for
  std::vector<LargestBatch> others;  // with further ones that need less
  std::int64_t wished_batch = 0;     // 0: none was named
  std::optional<BatchNeed> wished;   // with the knobs that were asked for
  bool wished_fits = false;
  std::vector<BatchWay> ways;  // if it does not fit: for each further choice of knobs the fewest micro-batches that do
};

// Bisects each set of knobs, all of them in the same few questions.
std::vector<LargestBatch> largest_batches(const std::vector<KnobValues>& choices, std::int64_t available_bytes,
                                          const AskMemory& ask);

// `fit` names the training, the memory and the wished batch; `asked.knobs` are the knobs that were asked for. Throws
// UsageError where these cut no equal micro-batches of that batch.
BatchFit fitted(BatchFit fit, const AskMemory& ask);

template <>
struct Description<BatchNeed> {
  static constexpr About about = About::part("batch_need", "What a step of that batch takes.");
  static void fields(auto& field, BatchNeed& batch) {
    field("batch_size", batch.batch_size, rule::at_least(1));
    field("micro_batch_size", batch.micro_batch_size, rule::at_least(1));
    field("at_most_bytes", batch.at_most_bytes,
          rule::at_least(1).says("The predicted need, and by how much measured peaks have been above it."));
    field("need", batch.need, "As predicted.");
  }
};
template <>
struct Description<LargestBatch> {
  static constexpr About about = About::part("largest_batch");
  static void fields(auto& field, LargestBatch& batch) {
    field("knobs", batch.knobs, "Those that are not at their default.");
    field("why_not", batch.why_not, "Why nothing is predicted; empty if it is.");
    field("largest", batch.largest, "null: not even the smallest fits, or nothing is predicted.");
    field("too_large", batch.too_large, "The next one; null: every batch that can be asked for fits.");
  }
};
template <>
struct Description<BatchWay> {
  static constexpr About about = About::part("batch_way");
  static void fields(auto& field, BatchWay& way) {
    field("knobs", way.knobs, "Those that are not at their default.");
    field("need", way.need);
  }
};
template <>
struct Description<BatchFit> {
  static constexpr About about =
      About::document("batch_fit", "The largest batch that fits, and how a larger one is trained in the same memory");
  static void fields(auto& field, BatchFit& fit) {
    field("stack", fit.stack);
    field("model", fit.model);
    field("preset", fit.preset);
    field("available_bytes", fit.available_bytes, rule::at_least(0));
    field("available_source", fit.available_source, rule::not_empty);
    field("asked", fit.asked, "With the knobs that were asked for.");
    field("others", fit.others, "With further ones that need less.");
    field("wished_batch", fit.wished_batch, rule::at_least(0).says("0: none was named."));
    field("wished", fit.wished, "With the knobs that were asked for; null: none was named, or nothing is predicted.");
    field("wished_fits", fit.wished_fits);
    field("ways", fit.ways, "Of that batch where it does not fit: the fewest micro-batches of each choice of knobs.");
  }
};

}  // namespace reprobench
