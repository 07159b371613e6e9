#include "suites/worker/record/operator_trace.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <fcntl.h>
#include <unistd.h>

#include "matrix/base/number.hpp"
#include "matrix/base/write_fully.hpp"
#include "matrix/contract/trace.hpp"
#include "suites/worker/record/captured_site.hpp"
#include "suites/worker/record/tensor_record.hpp"
#include "suites/worker/run_failure.hpp"

namespace reprobench {
namespace {

std::string constant_text(const at::IValue& value) {
  if (value.isNone()) return "none";
  if (value.isBool()) return value.toBool() ? "true" : "false";
  if (value.isInt()) return std::to_string(value.toInt());
  if (value.isDouble()) {
    char text[64];
    std::snprintf(text, sizeof text, "%.9g (0x%s)", value.toDouble(),
                  hex64(std::bit_cast<std::uint64_t>(value.toDouble())).c_str());
    return text;
  }
  if (value.isString()) return '"' + value.toStringRef() + '"';
  if (value.isList()) {
    std::string text = "[";
    for (const at::IValue& element : value.toListRef()) {
      text += (text.size() > 1 ? ", " : "") + constant_text(element);
    }
    return text + "]";
  }
  return value.tagKind();
}

bool holds_tensors(const at::IValue& value) {
  if (value.isTensor() || value.isTensorList()) return true;
  if (!value.isList()) return false;
  const auto elements = value.toListRef();
  return std::any_of(elements.begin(), elements.end(), [](const at::IValue& element) { return element.isTensor(); });
}

bool has_trait(const std::vector<bool>& traits, std::size_t argument) {
  return argument < traits.size() && traits[argument];
}

OperatorTensor without_content(const at::Tensor& tensor) {
  const auto sizes = tensor.sizes();
  return {dtype_name(tensor), {sizes.begin(), sizes.end()}, "", 0, {}, ""};
}

OperatorTensor with_content(const at::Tensor& tensor, TensorContent content) {
  OperatorTensor record = without_content(tensor);
  record.digest = std::move(content.digest);
  record.not_finite = content.not_finite;
  return record;
}

void append(int file, const std::string& text) {
  if (const int error = write_fully(file, text))
    throw std::system_error(error, std::generic_category(), kOperatorsFile);
}

}  // namespace

OperatorTrace::OperatorTrace(const std::filesystem::path& folder, const Replay& replay)
    : writes_calls_(replay.operators_from > 0) {
  for (const OperatorSite& site : replay.captures()) {
    captures_.push_back(std::make_unique<CapturedSite>(site, folder / operator_tensors_file(captures_.size())));
  }
  if (replay.keep_values) keeper_ = std::make_unique<ValueKeeper>(*replay.keep_values, folder / kValuesFile);
  if (replay.substituted_inputs) substitution_ = std::make_unique<ValueSubstitution>(*replay.substituted_inputs);
  if (!writes_calls_) return;
  file_ = open((folder / kOperatorsFile).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file_ < 0) throw std::system_error(errno, std::generic_category(), kOperatorsFile);
}

OperatorTrace::~OperatorTrace() {
  if (file_ >= 0) close(file_);
}

void OperatorTrace::begin_step(std::int64_t step) {
  step_ = step;
  calls_ = 0;
  records_.clear();
  sequence_nrs_.clear();
  first_of_module_ = 0;
  module_of_sequence_.clear();
  makers_.clear();
  enter_pass("forward");
}

void OperatorTrace::enter_pass(const std::string& pass) {
  if (pass_ == "forward" && pass != "forward") end_module("loss");
  if (pass == "forward") first_of_module_ = records_.size();  // behind the passes of an earlier micro-batch
  pass_ = pass;
  contents_.clear();  // between passes faults are planted, behind LibTorch's back
}

void OperatorTrace::end_module(const std::string& name) {
  for (; first_of_module_ < records_.size(); ++first_of_module_) {
    records_[first_of_module_].module = name;
    if (sequence_nrs_[first_of_module_] >= 0) module_of_sequence_.emplace(sequence_nrs_[first_of_module_], name);
  }
}

// A call that only shows its input computes nothing: neither side of it needs a digest. What it shows flows through it.
OperatorTensor OperatorTrace::read_input(const OperatorCall& call, std::size_t argument, const at::Tensor& tensor) {
  if (has_trait(call.traits->overwrites, argument)) return without_content(tensor);
  OperatorTensor record = call.traits->shows_input
                              ? without_content(tensor)
                              : with_content(tensor, contents_.known_content(tensor, running_.empty()));
  record.made_by = makers_.maker_of(tensor);
  return record;
}

void OperatorTrace::add_inputs(OperatorRecord& record, const OperatorCall& call) {
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const at::IValue& value = call.inputs[i];
    if (!holds_tensors(value)) {
      record.constants += (record.constants.empty() ? "" : ", ") + constant_text(value);
      continue;
    }
    visit_tensors(value, [&](const at::Tensor& tensor) {
      record.inputs.push_back(read_input(call, i, tensor));
      if (has_trait(call.traits->changes, i)) contents_.forget(tensor);
    });
  }
}

