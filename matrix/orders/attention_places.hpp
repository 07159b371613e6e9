// Where an attention call's tensors stand, and what its outputs have in common.
#pragma once

#include <cstdint>
#include <span>

#include "matrix/orders/formed_output.hpp"
#include "matrix/orders/head_attention.hpp"

namespace reprobench {

// Of a forward call's gradient the outputs stand behind dy.
struct AttentionPlaces {
  std::int64_t heads = 0;  // of queries, in all samples
  std::int64_t group = 1;  // so many of them, one behind the other, share one head of keys and values
  AttentionHead head;      // without elements
  int q = 0;
  int k = 0;
  int v = 0;
  int dy = 0;
  int y = 0;
  int log_sums = 0;
  bool is_backward = false;     // y and log_sums are operands
  bool shows_log_sums = false;  // a forward call has them as an output

  std::int64_t queries() const { return static_cast<std::int64_t>(head.queries); }
  std::int64_t keys() const { return static_cast<std::int64_t>(head.keys); }
  std::int64_t width() const { return static_cast<std::int64_t>(head.width); }
  // Rows of an input, which are those of its gradient.
  std::int64_t rows(AttentionInput of) const { return of == AttentionInput::query ? queries() : keys(); }
  std::int64_t units(AttentionInput of) const {
    return of == AttentionInput::query ? heads * queries() : heads / group * keys();
  }

  // The elements of one of the parts that a tensor has.
  static std::span<const float> part(const FormedOutput::Tensors& tensors, int tensor, std::int64_t at,
                                     std::size_t size) {
    return std::span(tensors[static_cast<std::size_t>(tensor)]).subspan(static_cast<std::size_t>(at) * size, size);
  }
  AttentionHead at(const FormedOutput::Tensors& tensors, std::int64_t of) const;
};

// Its units are queries.
class AttentionOutput : public FormedOutput {
 public:
  explicit AttentionOutput(const AttentionPlaces& places) : places_(places) {}

  std::int64_t units() const override { return places_.units(AttentionInput::query); }
  std::int64_t elements() const override { return units() * places_.width(); }
  std::int64_t terms() const override { return 2 * places_.keys() * places_.width(); }

  // On every other kind sums over keys, queries or dy y cancel.
  void make_kind(std::int64_t round, Tensors& tensors) const override;

 protected:
  const AttentionPlaces& places() const { return places_; }
  virtual bool is_gradient() const { return false; }
  void add_row(std::int64_t unit, std::span<const float> row, std::vector<Value>& made) const;

 private:
  AttentionPlaces places_;
};

// The names of outputs that others begin with, or take.
inline constexpr const char* kAttentionOutput = "output.0";
inline constexpr const char* kLogSumsOutput = "output.1";
inline constexpr const char* kQueryGradient = "gradient.0";

// As one kernel computes it, by blocks of queries and keys (head_attention.hpp).
std::shared_ptr<const FormedOutput> log_sums_in_blocks(const AttentionPlaces& places);
std::shared_ptr<const FormedOutput> attention_in_blocks(const AttentionPlaces& places);
std::shared_ptr<const FormedOutput> attention_gradient_in_blocks(const AttentionPlaces& places, AttentionInput of);

// As calls of their own compute it, one behind the other (stepwise_attention.hpp). A forward call alone.
std::shared_ptr<const FormedOutput> attention_in_steps(const AttentionPlaces& places);
std::shared_ptr<const FormedOutput> attention_gradient_in_steps(const AttentionPlaces& places, AttentionInput of);

}  // namespace reprobench
