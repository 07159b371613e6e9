#include "suites/worker/probes/single_call.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/autograd.h>

#include "matrix/contract/call_policy.hpp"
#include "models/initial_values.hpp"
#include "suites/worker/probes/call_tensors.hpp"
#include "suites/worker/record/repeated_call.hpp"
#include "suites/worker/record/tensor_record.hpp"
#include "suites/worker/run_failure.hpp"

namespace reprobench {
namespace {

struct DeclaredDtype {
  const char* name;
  at::ScalarType type;
};
constexpr DeclaredDtype kDeclaredDtypes[] = {{"f64", at::kDouble},    {"f32", at::kFloat}, {"f16", at::kHalf},
                                             {"bf16", at::kBFloat16}, {"i64", at::kLong},  {"bool", at::kBool}};

at::ScalarType type_named(const std::string& name) {
  for (const DeclaredDtype& row : kDeclaredDtypes) {
    if (name == row.name) return row.type;
  }
  throw std::invalid_argument("`" + name + "` is no dtype");
}

std::vector<std::int64_t> whole_numbers(std::uint64_t seed, const std::string& name, std::int64_t count,
                                        std::int64_t below) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(count));
  const std::uint32_t tensor = tensor_id(name);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const PhiloxBlock block = keyed_block(seed, tensor, 0, i);
    const std::uint64_t bits = (static_cast<std::uint64_t>(block.word[0]) << 31) ^ block.word[1];
    values[i] = static_cast<std::int64_t>(bits % static_cast<std::uint64_t>(below));
  }
  return values;
}

// Bell-shaped of variance 1; positive ones are their sizes and a half, away from where logarithms and roots end.
at::Tensor floating(std::uint64_t seed, const std::string& name, std::int64_t count, bool is_positive) {
  std::vector<float> values = initial_values(seed, name, static_cast<std::size_t>(count), 1.0F);
  if (is_positive) {
    for (float& value : values) value = std::abs(value) + 0.5F;
  }
  return at::from_blob(values.data(), {count}, at::kFloat).clone();
}

at::Tensor laid_out(const at::Tensor& values, const DeclaredTensor& declared) {
  return declared.strides.empty() ? values.view(declared.shape) : values.as_strided(declared.shape, declared.strides);
}

at::Tensor drawn(const DeclaredTensor& declared, std::uint64_t seed, const std::string& name,
                 const c10::Device& device) {
  const std::int64_t count = declared.storage_elements();
  at::Tensor values;
  if (declared.is_floating()) {
    values = floating(seed, name, count, declared.is_positive);
  } else {
    auto whole = whole_numbers(seed, name, count, declared.dtype == "bool" ? 2 : declared.below);
    values = at::from_blob(whole.data(), {count}, at::kLong).clone();
  }
  return laid_out(values.to(type_named(declared.dtype)).to(device), declared);
}

// On the device before it is laid out: moving keeps no strides that leave gaps.
at::Tensor copied(const at::Tensor& held, const DeclaredTensor& declared, const c10::Device& device) {
  at::Tensor to = laid_out(at::zeros({declared.storage_elements()}, held.scalar_type()).to(device), declared);
  return to.copy_(held);
}

at::Tensor in_fp64(const at::Tensor& tensor) { return tensor.is_floating_point() ? tensor.to(at::kDouble) : tensor; }

// "2", and of a list of tensors "2", "2.1", "2.2".
std::string place_text(std::size_t argument, int in_list) {
  return std::to_string(argument) + (in_list == 0 ? "" : "." + std::to_string(in_list));
}

c10::TypePtr inner_type(const c10::TypePtr& type) {
  return type->kind() == c10::TypeKind::OptionalType ? type->castRaw<c10::OptionalType>()->getElementType() : type;
}

