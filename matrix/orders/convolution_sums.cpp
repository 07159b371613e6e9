#include "matrix/orders/convolution_sums.hpp"

#include <iterator>

namespace reprobench {
namespace {

// The places of a convolution's settings among its arguments.
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
  // With this axis of channels as two.
  std::vector<std::int64_t> in_groups(std::vector<std::int64_t> shape, std::size_t axis) const {
    shape[axis] /= groups;
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), groups);
    return shape;
  }
  std::vector<std::int64_t> output_shape() const {
    std::vector<std::int64_t> shape = {image[0], weight[0]};
    for (std::size_t d = 0; d < space(); ++d) {
      shape.push_back((image[d + 2] + 2 * padding[d] - dilation[d] * (weight[d + 2] - 1) - 1) / stride[d] + 1);
    }
    return shape;
  }
};

// Axes of operands of a layout with so many axes of its output and of its sum.
struct AxisMaker {
  std::size_t outputs;
  std::size_t sums;

  OperandAxis plain(std::int64_t size) const {
    return {size, std::vector<std::int64_t>(outputs, 0), std::vector<std::int64_t>(sums, 0)};
  }
  OperandAxis of_output(std::int64_t size, std::size_t place) const {
    OperandAxis axis = plain(size);
    axis.of_output[place] = 1;
    return axis;
  }
  OperandAxis of_sum(std::int64_t size, std::size_t place) const {
    OperandAxis axis = plain(size);
    axis.of_term[place] = 1;
    return axis;
  }
};

// Channels are group g and place in it, row-major: o is (g, p) and i is (g, j). Output (b, g, p, y...): sum over (j,
// k...) of image (b, g, j, y x stride + k x dilation - padding) times weight (g, p, j, k...).
SumLayout forward_layout(const Convolution& conv, int image, int weight) {
  SumLayout layout;
  layout.shape = conv.in_groups(conv.output_shape(), 1);
  layout.sums.assign(conv.weight.begin() + 1, conv.weight.end());
  const AxisMaker make{layout.shape.size(), layout.sums.size()};
  layout.left = {image,
                 {make.of_output(conv.image[0], 0), make.of_output(conv.groups, 1), make.of_sum(conv.inputs(), 0)}};
  layout.right = Operand{
      weight, {make.of_output(conv.groups, 1), make.of_output(conv.outputs(), 2), make.of_sum(conv.inputs(), 0)}};
  for (std::size_t d = 0; d < conv.space(); ++d) {
    OperandAxis place = make.plain(conv.image[d + 2]);
    place.of_output[d + 3] = conv.stride[d];
    place.of_term[d + 1] = conv.dilation[d];
    place.offset = -conv.padding[d];
    layout.left.axes.push_back(place);
    layout.right->axes.push_back(make.of_sum(conv.weight[d + 2], d + 1));
  }
  return layout;
}

// Image gradient (b, g, j, x...): sum over (p, k...) of the given (b, g, p, (x + padding - k x dilation) / stride)
// times weight (g, p, j, k...).
SumLayout image_gradient_layout(const Convolution& conv, int given, int weight) {
  SumLayout layout;
  layout.shape = conv.in_groups(conv.image, 1);
  layout.sums = conv.weight;
  layout.sums.erase(layout.sums.begin() + 1);
  layout.sums.front() = conv.outputs();
  const std::vector<std::int64_t> made = conv.output_shape();
  const AxisMaker make{layout.shape.size(), layout.sums.size()};
  layout.left = {given, {make.of_output(made[0], 0), make.of_output(conv.groups, 1), make.of_sum(conv.outputs(), 0)}};
  layout.right = Operand{
      weight, {make.of_output(conv.groups, 1), make.of_sum(conv.outputs(), 0), make.of_output(conv.inputs(), 2)}};
  for (std::size_t d = 0; d < conv.space(); ++d) {
    OperandAxis place = make.of_output(made[d + 2], d + 3);
    place.of_term[d + 1] = -conv.dilation[d];
    place.offset = conv.padding[d];
    place.divisor = conv.stride[d];
    layout.left.axes.push_back(place);
    layout.right->axes.push_back(make.of_sum(conv.weight[d + 2], d + 1));
  }
  return layout;
}

