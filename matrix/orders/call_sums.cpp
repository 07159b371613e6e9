// Operators whose outputs are sums of products, and how: a row each. What has no row is not known to be such a sum.
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <utility>

#include "matrix/orders/sum_layout.hpp"

namespace reprobench {
namespace {

// A product in letters, as in Einstein's notation: "nk,ko->no" sums over k.
struct Letters {
  std::string_view left;
  std::string_view right;
  std::string_view output;
};

// A call's arguments by place.
class CallArguments {
 public:
  explicit CallArguments(const DeclaredCall& call) : call_(call) {
    for (const DeclaredArgument& argument : call.arguments) {
      if (const auto* tensor = std::get_if<DeclaredTensor>(&argument.value)) {
        tensors_.push_back({tensor, static_cast<int>(tensors_.size())});
      } else {
        tensors_.push_back({nullptr, -1});
        const auto* several = std::get_if<DeclaredTensors>(&argument.value);
        if (several != nullptr) has_list_ = true;
      }
    }
    int number = 0;
    for (auto& [tensor, place] : tensors_) place = tensor == nullptr ? -1 : number++;
  }

  bool has_list() const { return has_list_; }
  int seed() const {
    return static_cast<int>(std::count_if(tensors_.begin(), tensors_.end(), [](const auto& one) { return one.first; }));
  }
  const DeclaredTensor* tensor(std::size_t at) const { return at < tensors_.size() ? tensors_[at].first : nullptr; }
  int number(std::size_t at) const { return tensors_[at].second; }

  // Of a list of whole numbers, or one that stands for all; `otherwise` where it is not given.
  std::vector<std::int64_t> integers(std::size_t at, std::size_t count, std::int64_t otherwise) const {
    if (at < call_.arguments.size()) {
      const auto& value = call_.arguments[at].value;
      if (const auto* list = std::get_if<DeclaredIntegers>(&value)) {
        if (list->size() == count) return *list;
        if (list->size() == 1) return std::vector<std::int64_t>(count, list->front());
      }
      if (const auto* one = std::get_if<std::int64_t>(&value)) return std::vector<std::int64_t>(count, *one);
    }
    return std::vector<std::int64_t>(count, otherwise);
  }

  bool is_given(std::size_t at) const {
    return at < call_.arguments.size() && !std::holds_alternative<NoValue>(call_.arguments[at].value);
  }
  const DeclaredCall& call() const { return call_; }

