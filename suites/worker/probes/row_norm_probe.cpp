#include "suites/worker/probes/row_norm_probe.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include "suites/worker/probes/operand_elements.hpp"
#include "suites/worker/probes/order_time.hpp"
#include "suites/worker/probes/row_norm_rows.hpp"
#include "suites/worker/probes/single_call.hpp"

namespace reprobench {
namespace {

// Rows, and what the call made of them.
struct Rows {
  std::vector<float> x, weight, bias;
  std::vector<float> mean, inverse_sigma, normalised;
};

class OrderOfNorm {
 public:
  OrderOfNorm(const SingleCall& call, const RowNorm& norm, std::uint64_t seed, const OrderLimits& limits)
      : call_(call), norm_(norm), seed_(seed), limits_(limits), time_(limits.seconds) {}

  CallOrder run(const RecordedCall& recorded) {
    CallOrder found;
    try {
      if (norm_.width > kWidestRow)
        throw OrderNotKnown("rows of more than " + std::to_string(kWidestRow) + " elements");
      draw();
      const auto form = first_form();
      if (!form) throw OrderNotKnown("none of the forms that ATen is known to have gives its bits");
      hold_to_record(*form, recorded, found);
      const std::int64_t per_row = norm_.elements() / norm_.rows;
      found.classes.push_back({norm_text(*form), norm_shape(*form), SumEnd::as_it_is, norm_.width, 0, norm_.elements(),
                               per_row * norm_.rows * static_cast<std::int64_t>(drawn_.size())});
    } catch (const OrderNotKnown& unknown) {
      found = {};
      found.problem = unknown.what();
    }
    found.elements = found.is_known() ? found.replayed + found.not_replayed : 0;
    if (found.is_known()) found.classes.front().elements = found.elements;
    found.probes = static_cast<std::int64_t>(drawn_.size());
    found.took_ns = time_.taken().count();
    return found;
  }

 private:
  Rows rows_of(const std::vector<at::Tensor>& tensors) const {
    Rows rows;
    rows.x = floats_of(tensors.front());
    const auto width = static_cast<std::size_t>(norm_.width);
    const auto values = [&](const std::optional<int>& tensor, float otherwise) {
      return tensor ? floats_of(tensors.at(static_cast<std::size_t>(*tensor))) : std::vector<float>(width, otherwise);
    };
    rows.weight = values(norm_.weight, 1);
    rows.bias = values(norm_.bias, 0);
    return rows;
  }

  // Each kind of row at least once: of mean 0; of a mean far above the spread; rising along the row, so that what
  // chunks make where they join counts; and with a few large elements at the end, which belong to no vector.
  void draw() {
    std::vector<at::Tensor> tensors = call_.blank_tensors();
    for (std::int64_t round = 0; round < kKindsOfRow || round * norm_.rows < limits_.inputs; ++round) {
      time_.check();
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        const std::string name = "norm#" + std::to_string(round) + "#" + std::to_string(i);
        const at::Tensor drawn = random_operand(tensors[i], seed_, name, false);
        if (i == 0) make_kind_of_rows(static_cast<float*>(drawn.data_ptr()), norm_.rows, norm_.width, round);
        tensors[i].copy_(drawn);
      }
      Rows rows = rows_of(tensors);
      rows.mean = floats_of(call_.run_on(tensors, "output.1"));
      if (norm_.output != NormOutput::mean) rows.inverse_sigma = floats_of(call_.run_on(tensors, "output.2"));
      if (norm_.output == NormOutput::normalised) rows.normalised = floats_of(call_.run_on(tensors, "output.0"));
      drawn_.push_back(std::move(rows));
    }
  }

  template <typename IsRight>
  bool holds_everywhere(IsRight&& is_right) const {
    for (const Rows& rows : drawn_) {
      for (std::int64_t row = 0; row < norm_.rows; ++row) {
        if (!is_right(rows, row)) return false;
      }
    }
    time_.check();
    return true;
  }

