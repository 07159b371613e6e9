#include "matrix/inquiry/ensemble.hpp"

#include <functional>
#include <numeric>
#include <random>

#include <fmt/format.h>

#include "matrix/contract/usage_error.hpp"
#include "matrix/plan/cell_id.hpp"
#include "matrix/record/run_directory.hpp"

namespace reprobench {
namespace {

std::int64_t element_count(const TensorRecord& tensor) {
  return std::accumulate(tensor.shape.begin(), tensor.shape.end(), std::int64_t{1}, std::multiplies<std::int64_t>());
}

std::vector<const TensorRecord*> parameters_of(const Trace& trace) {
  std::vector<const TensorRecord*> parameters;
  for (const TensorRecord& tensor : trace.tensors.front().tensors) {
    if (tensor.role == TensorRole::parameter && tensor.name.find("bias") == std::string::npos) {
      parameters.push_back(&tensor);
    }
  }
  return parameters;
}

// Member `index` moves a weight of its own, drawn from its index alone, so that the ensemble is the same every time.
ReplayTask member(const ComparedSide& base, int index) {
  std::mt19937_64 random(static_cast<std::uint64_t>(index) + 1);
  const auto parameters = parameters_of(*base.attempt.lead().trace);
  const TensorRecord& tensor = *parameters[random() % parameters.size()];
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

}  // namespace

EnsembleEnvelope envelope_around(const ComparedSide& base, int members, bool again, const std::filesystem::path& store,
                                 Replays& replays, const Announce& announce) {
  if (base.request.trace != TraceLevel::tensor || base.attempt.lead().trace->tensors.empty()) {
    throw UsageError(base.label + ": a trajectory needs a run with `trace: tensor`");
  }
  EnsembleEnvelope result;
  result.file = file_of(base, members, store);
  if (!again && std::filesystem::exists(result.file)) {
    result.envelope = envelope_from_json(nlohmann::json::parse(read_file(result.file)));
    return result;
  }
  announce(fmt::format("running {} members around {}", members, base.label));
  std::vector<ReplayTask> tasks;
  for (int i = 0; i < members; ++i) tasks.push_back(member(base, i));
  const auto outcomes = replays.run(tasks);
  std::vector<const Trace*> traces;
  for (const ReplayOutcome& outcome : outcomes) traces.push_back(&*outcome.attempt.lead().trace);
  result.envelope = envelope_of(traces, *base.attempt.lead().trace, base.request.stack);
  result.is_new = true;
  std::filesystem::create_directories(result.file.parent_path());
  write_file_atomically(result.file, to_json(result.envelope).dump(1) + "\n");
  return result;
}

}  // namespace reprobench
