#include "models/activation_tape.hpp"

#include <algorithm>
#include <utility>

namespace reprobench {
namespace {

std::size_t place(ActivationTape::Id id) { return static_cast<std::size_t>(id); }

class Level {
 public:
  void take(std::int64_t elements) {
    now_.activations += elements;
    if (now_.total() > peak_.total()) peak_ = now_;
  }
  void give(std::int64_t elements) { now_.activations -= elements; }
  void take_gradients(std::int64_t elements) {
    now_.gradients += elements;
    take(0);
  }
  const LiveElements& peak() const { return peak_; }

 private:
  LiveElements now_;
  LiveElements peak_;
};

}  // namespace

ActivationTape::Id ActivationTape::make(std::int64_t elements, std::vector<Id> read, std::vector<Id> saved,
                                        std::int64_t gradients, bool has_gradient) {
  std::erase(read, kNone);
  std::erase(saved, kNone);
  tensors_.push_back({elements, has_gradient, false, false, std::move(read), std::move(saved), gradients, 0});
  return static_cast<Id>(tensors_.size()) - 1;
}

void ActivationTape::save(Id maker, Id tensor) {
  if (maker != kNone && tensor != kNone) tensors_[place(maker)].saved.push_back(tensor);
}
void ActivationTape::scratch(Id maker, std::int64_t elements) {
  if (maker != kNone) tensors_[place(maker)].scratch = elements;
}
void ActivationTape::share_gradient(Id maker) {
  if (maker == kNone) return;
  Tensor& call = tensors_[place(maker)];
  call.scratch += std::exchange(call.parameter_gradients, 0);
}
void ActivationTape::show(Id tensor) {
  if (tensor != kNone) tensors_[place(tensor)].is_shown = true;
}
void ActivationTape::hold(Id tensor) {
  if (tensor != kNone) tensors_[place(tensor)].is_held = true;
}

LiveElements ActivationTape::peak(bool traces_tensors) const {
  const std::size_t count = tensors_.size();
  std::vector<std::size_t> last_read(count);              // by which call
  std::vector<std::size_t> first_saved_by(count, count);  // the one whose backward pass comes last; count: none
  for (std::size_t call = 0; call < count; ++call) {
    last_read[call] = call;
    for (const Id read : tensors_[call].read) last_read[place(read)] = call;
    for (const Id saved : tensors_[call].saved) {
      first_saved_by[place(saved)] = std::min(first_saved_by[place(saved)], call);
    }
  }
  std::vector<std::vector<std::size_t>> ends_forward(count);
  std::vector<std::vector<std::size_t>> ends_backward(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (tensors_[i].is_held || (traces_tensors && tensors_[i].is_shown)) continue;
    (first_saved_by[i] == count ? ends_forward[last_read[i]] : ends_backward[first_saved_by[i]]).push_back(i);
  }

  Level level;
  for (std::size_t call = 0; call < count; ++call) {
    level.take(tensors_[call].elements);
    for (const std::size_t i : ends_forward[call]) level.give(tensors_[i].elements);
  }
  std::vector<bool> has_its_gradient(count, false);
  const auto take_gradient = [&](std::size_t i) {
    if (!tensors_[i].has_gradient || has_its_gradient[i]) return;
    has_its_gradient[i] = true;
    level.take(tensors_[i].elements);
  };
  for (std::size_t call = count; call-- > 0;) {
    const Tensor& made = tensors_[call];
    if (made.has_gradient) {
      take_gradient(call);  // the loss's own; any other is there
      level.take(made.scratch);
      for (const Id read : made.read) take_gradient(place(read));
      level.take_gradients(made.parameter_gradients);
      level.give(made.scratch);
      if (!traces_tensors || !made.is_shown) level.give(made.elements);
    }
    for (const std::size_t i : ends_backward[call]) level.give(tensors_[i].elements);
  }
  return level.peak();
}

ActivationTape with_cross_entropy(ActivationTape tape, ActivationTape::Id outputs, std::int64_t elements) {
  tape.hold(outputs);
  const auto logarithms = tape.make(elements, {outputs});
  tape.save(logarithms, logarithms);
  tape.hold(tape.make(1, {logarithms}, {logarithms}));
  return tape;
}

}  // namespace reprobench
