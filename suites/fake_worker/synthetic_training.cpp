#include "suites/fake_worker/synthetic_training.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "matrix/base/number.hpp"
#include "matrix/contract/recent_tensors.hpp"

namespace reprobench {
namespace {

constexpr double kBaseStepTime_ns = 1e5;
constexpr double kStepTimeJitterRel = 0.01;
constexpr double kBaseRss_bytes = 20e6;  // more than the kernel sees, and within what its accounts may differ by
constexpr double kOtherBitsRel = 1e-6;

// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): every input bit reaches every output bit.
std::uint64_t mix(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
  value = (value ^ value >> 27) * 0x94d049bb133111ebu;
  return value ^ value >> 31;
}

std::uint64_t mix_text(std::uint64_t state, std::string_view text) {
  for (const char c : text) state = mix(state ^ static_cast<unsigned char>(c));
  return mix(state ^ text.size());
}

std::string digest_of(std::uint64_t bits) { return hex64(mix(bits)) + hex64(mix(bits ^ 0x5bd1e995u)); }

// In [-1, 1).
double signed_unit(std::uint64_t bits) { return static_cast<double>(static_cast<std::int64_t>(mix(bits))) * 0x1p-63; }

std::uint64_t workload_bits(const CellRequest& request, const Behaviour& behaviour) {
  std::uint64_t bits = mix_text(0, request.workload.model);
  bits = mix_text(bits, request.workload.preset);
  bits = mix_text(bits, std::to_string(setting_in<&Settings::seed>(request.knobs)));
  bits = mix(bits ^ static_cast<std::uint64_t>(request.workload.batch_size));
  bits = mix(bits ^ static_cast<std::uint64_t>(request.workload.steps));
  return behaviour.does("different_workload") ? mix_text(bits, request.stack) : bits;
}

TensorSketch sketch_of(const std::string& name, std::int64_t step, double shift) {
  TensorSketch sketch;
  const std::uint64_t bits = mix_text(static_cast<std::uint64_t>(step), name);
  for (std::size_t i = 0; i < sketch.signed_sums.size(); ++i)
    sketch.signed_sums[i] = signed_unit(bits + i) * (1 + shift);
  sketch.min = -1;
  sketch.max = 1 + shift;
  sketch.sum = sketch.signed_sums[0];
  for (const double sum : sketch.signed_sums) sketch.l2 += sum * sum;
  sketch.l2 = std::sqrt(sketch.l2);
  return sketch;
}

}  // namespace

SyntheticTraining::SyntheticTraining(const CellRequest& request, const Behaviour& behaviour)
    : request_(request),
      behaviour_(behaviour),
      workload_digest_(digest_of(workload_bits(request, behaviour))),
      chain_(digest_from_hex(workload_digest_).value()) {}

// Everything that gives a tensor its bits: the workload, the precision, and whatever the behaviour or a planted fault
// adds.
std::uint64_t SyntheticTraining::bits_of(const std::string& name, std::int64_t step, bool by_construction) const {
  std::uint64_t bits = mix_text(mix_text(workload_bits(request_, behaviour_), precision_text(request_)), name);
  bits = mix(bits ^ static_cast<std::uint64_t>(step));
  if (behaviour_.does(by_construction ? "other_initial_bits" : "ok_other_bits")) bits = mix_text(bits, request_.stack);
  if (!by_construction && behaviour_.does("bits")) {
    bits = mix(bits ^ static_cast<std::uint64_t>(behaviour_.value("bits", 0)));
  }
  if (!by_construction && behaviour_.does("poison_shows") && request_.poison_allocator) bits = mix(bits);
  if (!by_construction && behaviour_.does("drift") && step >= static_cast<std::int64_t>(behaviour_.value("drift", 2))) {
    bits = mix(bits ^ static_cast<std::uint64_t>(request_.repeat));
  }
  if (request_.inject && step >= request_.inject->step) bits = mix_text(bits, request_.inject->tensor);
  return bits;
}

bool SyntheticTraining::is_sketched(std::int64_t step) const {
  return is_log_spaced(step) || step == request_.workload.steps;
}

TensorRecord SyntheticTraining::tensor(const std::string& name, TensorRole role, std::int64_t step,
                                       bool with_sketch) const {
  // Batches, and weights before the first update: no kernel of the stack has touched them.
  const bool by_construction = role == TensorRole::input || (role == TensorRole::parameter && step == 1);
  TensorRecord record{name, role, "float32", {8, 4}, digest_of(bits_of(name, step, by_construction)), std::nullopt};
  const double shift = behaviour_.does("ok_other_bits") ? kOtherBitsRel : 0;
  if (with_sketch) record.sketch = sketch_of(name, step, shift);
  return record;
}

TensorsRecord SyntheticTraining::tensors() const {
  const std::int64_t step = step_ + 1;
  const bool with_sketch = is_sketched(step);
  return {step,
          false,
          {tensor("input", TensorRole::input, step, with_sketch),
           tensor("fc1.weight", TensorRole::parameter, step, with_sketch),
           tensor("fc1", TensorRole::forward_output, step, with_sketch),
           tensor("fc1.weight", TensorRole::parameter_gradient, step, with_sketch),
           tensor("fc1.weight.exp_avg", TensorRole::optimizer_state, step, with_sketch)}};
}

// As a real worker makes it: of the step's tensors where they are recorded.
Digest SyntheticTraining::root_of_next() const {
  if (digests_tensors(request_.trace)) {
    DigestBuilder root;
    for (const TensorRecord& tensor : tensors().tensors) {
      append_tensor(root, tensor.name, to_string(tensor.role), tensor.digest);
    }
    return root.finish();
  }
  return digest_from_hex(digest_of(bits_of("root", step_ + 1))).value();
}

StepRecord SyntheticTraining::advance() {
  const Digest root = root_of_next();
  ++step_;
  const std::uint64_t bits = bits_of("root", step_);
  StepRecord step;
  step.step = step_;
  const double decay = std::exp(-static_cast<double>(step_) / 50);
  const double shift = behaviour_.does("ok_other_bits") ? kOtherBitsRel : 0;
  auto loss = static_cast<float>((2.3 * decay + 0.01) * (1 + shift));
  const bool is_nan = behaviour_.does("nan") && step_ >= static_cast<std::int64_t>(behaviour_.value("nan", 2));
  if (is_nan) loss = std::numeric_limits<float>::quiet_NaN();
  step.loss = exact_float(loss);
  step.grad_norm = exact_float(static_cast<float>(decay));
  step.learning_rate = 1e-3;
  step.samples = request_.workload.batch_size;
  const std::uint64_t jitter = mix_text(static_cast<std::uint64_t>(step_ + 1000 * request_.repeat), request_.cell_id);
  const double stall = step_ % 20 == 0 ? behaviour_.value("stall", 1) : 1;
  const double time_ns =
      kBaseStepTime_ns * behaviour_.value("slow", 1) * stall * (1 + kStepTimeJitterRel * signed_unit(jitter));
  step.step_time_ns = std::max<std::int64_t>(1, std::llround(time_ns));
  const std::int64_t part_ns = step.step_time_ns / 10;
  step.phases = {part_ns, 3 * part_ns, 4 * part_ns, step.step_time_ns - 8 * part_ns};
  const auto more_ns = std::llround(static_cast<double>(4 * part_ns) * (behaviour_.value("slow_backward", 1) - 1));
  step.phases.backward_ns += more_ns;
  step.step_time_ns += more_ns;
  step.rss_bytes = behaviour_.does("drop_metric") ? -1 : peak_rss_bytes();
  step.anonymous_bytes = behaviour_.does("drop_metric") ? -1 : peak_anonymous_bytes();
  step.root = to_hex(root);
  chain_ = step_chain_digest(chain_, root, step.loss.at("bits").get_ref<const std::string&>());
  step.chain = to_hex(chain_);
  step.events = {{"relu_active", static_cast<std::int64_t>(bits % 4096)}};
  return step;
}

TensorsRecord SyntheticTraining::final_state() const {
  return {step_,
          true,
          {tensor("fc1.weight", TensorRole::parameter, step_ + 1, true),
           tensor("fc1.weight.exp_avg", TensorRole::optimizer_state, step_, true)}};
}

void SyntheticTraining::go_on_after(std::int64_t step, const std::string& chain) {
  step_ = step;
  chain_ = digest_from_hex(chain).value();
}

std::int64_t SyntheticTraining::peak_rss_bytes() const {
  if (behaviour_.does("drop_metric")) return 0;
  return std::llround(kBaseRss_bytes * behaviour_.value("rss", 1));
}

std::int64_t SyntheticTraining::peak_anonymous_bytes() const {
  return behaviour_.does("drop_metric") ? -1 : peak_rss_bytes() / 2;
}

}  // namespace reprobench
