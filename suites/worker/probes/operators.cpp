// Operator calls one by one, each at the shapes its list gives: digests of its results, forward and backward, and the
// distance to the same call in fp64. A comparison of two stacks' records shows from which shapes on their bits differ.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>

#include "matrix/contract/probe.hpp"
#include "matrix/orders/order_layout.hpp"
#include "suites/worker/probes/call_order_probe.hpp"
#include "suites/worker/probes/call_output.hpp"
#include "suites/worker/probes/call_tensors.hpp"
#include "suites/worker/probes/probe.hpp"
#include "suites/worker/probes/probe_run.hpp"
#include "suites/worker/probes/single_call.hpp"
#include "suites/worker/probes/unsupported_operation.hpp"
#include "suites/worker/record/tensor_record.hpp"
#include "suites/worker/run_failure.hpp"

namespace reprobench {
namespace {

// What every element costs: the arguments and their gradients in the call's own type and in fp64. Known before anything
// runs; what the call makes is added once it is known.
double bytes_needed(const DeclaredCall& call) {
  double bytes = 0;
  for (const DeclaredTensor& tensor : call.tensors()) {
    bytes += 2.0 * static_cast<double>(tensor.storage_elements()) * static_cast<double>(dtype_bytes(tensor.dtype) + 8);
  }
  return bytes;
}

std::string memory_text(double bytes) { return std::to_string(std::llround(bytes / 0x1p20)) + " MiB"; }

bool fits_in(const CellRequest& request, double bytes) {
  const auto allowed = static_cast<double>(request.workload.memory_bytes);
  return allowed <= 0 || bytes <= allowed;
}

class CallProbe {
 public:
  CallProbe(ProbeRun& run, const CallTensors& tensors, DeclaredCall call, std::int64_t number)
      : run_(run),
        call_(std::move(call)),
        number_(number),
        device_(run.device()),
        single_(call_, {run.seed(), device_, &tensors}) {
    measurement_ = run.blank("operator_call", {{"call", call_.text}});
    measurement_.call = CallRecord{};
  }

  void run() {
    try {
      examine();
    } catch (const c10::Error& error) {
      end_with(CallEnd::refused, first_line(error));
    } catch (const RunFailure& failure) {
      if (failure.cause() != "unsupported") throw;
      end_with(CallEnd::refused, failure.what());
    } catch (const std::exception& error) {
      if (!is_not_implemented(first_line(error))) throw;
      end_with(CallEnd::refused, first_line(error));
    }
    if (record().end == CallEnd::ran) time();
    run_.add(std::move(measurement_));
  }

 private:
  CallRecord& record() { return *measurement_.call; }

  void end_with(CallEnd end, const std::string& why) {
    record() = {};
    record().end = end;
    measurement_.status = MeasurementStatus::unsupported;
    measurement_.finding = why;
  }

  bool fits(double bytes) {
    if (fits_in(run_.request(), bytes)) return true;
    const auto allowed = static_cast<double>(run_.request().workload.memory_bytes);
    end_with(CallEnd::too_large, "needs " + memory_text(bytes) + ", the list allows " + memory_text(allowed));
    return false;
  }

  void examine() {
    if (!single_.refused().empty()) return end_with(CallEnd::refused, single_.refused());
    if (!single_.absent().empty()) return end_with(CallEnd::absent, single_.absent());
    if (!fits(bytes_needed(call_))) return;
    plant_in_arguments();
    at::manual_seed(run_.seed());
    Digest inputs;
    MadeTensors made = single_.run(false, &inputs);
    if (made.empty()) return end_with(CallEnd::refused, "it makes no tensor");
    double bytes = bytes_needed(call_);
    for (const auto& [name, tensor] : made) bytes += 2.0 * static_cast<double>(tensor.numel()) * 12.0;
    if (!fits(bytes)) return;
    plant_in_result(made.front().second);
    for (const auto& [name, tensor] : made) record().outputs.push_back(record_of(name, tensor));
    record().inputs = to_hex(inputs);
    measurement_.status = MeasurementStatus::measured;
    note_repetition(single_.run(false));
    hold_against_fp64(made);
    if (run_.request().workload.preset == kOrdersPreset) find_orders(made);
  }

