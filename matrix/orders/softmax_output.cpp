// Outputs of _softmax(x, axis, false), _log_softmax and their backward passes (dy, y, axis, dtype), over rows in fp32.
#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "matrix/orders/call_arguments.hpp"
#include "matrix/orders/formed_families.hpp"
#include "matrix/orders/row_softmax.hpp"
#include "matrix/orders/sum_layout.hpp"

namespace reprobench {
namespace softmax_output {  // a unity build has several files in one
namespace {

// The gradient of a forward call takes the result of that call, so it has a form of each.
struct SoftmaxForms {
  std::optional<SoftmaxForm> forward;
  std::optional<SoftmaxGradientForm> gradient;

  std::string text() const {
    std::string all = forward ? softmax_text(*forward) : "";
    if (forward && gradient) all += kThen;
    return gradient ? all + softmax_text(*gradient) : all;
  }
  std::string shape() const {
    std::string all = forward ? softmax_shape(*forward) : "";
    if (forward && gradient) all += kThen;
    return gradient ? all + softmax_shape(*gradient) : all;
  }
};

std::vector<SoftmaxForms> all_forms(bool is_log, bool has_forward, bool has_gradient) {
  std::vector<SoftmaxForms> forms;
  std::vector<std::optional<SoftmaxGradientForm>> gradients = {std::nullopt};
  if (has_gradient) gradients.clear();
  for (const SoftmaxGradientForm& form : softmax_gradient_forms(is_log)) {
    if (has_gradient) gradients.emplace_back(form);
  }
  for (const auto& gradient : gradients) {
    if (!has_forward) forms.push_back({std::nullopt, gradient});
    for (const SoftmaxForm& form : softmax_forms(is_log)) {
      if (has_forward) forms.push_back({form, gradient});
    }
  }
  return forms;
}

struct SoftmaxPlaces {
  std::int64_t rows = 0;
  std::int64_t width = 0;
  std::optional<int> x;   // of a forward call
  std::optional<int> dy;  // of a gradient
  std::optional<int> y;   // of a backward call
};

class SoftmaxOutput : public FormedOutput {
 public:
  SoftmaxOutput(const SoftmaxPlaces& places, bool is_log)
      : places_(places), forms_(all_forms(is_log, places.x.has_value(), places.dy.has_value())) {}

  std::int64_t elements() const override { return places_.rows * places_.width; }
  std::int64_t terms() const override { return places_.width; }
  std::int64_t units() const override { return places_.rows; }
  std::size_t forms() const override { return forms_.size(); }
  std::string text(std::size_t form) const override { return forms_[form].text(); }
  std::string shape(std::size_t form) const override { return forms_[form].shape(); }

  void compute(std::size_t form, const Tensors& tensors, std::int64_t unit, std::vector<Value>& made) const override {
    const auto width = static_cast<std::size_t>(places_.width);
    const auto row_of = [&](int tensor) {
      return std::span(tensors[static_cast<std::size_t>(tensor)])
          .subspan(static_cast<std::size_t>(unit) * width, width);
    };
    const SoftmaxForms& as = forms_[form];
    std::vector<float> y(width);
    if (as.forward) softmax_row(row_of(*places_.x), *as.forward, y);
    std::vector<float> dx(width);
    if (as.gradient) softmax_gradient(row_of(*places_.dy), places_.y ? row_of(*places_.y) : y, *as.gradient, dx);
    const std::vector<float>& values = as.gradient ? dx : y;
    for (std::size_t i = 0; i < width; ++i) {
      made.push_back({unit * places_.width + static_cast<std::int64_t>(i), values[i]});
    }
  }

  void make_kind(std::int64_t round, Tensors& tensors) const override {
    constexpr std::int64_t kKinds = 4;
    constexpr float kWide[kKinds] = {1, 2, 8, 32};
    const float scale = kWide[round % kKinds];
    if (places_.x) each(*places_.x, tensors, [&](std::int64_t, std::int64_t, float& x) { x *= scale; });
    if (places_.y && round % kKinds == 2) {
      each(*places_.y, tensors, [&](std::int64_t, std::int64_t, float& y) { y *= scale; });
    }
    if (places_.dy) make_gradient(round, tensors);
  }

 private:
  template <typename Change>
  void each(int tensor, Tensors& tensors, Change&& change) const {
    std::vector<float>& values = tensors[static_cast<std::size_t>(tensor)];
    for (std::int64_t i = 0; i < elements(); ++i) {
      change(i / places_.width, i % places_.width, values[static_cast<std::size_t>(i)]);
    }
  }

