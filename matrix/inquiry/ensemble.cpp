#include "matrix/inquiry/ensemble.hpp"

#include <functional>
#include <numeric>
#include <optional>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "matrix/base/usage_error.hpp"
#include "matrix/exec/kept_document.hpp"
#include "matrix/record/run_directory.hpp"

namespace reprobench {
namespace {

std::int64_t element_count(const TensorRecord& tensor) {
  return std::accumulate(tensor.shape.begin(), tensor.shape.end(), std::int64_t{1}, std::multiplies<std::int64_t>());
}

// Biases begin at zero, where one unit in the last place is next to nothing.
bool is_bias(const std::string& name) { return name.substr(name.rfind('.') + 1) == "bias"; }

std::vector<const TensorRecord*> weights_of(const ComparedSide& base) {
  std::vector<const TensorRecord*> weights;
  for (const TensorRecord& tensor : base.attempt.lead().trace->tensors.front().tensors) {
    if (tensor.role != TensorRole::parameter || is_bias(tensor.name) || element_count(tensor) == 0) continue;
    weights.push_back(&tensor);
  }
  if (weights.empty()) throw UsageError(base.label + ": a trajectory moves a weight, and this workload has none");
  return weights;
}

// Member `index` moves a weight of its own, drawn from its index alone, so that the ensemble is the same every time.
ReplayTask member(const ComparedSide& base, const std::vector<const TensorRecord*>& weights, int index) {
  std::mt19937_64 random(static_cast<std::uint64_t>(index) + 1);
  const TensorRecord& tensor = *weights[random() % weights.size()];
  const auto element = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(element_count(tensor)));
  CellRequest request = base.request;
  request.replay.reset();
  request.inject = Injection{"weight_ulp", 1, tensor.name, element};
  return {fmt::format("member-{}", index), request};
}

std::filesystem::path file_of(const ComparedSide& base, int members, const std::filesystem::path& store) {
  CellRequest request = base.request;
  request.suite = "envelope";
  request.inject.reset();
  return store / "baselines" /
         fmt::format("envelope-{}-{}-{}.json", cell_id_of(request), base.attempt.lead().result->chain.substr(0, 12),
                     members);
}

constexpr std::int64_t kLargestEnvelopeBytes = 64 << 20;

// What is on file decides whether a later run drifts too far, so it has to be what was measured, for this very course.
std::optional<Envelope> kept_in(const std::filesystem::path& file, const ComparedSide& base, int members,
                                const Announce& announce) {
  const KeptDocument kept = read_kept_document(file, kLargestEnvelopeBytes);
  if (kept.value.is_discarded() && !kept.is_damaged) return std::nullopt;
  try {
    if (!kept.is_damaged) {
      Envelope envelope = envelope_from_json(kept.value);
      const bool is_of_base = envelope.workload_digest == base.attempt.lead().trace->header.workload_digest;
      if (is_of_base && envelope.members == members && envelope.stack == base.request.stack) return envelope;
    }
  } catch (const ContractError&) {  // of another version
  }
  announce(file.string() + " is not what was measured, and left aside");
  return std::nullopt;
}

}  // namespace

EnsembleEnvelope envelope_around(const ComparedSide& base, int members, bool again, const std::filesystem::path& store,
                                 Replays& replays, const Announce& announce) {
  if (base.request.trace != TraceLevel::tensor || base.attempt.lead().trace->tensors.empty()) {
    throw UsageError(base.label + ": a trajectory needs a run with `trace: tensor`");
  }
  EnsembleEnvelope result;
  result.file = file_of(base, members, store);
  if (auto kept = again ? std::nullopt : kept_in(result.file, base, members, announce)) {
    result.envelope = std::move(*kept);
    return result;
  }
  announce(fmt::format("running {} members around {}", members, base.label));
  const auto weights = weights_of(base);
  std::vector<ReplayTask> tasks;
  for (int i = 0; i < members; ++i) tasks.push_back(member(base, weights, i));
  const auto outcomes = replays.run(tasks);
  std::vector<const Trace*> traces;
  for (const ReplayOutcome& outcome : outcomes) traces.push_back(&*outcome.attempt.lead().trace);
  result.envelope = envelope_of(traces, *base.attempt.lead().trace, base.request.stack);
  result.is_new = true;
  std::filesystem::create_directories(result.file.parent_path());
  if (!keep_document(result.file, to_json(result.envelope))) {
    throw StoreError(result.file.string() + " cannot be written");
  }
  return result;
}

}  // namespace reprobench