void OperatorTrace::add_outputs(OperatorRecord& record, const OperatorCall& call) {
  const bool has_content = !call.traits->leaves_memory_unwritten && !call.traits->shows_input;
  const std::size_t results = call.outputs.size() - call.filled.size();
  for (std::size_t place = 0; place < call.outputs.size(); ++place) {
    visit_tensors(call.outputs[place], [&](const at::Tensor& tensor) {
      record.outputs.push_back(has_content ? with_content(tensor, contents_.fresh_content(tensor, running_.empty()))
                                           : without_content(tensor));
      if (place >= results) record.outputs.back().argument = call.filled[place - results];
      makers_.returned(tensor, record.index, call.traits->shows_input);
    });
  }
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (!has_trait(call.traits->changes, i)) continue;
    visit_tensors(call.inputs[i], [&](const at::Tensor& tensor) { makers_.wrote(tensor, record.index); });
  }
}

std::string OperatorTrace::module_of(const OperatorCall& call) {
  if (pass_ != "backward") return "";
  if (call.is_backward_node) {
    const auto found = module_of_sequence_.find(call.sequence_nr);
    return found == module_of_sequence_.end() ? "" : found->second;
  }
  return running_.empty() ? "" : running_.back().module;
}

void OperatorTrace::started(OperatorCall& call) {
  for (const auto& capture : captures_) capture->started(call, step_, calls_);
  OperatorRecord record;
  record.step = step_;
  record.index = calls_++;
  record.name = call.name;
  record.depth = call.depth;
  record.pass = pass_;
  record.module = module_of(call);
  if (writes_calls_) add_inputs(record, call);
  running_.push_back(std::move(record));
}

void OperatorTrace::ended(OperatorCall& call) {
  OperatorRecord record = std::move(running_.back());
  running_.pop_back();
  if (writes_calls_) add_outputs(record, call);
  // The engine's own call around a backward node does not say which node it is for: the node does.
  if (pass_ == "backward" && !running_.empty() && running_.back().module.empty()) {
    running_.back().module = record.module;
  }
  for (const auto& capture : captures_) capture->ended(call, step_, record.index);
  hand_on(call, record);
  records_.push_back(std::move(record));
  sequence_nrs_.push_back(call.is_backward_node ? -1 : call.sequence_nr);
}

void OperatorTrace::hand_on(const OperatorCall& call, const OperatorRecord& record) {
  if (keeper_ && keeper_->step() == step_) keeper_->keep(call, record);
  if (!substitution_ || substitution_->step() != step_) return;
  for (const at::Tensor& written : substitution_->substitute(call, record)) contents_.forget(written);
}

void OperatorTrace::end_step() {
  if (pass_ == "forward") end_module("loss");
  for (const auto& capture : captures_) {
    if (capture->site().step != step_ || capture->is_met()) continue;
    throw RunFailure("bad_request", "step " + std::to_string(step_) + " has " + std::to_string(calls_) +
                                        " operator calls, number " + std::to_string(capture->site().index) +
                                        " is not one of them");
  }
  if (!writes_calls_) return;
  std::string text;
  for (const OperatorRecord& record : records_) text += operator_line(record, seq_++);
  append(file_, text);
  if (keeper_ && keeper_->step() == step_) keeper_->write();
}

}  // namespace reprobench