 private:
  const DeclaredCall& call_;
  std::vector<std::pair<const DeclaredTensor*, int>> tensors_;
  bool has_list_ = false;
};

// Which tensor an output belongs to: "gradient.1" is 1, "output.0" is nothing.
std::optional<std::size_t> gradient_of(std::string_view output) {
  constexpr std::string_view kPrefix = "gradient.";
  if (!output.starts_with(kPrefix) || output.size() != kPrefix.size() + 1) return std::nullopt;
  return static_cast<std::size_t>(output.back() - '0');
}

using Sizes = std::map<char, std::int64_t>;

Operand operand(int tensor, std::string_view letters, const Sizes& sizes, std::string_view output,
                std::string_view summed) {
  Operand made{tensor, {}};
  for (const char letter : letters) {
    OperandAxis axis;
    axis.size = sizes.at(letter);
    axis.of_output.assign(output.size(), 0);
    axis.of_term.assign(summed.size(), 0);
    if (const auto at = output.find(letter); at != std::string_view::npos) axis.of_output[at] = 1;
    if (const auto at = summed.find(letter); at != std::string_view::npos) axis.of_term[at] = 1;
    made.axes.push_back(std::move(axis));
  }
  return made;
}

SumLayout product_layout(const Letters& letters, const Sizes& sizes, int left, int right) {
  std::string summed;
  for (const char letter : letters.left) {
    if (letters.output.find(letter) == std::string_view::npos) summed += letter;
  }
  SumLayout layout;
  for (const char letter : letters.output) layout.shape.push_back(sizes.at(letter));
  for (const char letter : summed) layout.sums.push_back(sizes.at(letter));
  layout.left = operand(left, letters.left, sizes, letters.output, summed);
  if (right >= 0) layout.right = operand(right, letters.right, sizes, letters.output, summed);
  return layout;
}

// A bias along the output's last axes; one of size 1 is the same everywhere.
Operand bias_operand(const DeclaredTensor& bias, int tensor, const SumLayout& layout) {
  Operand made{tensor, {}};
  const std::size_t ahead = layout.shape.size() - bias.shape.size();
  for (std::size_t i = 0; i < bias.shape.size(); ++i) {
    OperandAxis axis;
    axis.size = bias.shape[i];
    axis.of_output.assign(layout.shape.size(), 0);
    if (axis.size != 1) axis.of_output[ahead + i] = 1;
    made.axes.push_back(std::move(axis));
  }
  return made;
}

struct ProductRow {
  std::string_view name;
  std::size_t left;
  std::size_t right;
  std::optional<std::size_t> bias;
  Letters letters;
};

// `linear` has its weight the other way round. Where the first operand of a `linear` has more axes, they count as rows.
constexpr std::array<ProductRow, 8> kProducts = {{
    {"dot", 0, 1, {}, {"k", "k", ""}},
    {"mv", 0, 1, {}, {"nk", "k", "n"}},
    {"addmv", 1, 2, 0, {"nk", "k", "n"}},
    {"mm", 0, 1, {}, {"nk", "ko", "no"}},
    {"addmm", 1, 2, 0, {"nk", "ko", "no"}},
    {"bmm", 0, 1, {}, {"bnk", "bko", "bno"}},
    {"baddbmm", 1, 2, 0, {"bnk", "bko", "bno"}},
    {"linear", 0, 1, 2, {"nk", "ok", "no"}},
}};

// Leading axes that are only rows, as one: what lies row-major behind each other is the same element either way.
std::vector<std::int64_t> with_axes(std::vector<std::int64_t> shape, std::size_t axes) {
  while (shape.size() > axes) {
    shape[1] *= shape[0];
    shape.erase(shape.begin());
  }
  while (shape.size() < axes) shape.insert(shape.begin(), 1);
  return shape;
}

std::optional<SumLayout> sum_of_product(const ProductRow& row, const CallArguments& call, std::string_view output,
                                        std::string& why_not) {
  const DeclaredTensor* left = call.tensor(row.left);
  const DeclaredTensor* right = call.tensor(row.right);
  const DeclaredTensor* bias = row.bias ? call.tensor(*row.bias) : nullptr;
  if (left == nullptr || right == nullptr || right->shape.size() != row.letters.right.size()) {
    why_not = "it is called in a way that is not known to be one product";
    return std::nullopt;
  }
  Sizes sizes;
  const auto left_shape = with_axes(left->shape, row.letters.left.size());
  for (std::size_t i = 0; i < left_shape.size(); ++i) sizes[row.letters.left[i]] = left_shape[i];
  for (std::size_t i = 0; i < right->shape.size(); ++i) sizes[row.letters.right[i]] = right->shape[i];
  const auto gradient = gradient_of(output);
  const Letters& as = row.letters;
  if (output == "output.0") {
    SumLayout layout = product_layout(as, sizes, call.number(row.left), call.number(row.right));
    if (bias != nullptr) layout.bias = bias_operand(*bias, call.number(*row.bias), layout);
    return layout;
  }
  if (gradient == row.left) {
    return product_layout({as.output, as.right, as.left}, sizes, call.seed(), call.number(row.right));
  }
  if (gradient == row.right) {
    return product_layout({as.output, as.left, as.right}, sizes, call.seed(), call.number(row.left));
  }
  if (bias != nullptr && gradient == row.bias && bias->shape.size() < as.output.size()) {
    return product_layout({as.output, "", as.output.substr(as.output.size() - bias->shape.size())}, sizes, call.seed(),
                          -1);
  }
  why_not = "nothing is added up in it, as far as is known";
  return std::nullopt;
}

// Sums over some axes of one tensor; those that stay keep their places.
SumLayout sum_over(const std::vector<std::int64_t>& shape, const std::vector<bool>& is_summed, bool keeps, int tensor) {
  SumLayout layout;
  std::vector<std::size_t> kept;
  std::vector<std::size_t> summed;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    (is_summed[i] ? summed : kept).push_back(i);
    if (is_summed[i]) layout.sums.push_back(shape[i]);
    if (!is_summed[i]) layout.shape.push_back(shape[i]);
    if (is_summed[i] && keeps) layout.shape.push_back(1);
  }
  layout.left.tensor = tensor;
  std::size_t output = 0;
  std::size_t term = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    OperandAxis axis;
    axis.size = shape[i];
    axis.of_output.assign(layout.shape.size(), 0);
    axis.of_term.assign(layout.sums.size(), 0);
    if (is_summed[i]) axis.of_term[term++] = 1;
    if (!is_summed[i]) axis.of_output[output] = 1;
    output += !is_summed[i] || keeps ? 1 : 0;
    layout.left.axes.push_back(std::move(axis));
  }
  return layout;
}

