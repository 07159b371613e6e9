#include "matrix/inquiry/kept_orders.hpp"

#include <algorithm>

#include "matrix/base/sha256.hpp"
#include "matrix/contract/declared_call.hpp"
#include "matrix/exec/kept_document.hpp"
#include "matrix/exec/kept_predictions.hpp"
#include "matrix/orders/order_layout.hpp"

namespace reprobench {
namespace {

constexpr std::int64_t kLargestBytes = 256 << 20;

std::string question_digest(const CellRequest& request, const HostFacts& host) {
  const nlohmann::json question = {{"preset", request.workload.preset},
                                   {"memory_bytes", request.workload.memory_bytes},
                                   {"samples", request.workload.samples},
                                   {"knobs", request.knobs},
                                   {"device", request.device},
                                   {"cpu", host.cpu_model},
                                   {"cpu_revision", host.cpu_revision},
                                   {"cpu_isa", host.cpu_isa},
                                   {"cpu_limits", host.cpu_limits},
                                   {"cores", host.cores},
                                   {"glibc", host.glibc}};
  return sha256_of_text(question.dump());
}

const ProbeMeasurement* find_kept(const CellResult& result, const std::string& call) {
  const auto found = std::ranges::find_if(result.measurements, [&](const ProbeMeasurement& one) {
    const auto label = one.labels.find("call");
    return label != one.labels.end() && label->second == call;
  });
  return found == result.measurements.end() ? nullptr : &*found;
}

bool is_lasting_order(const DeclaredCall& call, const CallOutput& output) {
  if (!output.order) return false;
  if (output.order->is_known()) return output.order->not_replayed == 0;
  std::string why_not;
  return !order_layout(call, output.name, why_not);  // no probe was made, and none ever will be
}

}  // namespace

bool is_lasting(const ProbeMeasurement& measurement) {
  if (!measurement.call || measurement.call->end != CallEnd::ran || !measurement.call->repeats) return false;
  try {
    const DeclaredCall call = parse_call(measurement.labels.at("call"));
    return std::ranges::all_of(measurement.call->outputs,
                               [&](const CallOutput& output) { return is_lasting_order(call, output); });
  } catch (const ContractError&) {
    return false;
  }
}

KeptOrders::KeptOrders(const WorkerCommand& worker, const CellRequest& request, const HostFacts& host)
    : question_(question_digest(request, host)) {
  if (worker.kept_answers.empty() || !request.workload.tensors_sha256.empty()) return;
  worker_ = answering_worker(worker);
  if (worker_.empty()) return;
  file_ = worker.kept_answers / kFileName;
  const nlohmann::json results = results_on_disk(problem_);
  const auto found = results.find(question_);
  if (found == results.end()) return;
  try {
    kept_ = result_from_json(*found);
    has_kept_ = true;
  } catch (const ContractError&) {  // of an older contract
    kept_ = {};
  }
}

// By question. A file of another worker counts as none.
nlohmann::json KeptOrders::results_on_disk(std::string& problem) const {
  const KeptDocument kept = read_kept_document(file_, kLargestBytes);
  if (kept.value.is_discarded() && !kept.is_damaged) return nlohmann::json::object();
  problem = file_.string() + " is damaged, and left aside: its calls are probed again";
  if (!kept.value.is_object()) return nlohmann::json::object();
  const auto worker = kept.value.find("worker");
  const auto results = kept.value.find("results");
  if (worker == kept.value.end() || results == kept.value.end() || !results->is_object()) {
    return nlohmann::json::object();
  }
  problem.clear();
  return *worker == worker_ ? *results : nlohmann::json::object();
}

std::vector<std::string> KeptOrders::missing(const std::vector<std::string>& calls) const {
  std::vector<std::string> asked;
  std::ranges::copy_if(calls, std::back_inserter(asked),
                       [&](const std::string& call) { return !has_kept_ || find_kept(kept_, call) == nullptr; });
  return asked;
}

CellResult KeptOrders::with_kept(const CellResult* probed, const std::vector<std::string>& calls) const {
  CellResult result = probed != nullptr ? *probed : kept_;
  result.measurements.clear();
  for (const std::string& call : calls) {
    const ProbeMeasurement* found = probed == nullptr ? nullptr : find_kept(*probed, call);
    if (found == nullptr && has_kept_) found = find_kept(kept_, call);
    if (found != nullptr) result.measurements.push_back(*found);
  }
  return result;
}

void KeptOrders::keep(const CellResult& probed) {
  if (file_.empty()) return;
  CellResult all = probed;
  std::erase_if(all.measurements, [](const ProbeMeasurement& one) { return !is_lasting(one); });
  if (all.measurements.empty()) return;
  for (const ProbeMeasurement& earlier : kept_.measurements) {
    if (find_kept(all, earlier.labels.at("call")) == nullptr) all.measurements.push_back(earlier);
  }
  std::string damaged;
  nlohmann::json results = results_on_disk(damaged);  // the other side may be this stack with other knobs
  results[question_] = to_json(all);
  if (!keep_document(file_, {{"worker", worker_}, {"results", results}})) return;
  kept_ = std::move(all);
  has_kept_ = true;
}

}  // namespace reprobench
