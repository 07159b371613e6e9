// The mean and 1 / sigma of rows (row_moments.hpp), and outputs that are computed from them. A row is one of a layer
// norm, or a group of channels of one image of a group norm.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/orders/channel_norm.hpp"
#include "matrix/orders/formed_output.hpp"
#include "matrix/orders/row_moments.hpp"

namespace reprobench {

// Names of the outputs of a norm's forward call.
inline constexpr const char* kMeanOutput = "output.1";
inline constexpr const char* kInverseSigmaOutput = "output.2";

// The rows lie one behind the other in the operand x.
struct NormRows {
  std::int64_t rows = 0;
  std::int64_t width = 0;
  int x = 0;           // its place
  double epsilon = 0;  // of a forward call
  bool is_root_in_fp64 = false;

  // A layer norm rounds epsilon to fp32 first, a group norm computes 1 / sigma in fp64.
  float inverse_sigma_of(float variance) const {
    if (!is_root_in_fp64) return inverse_sigma(variance, static_cast<float>(epsilon));
    return static_cast<float>(1 / std::sqrt(static_cast<double>(variance) + epsilon));
  }

  std::int64_t elements() const { return rows * width; }
  std::span<const float> row_of(const FormedOutput::Tensors& tensors, int tensor, std::int64_t row) const {
    return std::span(tensors[static_cast<std::size_t>(tensor)])
        .subspan(static_cast<std::size_t>(row * width), static_cast<std::size_t>(width));
  }
};

// Where a gradient finds the mean and 1 / sigma of each row: among the operands of a backward call, or behind the
// gradient that a forward call's backward pass is given.
struct GivenMoments {
  int mean = 0;
  int inverse_sigma = 0;
  bool are_operands = false;
};

std::shared_ptr<const FormedOutput> moments_output(NormOutput output, const NormRows& rows);

// An output that takes each row's mean and 1 / sigma, and has `own_forms` forms with each form of these.
class OutputOnMoments : public FormedOutput {
 public:
  // Without `given` the output computes the moments by itself, as a normalised row does.
  OutputOnMoments(const NormRows& rows, const std::optional<GivenMoments>& given, std::size_t own_forms);

  // An element for each of x, row by row, unless an output says otherwise.
  std::int64_t elements() const override { return rows_.elements(); }
  std::int64_t terms() const override { return rows_.width; }
  std::int64_t units() const override { return rows_.rows; }

  std::size_t forms() const final;
  std::string text(std::size_t form) const override;
  std::string shape(std::size_t form) const override;
  const Basis* basis() const final { return basis_.output ? &basis_ : nullptr; }
  std::vector<std::size_t> forms_on(std::size_t form_of_basis) const final;
  std::vector<std::string> given_outputs() const final;

  // The rows come in several kinds (make_kind_of_rows), and a backward call is given their mean and 1 / sigma.
  void make_kind(std::int64_t round, Tensors& tensors) const override;

 protected:
  const NormRows& rows() const { return rows_; }
  ChannelMoments given_moments(const Tensors& tensors, std::int64_t row) const;
  void add_row(std::int64_t row, std::span<const float> values, std::vector<Value>& made) const;
  std::size_t own_form(std::size_t form) const { return form % own_forms_; }
  const MomentsForm& moments_form(std::size_t form) const;

  // What text() and shape() put behind those of 1 / sigma, or alone where that is an operand.
  virtual std::string own_text(std::size_t /*own_form*/) const { return ""; }
  virtual std::string own_shape(std::size_t /*own_form*/) const { return ""; }

 private:
  NormRows rows_;
  std::optional<GivenMoments> given_;
  std::size_t own_forms_;
  Basis basis_;
};

using FormTexts = std::set<std::string, std::less<>>;

// Whether a text is that of a mean or of 1 / sigma.
bool is_moments_text(std::string_view text);
// Whether it is one of `own_texts` behind the text of 1 / sigma.
bool is_behind_moments(std::string_view text, const FormTexts& own_texts);

// Turns numbers around 0 into rows of one kind, which changes with `round`. The kinds are: unchanged; with a mean far
// above the spread; rising along the row, so that results of joining chunks matter; or with a few large numbers at the
// end, which belong to no vector.
void make_kind_of_rows(std::span<float> x, std::int64_t width, std::int64_t round);

}  // namespace reprobench