std::optional<SumLayout> sum_of_axes(const CallArguments& call, std::string_view output, bool is_mean,
                                     std::string& why_not) {
  const DeclaredTensor* tensor = call.tensor(0);
  if (tensor == nullptr || output != "output.0") {
    why_not = "nothing is added up in it";
    return std::nullopt;
  }
  const std::size_t axes = tensor->shape.size();
  std::vector<bool> is_summed(axes, true);
  bool keeps = false;
  const auto& arguments = call.call().arguments;
  if (call.call().overload == "dim_IntList" || call.call().overload == "dim") {
    const auto* list = arguments.size() > 1 ? std::get_if<DeclaredIntegers>(&arguments[1].value) : nullptr;
    if (list != nullptr && !list->empty()) {
      is_summed.assign(axes, false);
      for (const std::int64_t axis : *list) {
        const auto at = static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(axes) : axis);
        if (at < axes) is_summed[at] = true;
      }
    }
    const auto* keep = arguments.size() > 2 ? std::get_if<bool>(&arguments[2].value) : nullptr;
    keeps = keep != nullptr && *keep;
  }
  SumLayout layout = sum_over(tensor->shape, is_summed, keeps, call.number(0));
  if (is_mean) layout.divisor = layout.most_terms();
  return layout;
}

// Where a convolution has its settings among its arguments.
struct ConvolutionPlaces {
  std::size_t image, weight, bias, stride, padding, dilation, groups;
  std::optional<std::size_t> transposed;
  int gradient = -1;  // of `convolution_backward`: the argument that is the gradient of the output
};

struct Convolution {
  std::vector<std::int64_t> image;   // (B, I, S...)
  std::vector<std::int64_t> weight;  // (O, I / groups, K...)
  std::vector<std::int64_t> stride, padding, dilation;
  std::int64_t groups = 1;

  std::size_t space() const { return image.size() - 2; }
  std::int64_t inputs() const { return image[1] / groups; }  // channels of a group
  std::int64_t outputs() const { return weight[0] / groups; }
  std::vector<std::int64_t> output_shape() const {
    std::vector<std::int64_t> shape = {image[0], weight[0]};
    for (std::size_t d = 0; d < space(); ++d) {
      shape.push_back((image[d + 2] + 2 * padding[d] - dilation[d] * (weight[d + 2] - 1) - 1) / stride[d] + 1);
    }
    return shape;
  }
};

// Output (b, o, y...): sum over (i, k...) of image (b, i, y x stride + k x dilation - padding) times weight (o, i,
// k...).
SumLayout forward_layout(const Convolution& conv, int image, int weight) {
  SumLayout layout;
  layout.shape = conv.output_shape();
  layout.sums.assign(conv.weight.begin() + 1, conv.weight.end());
  const std::size_t out = layout.shape.size();
  const std::size_t in = layout.sums.size();
  const auto axis = [&](std::int64_t size) {
    return OperandAxis{size, std::vector<std::int64_t>(out, 0), std::vector<std::int64_t>(in, 0)};
  };
  OperandAxis batch = axis(conv.image[0]);
  batch.of_output[0] = 1;
  OperandAxis channel = axis(conv.image[1]);
  channel.of_term[0] = 1;
  layout.left = {image, {batch, channel}};
  OperandAxis output = axis(conv.weight[0]);
  output.of_output[1] = 1;
  OperandAxis within = axis(conv.weight[1]);
  within.of_term[0] = 1;
  layout.right = Operand{weight, {output, within}};
  for (std::size_t d = 0; d < conv.space(); ++d) {
    OperandAxis place = axis(conv.image[d + 2]);
    place.of_output[d + 2] = conv.stride[d];
    place.of_term[d + 1] = conv.dilation[d];
    place.offset = -conv.padding[d];
    layout.left.axes.push_back(place);
    OperandAxis kernel = axis(conv.weight[d + 2]);
    kernel.of_term[d + 1] = 1;
    layout.right->axes.push_back(kernel);
  }
  return layout;
}