// Weight gradient (g, p, j, k...): sum over (b, y...) of the given (b, g, p, y...) times image (b, g, j, y x stride + k
// x dilation - padding).
SumLayout weight_gradient_layout(const Convolution& conv, int given, int image) {
  SumLayout layout;
  layout.shape = conv.in_groups(conv.weight, 0);
  const std::vector<std::int64_t> made = conv.output_shape();
  layout.sums = made;
  layout.sums.erase(layout.sums.begin() + 1);
  const AxisMaker make{layout.shape.size(), layout.sums.size()};
  layout.left = {given, {make.of_sum(made[0], 0), make.of_output(conv.groups, 0), make.of_output(conv.outputs(), 1)}};
  layout.right =
      Operand{image, {make.of_sum(conv.image[0], 0), make.of_output(conv.groups, 0), make.of_output(conv.inputs(), 2)}};
  for (std::size_t d = 0; d < conv.space(); ++d) {
    layout.left.axes.push_back(make.of_sum(made[d + 2], d + 1));
    OperandAxis seen = make.plain(conv.image[d + 2]);
    seen.of_term[d + 1] = conv.stride[d];
    seen.of_output[d + 3] = conv.dilation[d];
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
  if (is_transposed) {
    why_not = "transposed convolutions are not among the sums that are known";
    return std::nullopt;
  }
  if (conv.groups < 1 || conv.weight[0] % conv.groups != 0 || conv.image[1] != conv.groups * conv.weight[1]) {
    why_not = "its groups do not fit its channels";
    return std::nullopt;
  }
  const bool is_backward = places.gradient >= 0;
  const int given = is_backward ? call.number(static_cast<std::size_t>(places.gradient)) : call.seed();
  const auto is = [&](std::size_t argument, std::string_view of_backward) {
    return is_backward ? output == of_backward : gradient_of(output) == argument;
  };
  if (!is_backward && output == "output.0") {
    SumLayout layout = forward_layout(conv, call.number(places.image), call.number(places.weight));
    if (call.tensor(places.bias) != nullptr) {
      const AxisMaker make{layout.shape.size(), layout.sums.size()};
      layout.bias =
          Operand{call.number(places.bias), {make.of_output(conv.groups, 1), make.of_output(conv.outputs(), 2)}};
    }
    return layout;
  }
  if (is(places.image, "output.0")) return image_gradient_layout(conv, given, call.number(places.weight));
  if (is(places.weight, "output.1")) return weight_gradient_layout(conv, given, call.number(places.image));
  if (is(places.bias, "output.2")) return bias_gradient_layout(conv, given);
  why_not = "nothing is added up in it, as far as is known";
  return std::nullopt;
}

struct ConvolutionRow {
  std::string_view name;
  ConvolutionPlaces places;
};

constexpr ConvolutionRow kConvolutions[] = {
    {"conv1d", {0, 1, 2, 3, 4, 5, 6, {}, -1}},
    {"conv2d", {0, 1, 2, 3, 4, 5, 6, {}, -1}},
    {"conv3d", {0, 1, 2, 3, 4, 5, 6, {}, -1}},
    {"convolution", {0, 1, 2, 3, 4, 5, 8, 6, -1}},
    {"_convolution", {0, 1, 2, 3, 4, 5, 8, 6, -1}},
    {"_slow_conv2d_forward", {0, 1, 3, 4, 5, 99, 99, {}, -1}},
    {"_slow_conv2d_backward", {1, 2, 99, 4, 5, 99, 99, {}, 0}},
    {"mkldnn_convolution", {0, 1, 2, 4, 3, 5, 6, {}, -1}},
    {"convolution_backward", {1, 2, 99, 4, 5, 6, 9, 7, 0}},
};

const ConvolutionRow* find_row(std::string_view name) {
  const auto found = std::ranges::find(kConvolutions, name, &ConvolutionRow::name);
  return found == std::end(kConvolutions) ? nullptr : &*found;
}

}  // namespace

bool is_convolution(std::string_view name) { return find_row(name) != nullptr; }

std::optional<SumLayout> convolution_sum(const CallArguments& call, std::string_view output, std::string& why_not) {
  const std::string of_schema = output_of_schema(call.call(), output);
  return sum_of_convolution(find_row(call.call().name)->places, call, of_schema, why_not);
}

}  // namespace reprobench
