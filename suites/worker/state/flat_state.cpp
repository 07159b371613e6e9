#include "suites/worker/state/flat_state.hpp"

#include <algorithm>
#include <stdexcept>

#include <ATen/TensorIterator.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include "suites/worker/state/element_update.hpp"

namespace reprobench {
namespace {

constexpr std::int64_t kAlignmentBytes = 64;
constexpr std::int64_t kRunElements = 8192;  // what a thread takes at once: of fp32 128 KiB of Adam's four numbers

std::int64_t elements_in(const ParameterSpec& spec) {
  std::int64_t count = 1;
  for (const std::int64_t extent : spec.shape) count *= extent;
  return count;
}

}  // namespace

struct FlatState::Buffers {
  // What a thread updates at once: a part of one parameter.
  struct Run {
    std::size_t index;   // of the parameter
    std::int64_t first;  // element of it
    std::int64_t count;
  };

  std::vector<std::vector<std::int64_t>> shapes;
  std::vector<std::int64_t> places;  // first element of each parameter; -1: it is frozen
  at::Tensor parameters;
  std::vector<at::Tensor> kept;
  std::vector<Run> runs;
  at::Tensor numbers_of_runs;  // 0, 1, 2 ...: what LibTorch's threads share out among themselves

  // No view by autograd: parts have versions of their own.
  at::Tensor part(const at::Tensor& buffer, std::size_t index) const {
    const c10::NoGradGuard no_grad;
    at::Tensor part = at::empty({0}, buffer.options());
    const std::vector<std::int64_t>& shape = shapes[index];
    std::vector<std::int64_t> strides(shape.size(), 1);
    for (std::size_t i = shape.size(); i > 1; --i) strides[i - 2] = strides[i - 1] * shape[i - 1];
    part.set_(buffer.storage(), places.at(index), shape, strides);
    return part;
  }
};

FlatState::FlatState(std::span<const ParameterSpec> specs, const Optimizer& optimizer, bool is_double)
    : buffers_(std::make_unique<Buffers>()) {
  const std::int64_t alignment = kAlignmentBytes / (is_double ? 8 : 4);
  std::int64_t size = 0;
  for (const ParameterSpec& spec : specs) {
    buffers_->shapes.push_back(spec.shape);
    buffers_->places.push_back(spec.frozen ? -1 : size);
    if (spec.frozen) continue;
    const std::int64_t count = elements_in(spec);
    for (std::int64_t first = 0; first < count; first += kRunElements) {
      buffers_->runs.push_back({buffers_->places.size() - 1, first, std::min(kRunElements, count - first)});
    }
    size += (count + alignment - 1) / alignment * alignment;
  }
  const auto type = is_double ? at::kDouble : at::kFloat;
  buffers_->parameters = at::zeros({size}, type);
  for (std::size_t i = 0; i < optimizer.keeps().size(); ++i) buffers_->kept.push_back(at::zeros({size}, type));
  buffers_->numbers_of_runs = at::arange(static_cast<std::int64_t>(buffers_->runs.size()), at::kLong);
}

FlatState::~FlatState() = default;

at::Tensor FlatState::parameter(std::size_t index) const { return buffers_->part(buffers_->parameters, index); }
at::Tensor FlatState::kept(std::size_t index, std::size_t number) const {
  return buffers_->part(buffers_->kept.at(number), index);
}

template <class T>
void FlatState::update_as(const Optimizer& optimizer, std::span<const at::Tensor> gradients,
                          const std::vector<bool>& decays) const {
  const Buffers& all = *buffers_;
  const auto update_run = [&](const Buffers::Run& run) {
    const at::Tensor& gradient = gradients[run.index];
    if (!gradient.defined()) return;
    const std::int64_t first = all.places[run.index] + run.first;
    Elements<T> elements{static_cast<T*>(all.parameters.data_ptr()) + first,
                         static_cast<const T*>(gradient.data_ptr()) + run.first,
                         {},
                         run.count,
                         decays[run.index]};
    for (std::size_t i = 0; i < all.kept.size(); ++i) {
      elements.kept[i] = static_cast<T*>(all.kept[i].data_ptr()) + first;
    }
    optimizer.step(elements);
  };
  // LibTorch's parallel_for would run on one thread here: only code compiled with OpenMP has it whole.
  at::Tensor numbers = all.numbers_of_runs;
  at::TensorIterator runs = at::TensorIterator::nullary_op(numbers);
  runs.for_each(
      [&](char** data, const std::int64_t* strides, std::int64_t columns, std::int64_t rows) {
        for (std::int64_t i = 0; i < rows * columns; ++i) {
          const char* place = data[0] + i % columns * strides[0] + i / columns * strides[1];
          update_run(all.runs[static_cast<std::size_t>(*reinterpret_cast<const std::int64_t*>(place))]);
        }
      },
      /*grain_size=*/1);
}

void FlatState::update(const Optimizer& optimizer, std::span<const at::Tensor> gradients,
                       const std::vector<bool>& decays) const {
  std::vector<at::Tensor> dense(gradients.begin(), gradients.end());
  for (at::Tensor& gradient : dense) {
    if (!gradient.defined()) continue;
    if (gradient.scalar_type() != buffers_->parameters.scalar_type()) {
      throw std::logic_error("a gradient of another type than its parameter");
    }
    gradient = gradient.contiguous();
  }
  if (buffers_->parameters.scalar_type() == at::kDouble) {
    update_as<double>(optimizer, dense, decays);
  } else {
    update_as<float>(optimizer, dense, decays);
  }
}

}  // namespace reprobench
