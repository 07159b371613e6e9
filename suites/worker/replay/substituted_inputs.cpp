#include "suites/worker/replay/substituted_inputs.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include "suites/worker/record/host_tensor.hpp"
#include "suites/worker/record/operator_hook.hpp"
#include "suites/worker/record/tensor_file.hpp"
#include "suites/worker/record/tensor_record.hpp"
#include "suites/worker/run_failure.hpp"

namespace reprobench {
namespace {

std::vector<at::Tensor> outputs_of(const OperatorCall& call) {
  std::vector<at::Tensor> outputs;
  for (const at::IValue& value : call.outputs) {
    visit_tensors(value, [&](const at::Tensor& tensor) { outputs.push_back(tensor); });
  }
  return outputs;
}

// An expanded tensor shows one number at many places: writing into it is not defined.
bool shares_elements(const at::Tensor& tensor) {
  for (std::int64_t i = 0; i < tensor.dim(); ++i) {
    if (tensor.size(i) > 1 && tensor.stride(i) == 0) return true;
  }
  return false;
}

}  // namespace

ValueKeeper::ValueKeeper(const KeptValues& asked, std::filesystem::path file)
    : step_(asked.step), wanted_(asked.digests.begin(), asked.digests.end()), file_(std::move(file)) {}

ValueKeeper::~ValueKeeper() = default;

void ValueKeeper::keep(const OperatorCall& call, const OperatorRecord& record) {
  const auto outputs = outputs_of(call);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string& digest = record.outputs[i].digest;
    if (wanted_.count(digest) > 0 && kept_.count(digest) == 0) kept_[digest] = on_host(outputs[i]).clone();
  }
}

void ValueKeeper::write() const {
  write_tensors(file_, {kept_.begin(), kept_.end()}, {{"step", std::to_string(step_)}});
}

ValueSubstitution::ValueSubstitution(const SubstitutedInputs& inputs) : step_(inputs.step) {
  values_ = read_tensors(inputs.file).tensors;
  for (const auto& [digest, value] : values_) {
    if (to_hex(digest_of(value)) == digest) continue;
    throw RunFailure("bad_request", inputs.file + ": the value " + digest + " has another digest");
  }
  for (const SubstitutedOutputs& call : inputs.calls) digests_[call.index] = call.digests;
}

ValueSubstitution::~ValueSubstitution() = default;

std::vector<at::Tensor> ValueSubstitution::substitute(const OperatorCall& call, const OperatorRecord& record) const {
  const auto given = digests_.find(record.index);
  if (given == digests_.end()) return {};
  std::vector<at::Tensor> written;
  const auto outputs = outputs_of(call);
  for (std::size_t i = 0; i < std::min(outputs.size(), given->second.size()); ++i) {
    const auto value = values_.find(given->second[i]);
    if (value == values_.end() || record.outputs[i].digest == value->first) continue;
    const at::Tensor& output = outputs[i];
    const bool is_alike =
        output.scalar_type() == value->second.scalar_type() && output.sizes() == value->second.sizes();
    if (!is_alike || shares_elements(output)) continue;
    at::Tensor place = output.variable_data();  // the same memory, behind autograd's back
    place.copy_(value->second);
    written.push_back(output);
  }
  return written;
}

}  // namespace reprobench