// Image gradient (b, i, x...): sum over (o, k...) of the given (b, o, (x + padding - k x dilation) / stride) times
// weight (o, i, k...).
SumLayout image_gradient_layout(const Convolution& conv, int given, int weight) {
  SumLayout layout;
  layout.shape = conv.image;
  layout.sums = conv.weight;
  layout.sums.erase(layout.sums.begin() + 1);
  const std::vector<std::int64_t> made = conv.output_shape();
  const std::size_t out = layout.shape.size();
  const std::size_t in = layout.sums.size();
  const auto axis = [&](std::int64_t size) {
    return OperandAxis{size, std::vector<std::int64_t>(out, 0), std::vector<std::int64_t>(in, 0)};
  };
  OperandAxis batch = axis(made[0]);
  batch.of_output[0] = 1;
  OperandAxis channel = axis(made[1]);
  channel.of_term[0] = 1;
  layout.left = {given, {batch, channel}};
  OperandAxis output = axis(conv.weight[0]);
  output.of_term[0] = 1;
  OperandAxis within = axis(conv.weight[1]);
  within.of_output[1] = 1;
  layout.right = Operand{weight, {output, within}};
  for (std::size_t d = 0; d < conv.space(); ++d) {
    OperandAxis place = axis(made[d + 2]);
    place.of_output[d + 2] = 1;
    place.of_term[d + 1] = -conv.dilation[d];
    place.offset = conv.padding[d];
    place.divisor = conv.stride[d];
    layout.left.axes.push_back(place);
    OperandAxis kernel = axis(conv.weight[d + 2]);
    kernel.of_term[d + 1] = 1;
    layout.right->axes.push_back(kernel);
  }
  return layout;
}

// Weight gradient (o, i, k...): sum over (b, y...) of the given (b, o, y...) times image (b, i, y x stride + k x
// dilation
// - padding).
SumLayout weight_gradient_layout(const Convolution& conv, int given, int image) {
  SumLayout layout;
  layout.shape = conv.weight;
  const std::vector<std::int64_t> made = conv.output_shape();
  layout.sums = made;
  layout.sums.erase(layout.sums.begin() + 1);
  const std::size_t out = layout.shape.size();
  const std::size_t in = layout.sums.size();
  const auto axis = [&](std::int64_t size) {
    return OperandAxis{size, std::vector<std::int64_t>(out, 0), std::vector<std::int64_t>(in, 0)};
  };
  OperandAxis batch = axis(made[0]);
  batch.of_term[0] = 1;
  OperandAxis channel = axis(made[1]);
  channel.of_output[0] = 1;
  layout.left = {given, {batch, channel}};
  OperandAxis source = axis(conv.image[0]);
  source.of_term[0] = 1;
  OperandAxis within = axis(conv.image[1]);
  within.of_output[1] = 1;
  layout.right = Operand{image, {source, within}};
  for (std::size_t d = 0; d < conv.space(); ++d) {
    OperandAxis place = axis(made[d + 2]);
    place.of_term[d + 1] = 1;
    layout.left.axes.push_back(place);
    OperandAxis seen = axis(conv.image[d + 2]);
    seen.of_term[d + 1] = conv.stride[d];
    seen.of_output[d + 2] = conv.dilation[d];
    seen.offset = -conv.padding[d];
    layout.right->axes.push_back(seen);
  }
  return layout;
}

SumLayout bias_gradient_layout(const Convolution& conv, int given) {
  const std::vector<std::int64_t> made = conv.output_shape();
  std::vector<bool> is_summed(made.size(), true);
  is_summed[1] = false;
  return sum_over(made, is_summed, false, given);
}

