// The order in which a stack adds up single calls, on the CPU. Which order it is depends on library and processor; that
// it gives the results, and that another one does not, holds on all of them.
#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/_softmax_backward_data.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/native_batch_norm.h>
#include <ATen/ops/native_batch_norm_backward.h>
#include <ATen/ops/native_layer_norm.h>
#include <ATen/ops/native_layer_norm_backward.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>

#include "ci/catch.hpp"
#include "matrix/contract/probe.hpp"
#include "matrix/orders/summation_tree.hpp"
#include "suites/worker/probes/call_order_fixture.hpp"
#include "suites/worker/probes/call_order_probe.hpp"
#include "suites/worker/probes/captured_call_order.hpp"
#include "suites/worker/probes/order_operands.hpp"
#include "suites/worker/probes/order_time.hpp"
#include "suites/worker/probes/probe.hpp"
#include "suites/worker/probes/single_call.hpp"
#include "suites/worker/temporary_folder.hpp"

namespace reprobench {
namespace call_order_test {
namespace {

using test::is_known;

const c10::Device kCpu(at::kCPU);

OrderLayout layout_for(const DeclaredCall& call, const std::string& output) {
  std::string why_not;
  const auto layout = order_layout(call, output, why_not);
  CAPTURE(call.text, why_not);
  REQUIRE(layout);
  return *layout;
}

at::Tensor recorded(const SingleCall& call, const std::string& output) {
  const MadeTensors made = call.run(false);
  return std::find_if(made.begin(), made.end(), [&](const auto& one) { return one.first == output; })->second;
}

CallOrder order_for(const std::string& text, const std::string& output = "output.0", const OrderLimits& limits = {}) {
  const DeclaredCall call = parse_call(text);
  const SingleCall single(call, {1, kCpu});
  const at::Tensor first = recorded(single, "output.0");
  const auto tensors = single.drawn_tensors(output == "output.0" ? nullptr : &first);
  return order_of_call(single, layout_for(call, output), output, {tensors, recorded(single, output)}, 1, limits);
}

TEST_CASE("sums and products give the bits that their order gives, on 1000 random inputs", "[probe]") {
  is_known("sum(f32[100])", "output.0", 100, 1);
  is_known("mean.dim(f32[7, 33], [1], true)", "output.0", 33, 7);
  is_known("dot(f32[70], f32[70])", "output.0", 70, 1);
  is_known("mm(f32[9, 40], f32[40, 11])", "output.0", 40, 99);
  is_known("mm(f64[9, 40], f64[40, 11])", "output.0", 40, 99);
  is_known("addmm(f32[11], f32[9, 40], f32[40, 11])", "output.0", 41, 99);
  is_known("linear(f32[2, 5, 40], f32[11, 40], f32[11])", "output.0", 41, 110);
  is_known("sum(f64[100])", "output.0", 100, 1);
}

TEST_CASE("the order of gradients is read too, with what the backward pass was given", "[probe]") {
  is_known("mm(f32[9, 40], f32[40, 11])", "gradient.0", 11, 360);
  is_known("mm(f32[9, 40], f32[40, 11])", "gradient.1", 9, 440);
  is_known("addmm(f32[11], f32[9, 40], f32[40, 11])", "gradient.0", 9, 11);
  is_known("linear(f32[2, 5, 40], f32[11, 40])", "gradient.1", 10, 440);
}

TEST_CASE("16-bit results, which hide the order of most inputs, are checked by inputs that cancel", "[probe]") {
  for (const char* const call : {"mm(bf16[9, 300], bf16[300, 11])", "mm(f16[9, 40], f16[40, 11])"}) {
    const CallOrder order = order_for(call);
    CAPTURE(call, order.problem);
    // Instructions that add more than two terms at once have no such order, and say so.
    CHECK(order.is_known() == order.problem.empty());
    CHECK(order.not_replayed == 0);
  }
}

TEST_CASE("places outside of a padded image are terms that are not there", "[probe]") {
  const CallOrder order = order_for("conv2d(f32[2, 3, 6, 6], f32[4, 3, 3, 3], f32[4], [1, 1], [1, 1])");
  CAPTURE(order.problem);
  if (!order.is_known()) {  // a fast convolution is no such sum
    CHECK_FALSE(order.problem.empty());
    return;
  }
  CHECK(order.elements == 2 * 4 * 6 * 6);
  CHECK(order.replayed == order.elements);
}

TEST_CASE("another order does not give the results, nor does the same with one product joined otherwise", "[probe]") {
  const DeclaredCall call = parse_call("mm(f32[9, 40], f32[40, 11])");
  const SingleCall single(call, {1, kCpu});
  const auto layout = std::get<SumLayout>(layout_for(call, "output.0"));
  const CallOrder known = order_for(call.text);
  REQUIRE(known.is_known());
  OrderOperands operands(single, layout, "output.0");
  const auto differing = [&](const SummationTree& order, bool cancels) {
    int count = 0;
    for (int round = 0; round < 20; ++round) {
      operands.draw(1, round, cancels);
      REQUIRE(operands.take_terms(known.classes.front().first_element, 40));
      count += operands.replays(order, SumEnd::as_it_is) ? 0 : 1;
    }
    return count;
  };
  const SummationTree right = parse_order(known.classes.front().order);
  CHECK(differing(right, false) == 0);
  CHECK(differing(right, true) == 0);
  SummationTree reversed = right;
  for (OrderNode& node : reversed.nodes) {
    if (node.is_leaf()) node.term = 39 - node.term;
  }
  CHECK(differing(reversed, true) > 10);
  SummationTree joined_otherwise = right;
  for (OrderNode& node : joined_otherwise.nodes) {
    if (node.is_leaf() && node.term > 20) node.fused = false;
  }
  const bool is_fused = order_text(joined_otherwise) != order_text(right);
  CHECK((differing(joined_otherwise, true) > 0) == is_fused);
}

TEST_CASE("a result that its own order does not give is told, with the element", "[probe]") {
  const DeclaredCall call = parse_call("mm(f32[9, 40], f32[40, 11])");
  const SingleCall single(call, {1, kCpu});
  at::Tensor result = recorded(single, "output.0").clone();
  static_cast<float*>(result.data_ptr())[17] *= 1 + 0x1p-22F;
  const CallOrder order =
      order_of_call(single, layout_for(call, "output.0"), "output.0", {single.drawn_tensors(), result}, 1);
  REQUIRE(order.is_known());
  CHECK(order.not_replayed == 1);
  CHECK(order.first_not_replayed == 17);
  CHECK(order.replayed == 98);
}

TEST_CASE("an order that takes too long, or has too many classes, is not known and says so", "[probe]") {
  OrderLimits limits;
  limits.seconds = 0;
  CHECK(order_for("sum(f32[100])", "output.0", limits).problem == "it takes longer than 0 s");
  limits = {};
  limits.classes = 0;
  CHECK(order_for("sum(f32[100])", "output.0", limits).problem == "more than 0 orders in one output");
}

TEST_CASE("waiting for a busy host costs a search a fifth of what computing does", "[probe]") {
  using std::chrono::milliseconds;
  const OrderTime waiting(0.1);
  std::this_thread::sleep_for(milliseconds(150));
  CHECK_NOTHROW(waiting.check());
  std::this_thread::sleep_for(milliseconds(400));
  CHECK_THROWS_AS(waiting.check(), OrderNotKnown);
  const OrderTime computing(0.04);
  const auto compute_on = [&] {
    while (computing.taken() < milliseconds(10'000)) computing.check();
  };
  CHECK_THROWS_AS(compute_on(), OrderNotKnown);
}

TEST_CASE("a call of a training is read in the same way, and held against what it made of its own inputs", "[probe]") {
  const at::Tensor left = at::randn({9, 40});
  const at::Tensor right = at::randn({11, 40}).t();  // as a weight lies
  OperatorCall call;
  call.name = "aten::mm";
  call.inputs = {left, right};
  const at::Tensor made = at::mm(left, right);
  call.outputs = {made};
  const auto orders = orders_of_captured(call, call.inputs);
  REQUIRE(orders.size() == 1);
  CAPTURE(orders[0].second.problem);
  REQUIRE(orders[0].second.is_known());
  CHECK(orders[0].second.replayed == 99);
  CHECK(orders[0].second.not_replayed == 0);
  at::Tensor not_finite = left.clone();
  static_cast<float*>(not_finite.data_ptr())[3] = std::numeric_limits<float>::quiet_NaN();
  call.inputs = {not_finite, right};
  call.outputs = {at::mm(not_finite, right)};  // a row of NaN
  CHECK(orders_of_captured(call, call.inputs)[0].second.not_replayed == 0);
  call.inputs = {left, right};
  at::Tensor other = made.clone();
  static_cast<float*>(other.data_ptr())[98] *= 1 + 0x1p-22F;
  call.outputs = {other};
  CHECK(orders_of_captured(call, call.inputs)[0].second.first_not_replayed == 98);
}

// A training goes on with what it called an operator on, and an explanation compares it with what is on record.
TEST_CASE("an element that no order gives is asked by itself, and what is on record stays as it was", "[probe]") {
  const at::Tensor left = at::randn({300, 70});
  const at::Tensor right = at::randn({70, 300});
  OperatorCall call;
  call.name = "aten::mm";
  call.inputs = {left, right};
  at::Tensor made = at::mm(left, right);
  static_cast<float*>(made.data_ptr())[77 * 300 + 123] *= 1 + 0x1p-20F;
  call.outputs = {made};
  const at::Tensor before[] = {left.clone(), right.clone(), made.clone()};
  const auto orders = orders_of_captured(call, call.inputs);
  CAPTURE(orders[0].second.problem);
  REQUIRE(orders[0].second.is_known());
  CHECK(orders[0].second.replayed == 300 * 300 - 1);
  CHECK(orders[0].second.not_replayed == 1);
  CHECK(orders[0].second.first_not_replayed == 77 * 300 + 123);
  CHECK(at::equal(left, before[0]));
  CHECK(at::equal(right, before[1]));
  CHECK(at::equal(made, before[2]));
}

TEST_CASE("a layer norm's rounding is found among its forms, for each output", "[probe]") {
  // Widths of no vector, of some and a rest, of one chunk, and of a chunk that is not full.
  for (const std::string width : {"5", "40", "257", "699"}) {
    const std::string call =
        "native_layer_norm(f32[6, 9, " + width + "], [" + width + "], f32[" + width + "], f32[" + width + "], 1e-5)";
    is_known(call, "output.0", std::stoll(width), 54 * std::stoll(width));
    is_known(call, "output.1", std::stoll(width), 54);
    is_known(call, "output.2", std::stoll(width), 54);
    is_known(call, "gradient.0", std::stoll(width), 54 * std::stoll(width));
    is_known(call, "gradient.2", 54, std::stoll(width));
  }
  is_known("native_layer_norm(f32[70, 40], [40], f32[40], f32[40], 1e-5)", "gradient.3", 70, 40);
  is_known("native_layer_norm(f32[70, 40], [40], none, none, 1e-5)", "output.0", 40, 2800);
  is_known("native_layer_norm(f32[70, 40] strides [1, 70], [40], f32[40], none, 0.5)", "output.0", 40, 2800);
}

TEST_CASE("a group norm and its gradients are found among their forms", "[probe]") {
  // Channels of no vector, of one and a rest, and of several; groups of one channel, of a few, and of more than a
  // vector.
  for (const auto& [channels, pixels, groups] : {std::tuple(6, 5, 3), {8, 37, 8}, {40, 64, 2}, {64, 256, 32}}) {
    const std::string sizes = std::to_string(channels) + ", " + std::to_string(pixels);
    const std::string one_each = "f32[" + std::to_string(channels) + "]";
    const std::string call = "native_group_norm(f32[4, " + sizes + "], " + one_each + ", " + one_each + ", 4, " +
                             sizes + ", " + std::to_string(groups) + ", 1e-5)";
    const std::int64_t of_group = channels / groups * pixels;
    is_known(call, "output.0", of_group, 4 * channels * pixels);
    is_known(call, "output.1", of_group, 4 * groups);
    is_known(call, "output.2", of_group, 4 * groups);
    is_known(call, "gradient.0", of_group, 4 * channels * pixels);
    is_known(call, "gradient.1", 4 * pixels, channels);
    is_known(call, "gradient.2", 4 * pixels, channels);
  }
  is_known("native_group_norm(f32[4, 6, 40], none, none, 4, 6, 40, 3, 1e-5)", "output.0", 80, 960);
}

TEST_CASE("a layer norm of a training is held against what it made, element by element", "[probe]") {
  const at::Tensor x = at::randn({30, 64});
  const at::Tensor weight = at::randn({64});
  const at::Tensor bias = at::randn({64});
  OperatorCall call;
  call.name = "aten::native_layer_norm";
  call.inputs = {x, at::IntArrayRef{64}, weight, bias, 1e-5};
  const auto [y, mean, inverse] = at::native_layer_norm(x, {64}, weight, bias, 1e-5);
  call.outputs = {y, mean, inverse};
  const auto right = orders_of_captured(call, call.inputs);
  REQUIRE(right.size() == 3);
  for (const auto& [output, order] : right) {
    CAPTURE(output, order.problem);
    REQUIRE(order.is_known());
    CHECK(order.replayed == (output == 0 ? 30 * 64 : 30));
    CHECK(order.not_replayed == 0);
  }
  at::Tensor other = y.clone();
  static_cast<float*>(other.data_ptr())[100] *= 1 + 0x1p-22F;
  static_cast<float*>(other.data_ptr())[101] *= 1 + 0x1p-22F;
  at::Tensor other_mean = mean.clone();
  static_cast<float*>(other_mean.data_ptr())[29] *= 1 + 0x1p-22F;
  call.outputs = {other, other_mean, inverse};
  const auto wrong = orders_of_captured(call, call.inputs);
  CHECK(wrong[0].second.first_not_replayed == 100);
  CHECK(wrong[0].second.not_replayed == 2);
  CHECK(wrong[0].second.replayed == 30 * 64 - 2);
  CHECK(wrong[1].second.first_not_replayed == 29);
  CHECK(wrong[2].second.not_replayed == 0);
}

TEST_CASE("the backward pass of a layer norm is held against what it made of the mean that it was given", "[probe]") {
  for (const std::int64_t width : {5, 64, 257}) {
    const at::Tensor x = at::randn({30, width});
    const at::Tensor dy = at::randn({30, width});
    const at::Tensor weight = at::randn({width});
    const at::Tensor bias = at::randn({width});
    const auto [y, mean, inverse] = at::native_layer_norm(x, {width}, weight, bias, 1e-5);
    const auto [dx, of_weight, of_bias] =
        at::native_layer_norm_backward(dy, x, {width}, mean, inverse, weight, bias, {true, true, true});
    OperatorCall call;
    call.name = "aten::native_layer_norm_backward";
    call.inputs = {dy, x, at::IntArrayRef{width}, mean, inverse, weight, bias, c10::List<bool>{true, true, true}};
    call.outputs = {dx, of_weight, of_bias};
    const auto right = orders_of_captured(call, call.inputs);
    REQUIRE(right.size() == 3);
    for (const auto& [output, order] : right) {
      CAPTURE(width, output, order.problem);
      REQUIRE(order.is_known());
      CHECK(order.replayed == (output == 0 ? 30 * width : width));
      CHECK(order.not_replayed == 0);
    }
    at::Tensor other = dx.clone();
    static_cast<float*>(other.data_ptr())[29 * width + 2] *= 1 + 0x1p-21F;
    call.outputs = {other, of_weight, of_bias};
    CHECK(orders_of_captured(call, call.inputs)[0].second.first_not_replayed == 29 * width + 2);
  }
}

TEST_CASE("a softmax, its gradient and both of a log softmax are found among their forms", "[probe]") {
  // Widths of no vector, of one and a rest, and of several.
  for (const std::string width : {"5", "17", "128"}) {
    const std::int64_t terms = std::stoll(width);
    for (const std::string name : {"_softmax", "_log_softmax"}) {
      const std::string call = name + "(f32[6, 9, " + width + "], -1, false)";
      is_known(call, "output.0", terms, 54 * terms);
      is_known(call, "gradient.0", terms, 54 * terms);
      const std::string tensor = "f32[54, " + width + "] constant";
      is_known(name + "_backward_data(" + tensor + ", " + tensor + ", 1, 6)", "output.0", terms, 54 * terms);
    }
  }
}

TEST_CASE("a batch norm of a training and its gradients are found among their forms", "[probe]") {
  const auto call = [](const std::string& image) {
    return "native_batch_norm(" + image + ", f32[64], f32[64], f32[64] constant, f32[64] constant, true, 0.1, 1e-5)";
  };
  for (const auto& [image, terms] : {std::pair("f32[3, 64, 5, 5]", 75), {"f32[30, 64]", 30}}) {
    is_known(call(image), "output.0", terms, 64 * terms);
    is_known(call(image), "output.1", terms, 64);
    is_known(call(image), "output.2", terms, 64);
    is_known(call(image), "gradient.0", terms, 64 * terms);
    is_known(call(image), "gradient.1", terms, 64);
    is_known(call(image), "gradient.2", terms, 64);
  }
  // Channels that lie last, as in channels_last.
  const std::string last = "f32[3, 64, 5, 5] strides [1600, 1, 320, 64]";
  for (const char* output : {"output.0", "output.1", "output.2"}) {
    is_known(call(last), output, 75, std::string_view(output) == "output.0" ? 4800 : 64);
  }
  const std::string backward = "native_batch_norm_backward(" + last + " constant, " + last +
                               " constant, f32[64] constant, f32[64] constant, f32[64] constant, f32[64] constant, "
                               "f32[64] constant, true, 1e-5, [true, true, true])";
  is_known(backward, "output.0", 75, 4800);
  is_known(backward, "output.1", 75, 64);
  is_known(backward, "output.2", 75, 64);
}

TEST_CASE("an element of a gradient that is off by its last bits is told, and all others are given", "[probe]") {
  const auto only_wrong = [](OperatorCall& call, std::size_t output, std::int64_t element) {
    const auto right = orders_of_captured(call, call.inputs);
    CAPTURE(call.name, right.at(output).second.problem);
    REQUIRE(right[output].second.is_known());
    CHECK(right[output].second.not_replayed == 0);
    at::Tensor other = call.outputs.at(output).toTensor().clone();
    static_cast<float*>(other.data_ptr())[element] *= 1 + 0x1p-21F;
    call.outputs[output] = other;
    const auto wrong = orders_of_captured(call, call.inputs);
    CHECK(wrong[output].second.not_replayed == 1);
    CHECK(wrong[output].second.first_not_replayed == element);
  };
  const at::Tensor dy = at::randn({30, 65});
  const at::Tensor y = at::randn({30, 65});
  OperatorCall softmax;
  softmax.name = "aten::_softmax_backward_data";
  softmax.inputs = {dy, y, 1, static_cast<std::int64_t>(at::kFloat)};
  softmax.outputs = {at::_softmax_backward_data(dy, y, 1, at::kFloat)};
  only_wrong(softmax, 0, 29 * 65 + 3);
  const at::Tensor x = at::randn({4, 64, 7, 7});
  const at::Tensor given = at::randn({4, 64, 7, 7});
  const at::Tensor weight = at::randn({64});
  const at::Tensor none = at::zeros({64});
  const at::Tensor variance = at::zeros({64}).fill_(1);
  const auto [scaled, mean, inverse] = at::native_batch_norm(x, weight, none, none, variance, true, 0.1, 1e-5);
  const auto [dx, of_weight, of_bias] =
      at::native_batch_norm_backward(given, x, weight, none, variance, mean, inverse, true, 1e-5, {true, true, true});
  OperatorCall norm;
  norm.name = "aten::native_batch_norm_backward";
  norm.inputs = {given, x, weight, none, variance, mean, inverse, true, 1e-5, c10::List<bool>{true, true, true}};
  for (std::size_t output = 0; output < 3; ++output) {
    norm.outputs = {dx, of_weight, of_bias};
    only_wrong(norm, output, output == 0 ? 5 * 49 + 7 : 5);
  }
}

TEST_CASE("what is one term has nothing to be added in another order", "[probe]") {
  is_known("sum(f32[7, 20])", "gradient.0", 1, 140);
  is_known("mean.dim(f32[7, 33], [1], true)", "gradient.0", 1, 231);
  is_known("addmm(f32[9, 11], f32[9, 40], f32[40, 11])", "gradient.0", 1, 99);
  CHECK(order_for("sum(f32[7, 20])", "gradient.0").classes.front().order == "0");
}

TEST_CASE("a convolution in groups adds up the channels of its own group", "[probe]") {
  const std::string call = "conv2d(f32[2, 8, 9, 9], f32[12, 2, 3, 3], f32[12], [1, 1], [0, 0], [1, 1], 4)";
  for (const auto& [output, elements] : {std::pair("output.0", 2 * 12 * 7 * 7),
                                         {"gradient.0", 2 * 8 * 9 * 9},
                                         {"gradient.1", 12 * 2 * 3 * 3},
                                         {"gradient.2", 12}}) {
    const CallOrder order = order_for(call, output);
    CAPTURE(output, order.problem);
    CHECK(order.not_replayed == 0);
    if (order.is_known()) CHECK(order.replayed == elements);
  }
}

TEST_CASE("a gradient that a mask leaves out moves no other to its place", "[probe]") {
  const at::Tensor image = at::randn({2, 3, 8, 8});
  const at::Tensor weight = at::randn({4, 3, 3, 3});
  const at::Tensor given = at::randn({2, 4, 6, 6});
  const at::IntArrayRef one{1, 1};
  const at::IntArrayRef none{0, 0};
  OperatorCall call;
  call.name = "aten::convolution_backward";
  const auto [of_image, of_weight, of_bias] = at::convolution_backward(given, image, weight, at::IntArrayRef{4}, one,
                                                                       none, one, false, none, 1, {false, true, true});
  call.inputs = {
      given, image, weight, at::IntArrayRef{4}, one, none, one, false, none, 1, c10::List<bool>{false, true, true}};
  call.outputs = {of_image, of_weight, of_bias};
  const auto orders = orders_of_captured(call, call.inputs);
  REQUIRE(orders.size() == 2);
  for (const auto& [output, order] : orders) {
    CAPTURE(output, order.problem);
    CHECK((!order.is_known() || order.not_replayed == 0));
    CHECK(order.problem != "the output has another shape than the call is known to make");
    if (order.is_known()) CHECK(order.replayed == (output == 0 ? 4 * 3 * 3 * 3 : 4));
  }
}

TEST_CASE("a result of another shape than the call makes is not read", "[probe]") {
  const DeclaredCall call = parse_call("mm(f32[9, 40], f32[40, 11])");
  const SingleCall single(call, {1, kCpu});
  const at::Tensor made = at::zeros({9, 10});
  const auto tensors = single.drawn_tensors();
  CHECK(order_of_call(single, layout_for(call, "output.0"), "output.0", {tensors, made}, 1).problem ==
        "the output has another shape than the call is known to make");
}

TEST_CASE("of a call that is no sum it is told why, of one that cannot be made alone nothing", "[probe]") {
  const at::Tensor tensor = at::randn({4, 4});
  OperatorCall call;
  call.outputs = {tensor};
  const auto count = [&](const char* name, std::vector<c10::IValue> inputs) {
    call.name = name;
    call.inputs = std::move(inputs);
    return orders_of_captured(call, call.inputs).size();
  };
  CHECK(count("aten::mm", {tensor, tensor}) == 1);
  CHECK(count("aten::relu", {tensor}) == 1);
  CHECK(orders_of_captured(call, call.inputs)[0].second.problem ==
        "`relu` is not among the operators whose results are known to be sums");
  CHECK(count("custom::mm", {tensor, tensor}) == 0);
  CHECK(count("aten::mm", {tensor, at::randn({4, 1}).expand({4, 4})}) == 0);  // elements that share memory
  CHECK(count("aten::mm", {tensor, tensor.to(at::kLong)}) == 0);
  call.is_backward_node = true;
  CHECK(count("aten::mm", {tensor, tensor}) == 0);
}

TEST_CASE("the preset `orders` tells of every output its order or why it has none, and `base` of none", "[probe]") {
  CellRequest request;
  request.cell_id = "3f9c1e0a7b52";
  request.nonce = "0123456789abcdef";
  request.workload = {"", std::string(kOrdersPreset), 0, 0, "operators", 1};
  request.workload.calls = {"mm(f32[4, 8], f32[8, 4])", "relu(f32[4])", "native_dropout(f32[8, 8], 0.5, true)"};
  request.device = "cpu";
  request.knobs = with_defaults({});
  const auto run = [&] {
    const TemporaryFolder folder;
    CellResult result;
    run_probe(request, folder.path(), result);
    return result.measurements;
  };
  const auto measured = run();
  REQUIRE(measured.size() == 3);
  for (const CallOutput& output : measured[0].call->outputs) {
    REQUIRE(output.order);
    CAPTURE(output.name, output.order->problem);
    CHECK(output.order->is_known());
  }
  CHECK(measured[1].call->outputs[0].order->problem ==
        "`relu` is not among the operators whose results are known to be sums");
  CHECK(measured[2].call->outputs[0].order->problem == "a second call gives other bits");
  CHECK(probe_measurement_from_json(to_json(measured[0])) == measured[0]);
  request.workload.preset = "base";
  CHECK_FALSE(run()[0].call->outputs[0].order);
}

}  // namespace
}  // namespace call_order_test

void test::is_known(const std::string& call, const std::string& output, std::int64_t terms, std::int64_t elements) {
  CAPTURE(call, output);
  const CallOrder order = call_order_test::order_for(call, output);
  CAPTURE(order.problem);
  REQUIRE(order.is_known());
  CHECK(order.elements == elements);
  CHECK(order.replayed == elements);
  CHECK(order.not_replayed == 0);
  std::int64_t of_classes = 0;
  std::int64_t checked = 0;
  for (const OrderClass& one : order.classes) {
    CHECK(one.terms == terms);
    CHECK(is_canonical_order(one.order, terms));
    of_classes += one.elements;
    checked += one.checked;
  }
  CHECK(of_classes == elements);
  CHECK(checked >= 1000);
}

}  // namespace reprobench