// Whether it stays among tensors, numbers and words. A device, storage, stream or object reaches beyond them.
bool may_be_given(const c10::TypePtr& type) {
  switch (type->kind()) {
    case c10::TypeKind::OptionalType:
      return may_be_given(inner_type(type));
    case c10::TypeKind::ListType:
      return may_be_given(type->castRaw<c10::ListType>()->getElementType());
    case c10::TypeKind::TensorType:
    case c10::TypeKind::IntType:
    case c10::TypeKind::FloatType:
    case c10::TypeKind::BoolType:
    case c10::TypeKind::NumberType:
    case c10::TypeKind::StringType:
      return true;
    default:
      return false;
  }
}

// By what the operator itself says of the argument; a list can only say what it takes it for.
std::string refusal_of_argument(const c10::Argument& argument, const DeclaredArgument& declared) {
  if (std::holds_alternative<NoValue>(declared.value)) return {};
  const std::string shown = "`" + argument.type()->str() + " " + argument.name() + "`";
  if (!may_be_given(argument.type())) return shown + " is no tensor, number or known word";
  const c10::TypeKind kind = inner_type(argument.type())->kind();
  const auto* const text = std::get_if<std::string>(&declared.value);
  if (text == nullptr) return kind == c10::TypeKind::StringType ? shown + " is given no text" : "";
  if (kind == c10::TypeKind::StringType && is_known_text(argument.name(), *text)) return {};
  const bool is_dtype = std::any_of(std::begin(kDeclaredDtypes), std::end(kDeclaredDtypes),
                                    [&](const DeclaredDtype& row) { return *text == row.name; });
  if (kind == c10::TypeKind::IntType && is_dtype) return {};
  return shown + " does not choose '" + *text + "' among known words";
}

// What the schema's type asks for; a whole number is also a floating-point one.
at::IValue plain_value(const DeclaredArgument& argument, const c10::TypePtr& type) {
  if (std::holds_alternative<NoValue>(argument.value)) return {};
  if (const auto* flag = std::get_if<bool>(&argument.value)) return *flag;
  if (const auto* number = std::get_if<double>(&argument.value)) return *number;
  if (const auto* text = std::get_if<std::string>(&argument.value)) {
    const bool names_dtype = type->kind() == c10::TypeKind::IntType;
    return names_dtype ? at::IValue(static_cast<std::int64_t>(type_named(*text))) : at::IValue(*text);
  }
  if (const auto* whole = std::get_if<std::int64_t>(&argument.value)) {
    if (type->kind() == c10::TypeKind::FloatType) return static_cast<double>(*whole);
    return *whole;
  }
  if (const auto* list = std::get_if<DeclaredIntegers>(&argument.value)) {
    if (type->kind() == c10::TypeKind::ListType &&
        type->castRaw<c10::ListType>()->getElementType()->kind() == c10::TypeKind::FloatType) {
      return std::vector<double>(list->begin(), list->end());
    }
    return *list;
  }
  c10::List<bool> flags;
  for (const bool flag : std::get<DeclaredFlags>(argument.value)) flags.push_back(flag);
  return flags;
}

}  // namespace

at::Tensor empty_as(const DeclaredTensor& declared) { return at::empty(declared.shape, type_named(declared.dtype)); }

struct SingleCall::Operator {
  explicit Operator(c10::OperatorHandle found) : handle(std::move(found)) {}

  c10::OperatorHandle handle;
  std::vector<const DeclaredArgument*> given;  // by the schema's arguments; null: its default
  bool writes = false;                         // into an argument: in place, or `out`
};

struct SingleCall::Arguments {
  CallStack stack;
  std::vector<std::pair<std::string, at::Tensor>> leaves;  // place in the schema, tensor that a gradient is asked of
  // Given to the backward pass, once that output is known. Outputs behind the first, such as the mean of a norm, have
  // no gradient in a training.
  at::Tensor seed;
};

SingleCall::~SingleCall() = default;