  void find_orders(const MadeTensors& made) {
    for (std::size_t i = 0; i < made.size(); ++i) {
      CallOutput& output = record().outputs[i];
      CallOrder order;
      const auto layout = order_layout(call_, output.name, order.problem);
      if (!record().repeats) {
        order.problem = "a second call gives other bits";
      } else if (layout) {
        try {
          const bool is_gradient = output.name.starts_with("gradient.");
          const auto tensors = single_.drawn_tensors(is_gradient ? &made.front().second : nullptr);
          order = order_of_call(single_, *layout, output.name, {tensors, made[i].second}, run_.seed());
        } catch (const c10::Error& error) {
          order.problem = first_line(error);
        }
      }
      output.order = std::move(order);
      run_.progress(measurement_);
    }
  }

  void note_repetition(const MadeTensors& again) {
    const auto& first = record().outputs;
    record().repeats = again.size() == first.size();
    for (std::size_t i = 0; i < again.size() && record().repeats; ++i) {
      record().repeats = planted("result") || to_hex(digest_of(again[i].second)) == first[i].digest;
    }
  }

  void hold_against_fp64(const MadeTensors& made) {
    MadeTensors exact;
    std::string problem;
    if (!record().repeats) problem = "a second call gives other bits: it draws random numbers, or has no fixed order";
    try {
      if (problem.empty()) exact = single_.run(true);
    } catch (const c10::Error& error) {
      problem = first_line(error);
    }
    for (std::size_t i = 0; i < made.size(); ++i) {
      CallOutput& output = record().outputs[i];
      const auto same =
          std::find_if(exact.begin(), exact.end(), [&](const auto& one) { return one.first == output.name; });
      if (!made[i].second.is_floating_point()) {
        output.no_fp64 = "whole numbers";
      } else if (!problem.empty()) {
        output.no_fp64 = problem;
      } else if (same == exact.end()) {
        output.no_fp64 = "in fp64 the call makes no such output";
      } else {
        hold_against(same->second, made[i].second, output);
      }
    }
  }

  void time() {
    Operation timed;
    timed.name = "operator_call";
    timed.labels = measurement_.labels;
    timed.work = single_.repeated();
    run_.take_samples(timed, measurement_);
    if (run_.on_cpu()) {
      run_.tell_algorithm(timed.work, measurement_);
    } else {
      measurement_.algorithm_unknown = "on a GPU a profiler would slow the calls that are timed after this one";
    }
  }

  // A fault belongs to the call with the number that its step says.
  bool planted(const std::string& kind) const {
    const auto& fault = run_.request().inject;
    return fault && fault->step == number_ && fault->kind.starts_with(kind);
  }

  static void flip_lowest_bit(at::Tensor& tensor, std::int64_t element) {
    auto* bytes = static_cast<unsigned char*>(tensor.data_ptr());
    bytes[(element % tensor.numel()) * static_cast<std::int64_t>(tensor.element_size())] ^= 1U;
  }

  void plant_in_arguments() {
    if (!planted("operand_bit")) return;
    single_.spoil_argument = [this](at::Tensor& tensor) { flip_lowest_bit(tensor, run_.request().inject->element); };
  }

  void plant_in_result(at::Tensor& result) {
    if (!planted("result") || result.numel() == 0) return;
    const std::int64_t element = run_.request().inject->element;
    result = result.contiguous();
    if (planted("result_bit")) flip_lowest_bit(result, element);
    if (planted("result_wrong")) result.view({-1})[element % result.numel()].add_(1'000'000);
  }

  ProbeRun& run_;
  DeclaredCall call_;
  std::int64_t number_;
  c10::Device device_;
  SingleCall single_;
  ProbeMeasurement measurement_;
};

}  // namespace

void probe_operators(ProbeRun& run) {
  const auto& calls = run.request().workload.calls;
  if (calls.empty()) throw RunFailure("bad_request", "the probe `operators` was given no calls");
  std::vector<DeclaredCall> parsed;
  std::vector<DeclaredCall> fitting;  // of the others no tensor is kept
  for (const std::string& text : calls) {
    parsed.push_back(parse_call(text));
    if (fits_in(run.request(), bytes_needed(parsed.back()))) fitting.push_back(parsed.back());
  }
  const CallTensors tensors(run.request().workload, fitting);
  std::int64_t number = 0;
  for (DeclaredCall& call : parsed) CallProbe(run, tensors, std::move(call), ++number).run();
}

}  // namespace reprobench
