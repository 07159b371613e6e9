#include "matrix/orders/attention_places.hpp"

#include <algorithm>
#include <utility>

namespace reprobench {
namespace {

// In the second half of the keys, values are the first half's with the other sign. Where queries are 0 all weights are
// equal, and nothing is left of a sum over them but the errors of rounding.
void cancel_over_keys(const AttentionPlaces& at, FormedOutput::Tensors& tensors) {
  std::ranges::fill(tensors[static_cast<std::size_t>(at.q)], 0.0F);
  const std::size_t half = at.head.keys / 2;
  for (const auto& [tensor, sign] : {std::pair(at.v, -1.0F), std::pair(at.k, 1.0F)}) {
    std::vector<float>& values = tensors[static_cast<std::size_t>(tensor)];
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t key = i / at.head.width % at.head.keys;
      if (key >= half && key < 2 * half) values[i] = sign * values[i - half * at.head.width];
    }
  }
}

// The same of queries: each of the second half asks as one of the first does, and is given the opposite gradient.
void cancel_over_queries(const AttentionPlaces& at, FormedOutput::Tensors& tensors) {
  const std::size_t half = at.head.queries / 2;
  for (const auto& [tensor, sign] : {std::pair(at.q, 1.0F), std::pair(at.dy, -1.0F)}) {
    std::vector<float>& values = tensors[static_cast<std::size_t>(tensor)];
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t query = i / at.head.width % at.head.queries;
      if (query >= half && query < 2 * half) values[i] = sign * values[i - half * at.head.width];
    }
  }
}

}  // namespace

AttentionHead AttentionPlaces::at(const FormedOutput::Tensors& tensors, std::int64_t of) const {
  AttentionHead one = head;
  one.q = part(tensors, q, of, head.queries * head.width);
  one.k = part(tensors, k, of / group, head.keys * head.width);
  one.v = part(tensors, v, of / group, head.keys * head.width);
  return one;
}

void AttentionOutput::make_kind(std::int64_t round, Tensors& tensors) const {
  constexpr std::int64_t kKinds = 4;
  constexpr float kPeaked = 4;
  const std::int64_t kind = round % kKinds;
  if (kind == 1) cancel_over_keys(places_, tensors);
  if (kind == 2) {
    for (float& q : tensors[static_cast<std::size_t>(places_.q)]) q *= kPeaked;
  }
  if (kind == 3 && is_gradient()) cancel_over_queries(places_, tensors);
  if (kind % 2 == 1 && places_.is_backward) std::ranges::fill(tensors[static_cast<std::size_t>(places_.y)], 0.0F);
}

void AttentionOutput::add_row(std::int64_t unit, std::span<const float> row, std::vector<Value>& made) const {
  for (std::size_t i = 0; i < row.size(); ++i) {
    made.push_back({unit * places_.width() + static_cast<std::int64_t>(i), row[i]});
  }
}

}  // namespace reprobench