SingleCall::SingleCall(DeclaredCall call, SingleCallPlace place)
    : call_(std::move(call)), place_(place), refused_(refusal_of(call_)) {
  if (!refused_.empty()) return;
  const std::string name = call_.name.find("::") == std::string::npos ? "aten::" + call_.name : call_.name;
  const auto handle = c10::Dispatcher::singleton().findSchema({name, call_.overload});
  if (!handle) {
    absent_ = "this release has no operator " + name + (call_.overload.empty() ? "" : "." + call_.overload);
    return;
  }
  operator_ = std::make_unique<Operator>(*handle);
  const auto& arguments = handle->schema().arguments();
  operator_->given.resize(arguments.size(), nullptr);
  for (std::size_t i = 0; i < call_.arguments.size(); ++i) {
    const DeclaredArgument& declared = call_.arguments[i];
    std::size_t at = i;
    if (!declared.name.empty()) {
      const auto named = std::find_if(arguments.begin(), arguments.end(),
                                      [&](const c10::Argument& known) { return known.name() == declared.name; });
      at = static_cast<std::size_t>(named - arguments.begin());
    }
    if (at >= arguments.size()) {
      absent_ = name + " of this release takes no argument " +
                (declared.name.empty() ? std::to_string(at) : "`" + declared.name + "`");
      return;
    }
    operator_->given[at] = &declared;
    if (refused_.empty()) refused_ = refusal_of_argument(arguments[at], declared);
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool is_written = arguments[i].alias_info() != nullptr && arguments[i].alias_info()->isWrite();
    operator_->writes = operator_->writes || is_written;
    if (operator_->given[i] == nullptr && !arguments[i].default_value()) {
      absent_ = name + " of this release wants an argument `" + arguments[i].name() + "`";
    }
  }
}

SingleCall::Arguments SingleCall::arguments_of(bool is_exact, const std::vector<at::Tensor>* values,
                                               bool with_leaves) const {
  Arguments arguments;
  int tensors = 0;
  const auto& schema = operator_->handle.schema().arguments();
  for (std::size_t i = 0; i < schema.size(); ++i) {
    const DeclaredArgument* declared = operator_->given[i];
    if (declared == nullptr) {
      arguments.stack.push_back(*schema[i].default_value());
      continue;
    }
    const auto tensor = [&](const DeclaredTensor& one, int in_list) {
      at::Tensor value = values != nullptr ? copied(values->at(static_cast<std::size_t>(tensors)), one, place_.device)
                         : one.from.empty()
                             ? drawn(one, place_.seed, call_.text + "#" + std::to_string(tensors), place_.device)
                             : copied(place_.tensors->holding(one), one, place_.device);
      if (tensors++ == 0 && spoil_argument) spoil_argument(value);
      if (is_exact) value = in_fp64(value);
      const bool is_leaf = with_leaves && one.is_floating() && !one.is_constant && !operator_->writes;
      if (is_leaf) arguments.leaves.emplace_back(place_text(i, in_list), value.detach().requires_grad_(true));
      return is_leaf ? arguments.leaves.back().second : value;
    };
    if (const auto* one = std::get_if<DeclaredTensor>(&declared->value)) {
      arguments.stack.emplace_back(tensor(*one, 0));
    } else if (const auto* several = std::get_if<DeclaredTensors>(&declared->value)) {
      std::vector<at::Tensor> list;
      for (const DeclaredTensor& each : *several) list.push_back(tensor(each, static_cast<int>(list.size())));
      arguments.stack.emplace_back(std::move(list));
    } else {
      arguments.stack.push_back(plain_value(*declared, inner_type(schema[i].type())));
    }
  }
  return arguments;
}

// What the backward pass is given, of the narrowest type that the call declares: every stack and fp64 are given the
// same.
at::Tensor SingleCall::seed_for(const at::Tensor& output, const std::string& name) const {
  at::ScalarType narrowest = at::kDouble;
  for (const DeclaredTensor& tensor : call_.tensors()) {
    const at::ScalarType type = type_named(tensor.dtype);
    if (tensor.is_floating() && at::elementSize(type) < at::elementSize(narrowest)) narrowest = type;
  }
  DeclaredTensor shape;
  shape.dtype = "f32";
  shape.shape = output.sizes().vec();
  return drawn(shape, place_.seed, call_.text + "#" + name, place_.device).to(narrowest).to(output.scalar_type());
}