  std::span<const float> row_of(const Rows& rows, std::int64_t row) const {
    return std::span(rows.x).subspan(static_cast<std::size_t>(row * norm_.width),
                                     static_cast<std::size_t>(norm_.width));
  }

  std::optional<NormForm> first_form() const {
    for (const MomentsForm& mean : mean_forms()) {
      if (!holds_everywhere([&](const Rows& rows, std::int64_t row) {
            return is_same(rows.mean[static_cast<std::size_t>(row)], row_moments(row_of(rows, row), mean).mean);
          })) {
        continue;
      }
      if (norm_.output == NormOutput::mean) return NormForm{NormOutput::mean, mean, {}};
      for (const MomentsForm& squares : square_forms(mean)) {
        NormForm form{NormOutput::inverse_sigma, squares, {}};
        if (!gives(form)) continue;
        if (norm_.output == NormOutput::inverse_sigma) return form;
        form.output = NormOutput::normalised;
        for (const ScaleForm& scale : scale_forms()) {
          form.scale = scale;
          if (gives(form)) return form;
        }
      }
    }
    return std::nullopt;
  }

  bool gives(const NormForm& form) const {
    return holds_everywhere([&](const Rows& rows, std::int64_t row) {
      const std::vector<float>& made = form.output == NormOutput::normalised ? rows.normalised : rows.inverse_sigma;
      return wrong_elements(form, rows, row, made, 1).empty();
    });
  }

  // Of one row, those that the form does not give, up to so many.
  std::vector<std::int64_t> wrong_elements(const NormForm& form, const Rows& rows, std::int64_t row,
                                           const std::vector<float>& made, std::size_t most) const {
    const RowMoments moments = row_moments(row_of(rows, row), form.moments);
    const float inverse = inverse_sigma(moments.variance, norm_.epsilon);
    std::vector<std::int64_t> wrong;
    if (form.output != NormOutput::normalised) {
      const float again = form.output == NormOutput::mean ? moments.mean : inverse;
      if (!is_same(made[static_cast<std::size_t>(row)], again)) wrong.push_back(row);
      return wrong;
    }
    for (std::int64_t i = 0; i < norm_.width && wrong.size() < most; ++i) {
      const auto element = static_cast<std::size_t>(row * norm_.width + i);
      const auto at = static_cast<std::size_t>(i);
      const float again =
          normalised(rows.x[element], moments.mean, inverse, rows.weight[at], rows.bias[at], form.scale);
      if (!is_same(made[element], again)) wrong.push_back(static_cast<std::int64_t>(element));
    }
    return wrong;
  }

  // Row by row, as many as take no longer than a moment.
  void hold_to_record(const NormForm& form, const RecordedCall& recorded, CallOrder& found) const {
    const Rows rows = rows_of(recorded.tensors);
    const std::vector<float> made = floats_of(recorded.made.to(at::kCPU));
    const std::int64_t per_row = norm_.elements() / norm_.rows;
    const std::int64_t looked_at = std::min(norm_.rows, std::max<std::int64_t>(1, kRowElementsOfRecord / norm_.width));
    for (std::int64_t row = 0; row < looked_at; ++row) {
      const auto wrong = wrong_elements(form, rows, row, made, static_cast<std::size_t>(per_row));
      const auto count = static_cast<std::int64_t>(wrong.size());
      found.replayed += per_row - count;
      found.not_replayed += count;
      if (count > 0 && !found.first_not_replayed) found.first_not_replayed = wrong.front();
    }
  }

  const SingleCall& call_;
  const RowNorm& norm_;
  std::uint64_t seed_;
  OrderLimits limits_;
  OrderTime time_;
  std::vector<Rows> drawn_;
};

}  // namespace

CallOrder order_of_norm(const SingleCall& call, const RowNorm& norm, const RecordedCall& recorded, std::uint64_t seed,
                        const OrderLimits& limits) {
  return OrderOfNorm(call, norm, seed, limits).run(recorded);
}

}  // namespace reprobench