std::optional<SumLayout> sum_of_convolution(const ConvolutionPlaces& places, const CallArguments& call,
                                            std::string_view output, std::string& why_not) {
  const DeclaredTensor* image = call.tensor(places.image);
  const DeclaredTensor* weight = call.tensor(places.weight);
  if (image == nullptr || weight == nullptr || image->shape.size() != weight->shape.size() || image->shape.size() < 3) {
    why_not = "it is called in a way that is not known to be one convolution";
    return std::nullopt;
  }
  Convolution conv;
  conv.image = image->shape;
  conv.weight = weight->shape;
  const std::size_t space = conv.space();
  conv.stride = call.integers(places.stride, space, 1);
  conv.padding = call.integers(places.padding, space, 0);
  conv.dilation = call.integers(places.dilation, space, 1);
  conv.groups = call.integers(places.groups, 1, 1).front();
  const auto& arguments = call.call().arguments;
  const bool is_transposed = places.transposed && *places.transposed < arguments.size() &&
                             std::get_if<bool>(&arguments[*places.transposed].value) != nullptr &&
                             *std::get_if<bool>(&arguments[*places.transposed].value);
  if (conv.groups != 1 || is_transposed) {
    why_not = conv.groups != 1 ? "convolutions in groups are not among the sums that are known"
                               : "transposed convolutions are not among the sums that are known";
    return std::nullopt;
  }
  const bool is_backward = places.gradient >= 0;
  const int given = is_backward ? call.number(static_cast<std::size_t>(places.gradient)) : call.seed();
  const auto is = [&](std::size_t argument, std::string_view of_backward) {
    return is_backward ? output == of_backward : gradient_of(output) == argument;
  };
  if (!is_backward && output == "output.0") {
    SumLayout layout = forward_layout(conv, call.number(places.image), call.number(places.weight));
    if (const DeclaredTensor* bias = call.tensor(places.bias); bias != nullptr) {
      OperandAxis axis{bias->shape.at(0), std::vector<std::int64_t>(layout.shape.size(), 0),
                       std::vector<std::int64_t>(layout.sums.size(), 0)};
      axis.of_output[1] = 1;
      layout.bias = Operand{call.number(places.bias), {axis}};
    }
    return layout;
  }
  if (is(places.image, "output.0")) return image_gradient_layout(conv, given, call.number(places.weight));
  if (is(places.weight, "output.1")) return weight_gradient_layout(conv, given, call.number(places.image));
  if (is(places.bias, "output.2")) return bias_gradient_layout(conv, given);
  why_not = "nothing is added up in it, as far as is known";
  return std::nullopt;
}

constexpr ConvolutionPlaces kConvolutionOfSpace{0, 1, 2, 3, 4, 5, 6, {}, -1};  // conv1d, conv2d, conv3d
constexpr ConvolutionPlaces kConvolution{0, 1, 2, 3, 4, 5, 8, 6, -1};          // convolution
constexpr ConvolutionPlaces kOneDnnConvolution{0, 1, 2, 4, 3, 5, 6, {}, -1};   // mkldnn_convolution
constexpr ConvolutionPlaces kConvolutionBackward{1, 2, 99, 4, 5, 6, 9, 7, 0};  // convolution_backward

}  // namespace

std::optional<SumLayout> sum_layout(const DeclaredCall& call, std::string_view output, std::string& why_not) {
  const CallArguments arguments(call);
  const bool is_named =
      std::any_of(call.arguments.begin(), call.arguments.end(), [](const auto& one) { return !one.name.empty(); });
  if (arguments.has_list() || is_named) {
    why_not = "it is called with lists of tensors or named arguments, whose sums are not known";
    return std::nullopt;
  }
  for (const ProductRow& row : kProducts) {
    if (call.name == row.name) return sum_of_product(row, arguments, output, why_not);
  }
  if (call.name == "sum" || call.name == "mean") {
    return sum_of_axes(arguments, output, call.name == "mean", why_not);
  }
  if (call.name == "conv1d" || call.name == "conv2d" || call.name == "conv3d") {
    return sum_of_convolution(kConvolutionOfSpace, arguments, output, why_not);
  }
  if (call.name == "convolution") return sum_of_convolution(kConvolution, arguments, output, why_not);
  if (call.name == "mkldnn_convolution") return sum_of_convolution(kOneDnnConvolution, arguments, output, why_not);
  if (call.name == "convolution_backward") return sum_of_convolution(kConvolutionBackward, arguments, output, why_not);
  why_not = "`" + call.name + "` is not among the operators whose results are known to be sums";
  return std::nullopt;
}

}  // namespace reprobench