MadeTensors SingleCall::made_by(Arguments& arguments, DigestBuilder* inputs) const {
  MadeTensors made;
  CallStack stack = arguments.stack;
  operator_->handle.callBoxed(&stack);
  const std::vector<at::Tensor> outputs = tensors_in(stack);
  at::Tensor differentiable;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string name = "output." + std::to_string(i);
    made.emplace_back(name, outputs[i].detach());
    if (differentiable.defined() || !outputs[i].requires_grad() || !outputs[i].is_floating_point()) continue;
    if (!arguments.seed.defined()) {
      arguments.seed = seed_for(outputs[i], name);
      if (inputs != nullptr) inputs->append(digest_of(arguments.seed));
    }
    arguments.seed = arguments.seed.view(outputs[i].sizes());
    differentiable = outputs[i];
  }
  add_changed(arguments, outputs, made);
  if (!differentiable.defined()) return made;
  std::vector<at::Tensor> leaves;
  for (const auto& [name, leaf] : arguments.leaves) leaves.push_back(leaf);
  const auto gradients =
      torch::autograd::grad({differentiable}, leaves, {arguments.seed}, false, false, /*allow_unused=*/true);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (gradients[i].defined()) made.emplace_back("gradient." + arguments.leaves[i].first, gradients[i]);
  }
  return made;
}

// Arguments that were written into, but for those that were returned, too.
void SingleCall::add_changed(const Arguments& arguments, const std::vector<at::Tensor>& outputs,
                             MadeTensors& made) const {
  const auto& schema = operator_->handle.schema().arguments();
  for (std::size_t i = 0; i < schema.size(); ++i) {
    if (schema[i].alias_info() == nullptr || !schema[i].alias_info()->isWrite()) continue;
    int place = 0;
    visit_tensors(arguments.stack[i], [&](const at::Tensor& tensor) {
      const std::string name = "changed." + place_text(i, place++);
      const bool is_output =
          std::any_of(outputs.begin(), outputs.end(), [&](const at::Tensor& output) { return output.is_same(tensor); });
      if (!is_output) made.emplace_back(name, tensor);
    });
  }
}

MadeTensors SingleCall::run(bool is_exact, Digest* inputs) const {
  Arguments arguments = arguments_of(is_exact);
  DigestBuilder builder;
  for (const at::IValue& value : arguments.stack) {
    visit_tensors(value, [&](const at::Tensor& tensor) { builder.append(digest_of(tensor)); });
  }
  MadeTensors made = made_by(arguments, &builder);
  if (inputs != nullptr) *inputs = builder.finish();
  return made;
}

std::vector<at::Tensor> SingleCall::blank_tensors() const {
  std::vector<at::Tensor> blank;
  for (const DeclaredTensor& declared : call_.tensors()) {
    blank.push_back(laid_out(at::zeros({declared.storage_elements()}, type_named(declared.dtype)), declared));
  }
  return blank;
}

std::vector<at::Tensor> SingleCall::drawn_tensors(const at::Tensor* output) const {
  std::vector<at::Tensor> drawn;
  for (const at::IValue& value : arguments_of(false, nullptr, false).stack) {
    visit_tensors(value, [&](const at::Tensor& tensor) { drawn.push_back(tensor.to(at::kCPU)); });
  }
  if (output != nullptr) drawn.push_back(seed_for(*output, "output.0").to(at::kCPU));
  return drawn;
}

at::Tensor SingleCall::run_on(const std::vector<at::Tensor>& tensors, const std::string& output) const {
  const bool is_gradient = tensors.size() > call_.tensors().size();
  Arguments arguments = arguments_of(false, &tensors, is_gradient);
  if (is_gradient) arguments.seed = tensors.back().to(place_.device);
  for (auto& [name, tensor] : made_by(arguments, nullptr)) {
    if (name == output) return tensor.to(at::kCPU);
  }
  throw RunFailure("unsupported", "the call makes no `" + output + "`");
}

std::function<at::Tensor()> SingleCall::repeated() const {
  auto arguments = std::make_shared<Arguments>(arguments_of(false));
  return [this, arguments] { return made_by(*arguments, nullptr).front().second; };
}

}  // namespace reprobench