  // Every other row cancels, and each has elements whose own gradient is 0, together with what would cancel them: these
  // show the sum alone.
  void make_gradient(std::int64_t round, Tensors& tensors) const {
    const std::int64_t half = std::max<std::int64_t>(1, places_.width / 2);
    const auto cancel = [&](int tensor, float sign) {
      std::vector<float>& values = tensors[static_cast<std::size_t>(tensor)];
      each(tensor, tensors, [&](std::int64_t row, std::int64_t i, float& value) {
        if ((row + round) % 2 == 1 && i >= half && i < 2 * half) {
          value = sign * values[static_cast<std::size_t>(row * places_.width + i - half)];
        }
      });
    };
    cancel(*places_.dy, -1);
    if (places_.y) cancel(*places_.y, 1);
    each(*places_.dy, tensors, [&](std::int64_t row, std::int64_t i, float& dy) {
      if ((row + i % half + round) % 5 == 0) dy = 0;
    });
  }

  SoftmaxPlaces places_;
  std::vector<SoftmaxForms> forms_;
};

constexpr std::string_view kForward[] = {"_softmax", "_log_softmax"};
constexpr std::string_view kBackward[] = {"_softmax_backward_data", "_log_softmax_backward_data"};

bool is_log(std::string_view name) { return name == kForward[1] || name == kBackward[1]; }
bool is_backward(std::string_view name) { return name == kBackward[0] || name == kBackward[1]; }
bool has(std::string_view name) { return name == kForward[0] || name == kForward[1] || is_backward(name); }

// Whether the axis is the last one, and all in fp32.
bool is_over_rows(const CallArguments& call, std::size_t axis_at) {
  const DeclaredTensor* tensor = call.tensor(0);
  const auto& arguments = call.call().arguments;
  if (!call.is_positional() || tensor == nullptr || arguments.size() <= axis_at + 1) return false;
  const auto* axis = std::get_if<std::int64_t>(&arguments[axis_at].value);
  const auto axes = static_cast<std::int64_t>(tensor->shape.size());
  if (axis == nullptr || axes == 0 || (*axis != -1 && *axis != axes - 1)) return false;
  const auto* to_float = std::get_if<bool>(&arguments[axis_at + 1].value);
  return tensor->dtype == "f32" && product_of(tensor->shape) > 0 && (to_float == nullptr || !*to_float);
}

std::shared_ptr<const FormedOutput> output_of(const DeclaredCall& call, std::string_view output, std::string& why_not) {
  const CallArguments arguments(call);
  const bool backward = is_backward(call.name);
  const bool is_gradient = !backward && output == "gradient.0";
  why_not = "it is called in a way that is not known to be a softmax over rows in fp32";
  if (!is_over_rows(arguments, backward ? 2 : 1) || (output != "output.0" && !is_gradient)) return nullptr;
  const DeclaredTensor* first = arguments.tensor(0);
  const DeclaredTensor* y = backward ? arguments.tensor(1) : nullptr;
  if (backward && (y == nullptr || y->dtype != "f32" || y->shape != first->shape)) return nullptr;
  why_not.clear();
  SoftmaxPlaces places{product_of(first->shape) / first->shape.back(), first->shape.back(), {}, {}, {}};
  if (backward) {
    places.dy = arguments.number(0);
    places.y = arguments.number(1);
  } else {
    places.x = arguments.number(0);
    if (is_gradient) places.dy = arguments.seed();
  }
  return std::make_shared<SoftmaxOutput>(places, is_log(call.name));
}

// Without the release of the C library, which differs between hosts.
std::string without_release(std::string_view text) {
  constexpr std::string_view kLibrary = "libm-";
  std::string plain(text);
  for (std::size_t at = plain.find(kLibrary); at != std::string::npos; at = plain.find(kLibrary, at)) {
    at += kLibrary.size();
    const std::size_t end = std::min(plain.size(), plain.find_first_not_of("0123456789.", at));
    if (end > at) plain.erase(at, end - at);
  }
  return plain;
}

bool has_text(std::string_view text) {
  static const std::set<std::string> kTexts = [] {
    std::set<std::string> all;
    for (const bool log : {false, true}) {
      for (const auto& [forward, gradient] : {std::pair(true, false), std::pair(false, true), std::pair(true, true)}) {
        for (const SoftmaxForms& one : all_forms(log, forward, gradient)) all.insert(without_release(one.text()));
      }
    }
    return all;
  }();
  return text.find("libm- ") == std::string_view::npos && kTexts.contains(without_release(text));
}

}  // namespace
}  // namespace softmax_output

const FormedFamily kSoftmaxFamily = {&softmax_output::has, &softmax_output::output_of, &softmax_output::has_text};

}  // namespace reprobench
