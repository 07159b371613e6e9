#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>

#include "suites/worker/probes/operand_elements.hpp"
#include "suites/worker/probes/order_time.hpp"
#include "suites/worker/probes/row_norm_probe.hpp"
#include "suites/worker/probes/row_norm_rows.hpp"
#include "suites/worker/probes/single_call.hpp"

namespace reprobench {
namespace {

// What one backward pass took and made.
struct Backward {
  std::vector<float> x, dy, weight, mean, inverse_sigma;
  std::vector<float> made;
  std::vector<NormRow> rows;  // of the above, which stay where they are
};

class OrderOfGradient {
 public:
  OrderOfGradient(const SingleCall& call, const RowNormGradient& norm, const std::string& output, std::uint64_t seed,
                  const OrderLimits& limits)
      : call_(call), norm_(norm), output_(output), seed_(seed), limits_(limits), time_(limits.seconds) {}

  CallOrder run(const RecordedCall& recorded) {
    CallOrder found;
    try {
      if (norm_.width > kWidestRow)
        throw OrderNotKnown("rows of more than " + std::to_string(kWidestRow) + " elements");
      draw();
      const auto form = first_form();
      if (!form) throw OrderNotKnown("none of the forms that ATen is known to have gives its bits");
      hold_to_record(*form, recorded, found);
      const std::int64_t elements = found.replayed + found.not_replayed;
      found.classes.push_back({gradient_text(*form), gradient_shape(*form), SumEnd::as_it_is,
                               norm_.of_weight ? norm_.rows : norm_.width, 0, elements,
                               norm_.elements() * static_cast<std::int64_t>(drawn_.size())});
      found.elements = elements;
    } catch (const OrderNotKnown& unknown) {
      found = {};
      found.problem = unknown.what();
    }
    found.probes = static_cast<std::int64_t>(drawn_.size());
    found.took_ns = time_.taken().count();
    return found;
  }

 private:
  // The call itself computes mean and 1 / sigma where it is not given them.
  std::vector<float> row_values(const std::optional<int>& given, const char* made,
                                const std::vector<at::Tensor>& all) const {
    if (given) return floats_of(all.at(static_cast<std::size_t>(*given)));
    const std::vector<at::Tensor> forward(all.begin(), all.end() - 1);  // without what its backward pass is given
    return floats_of(call_.run_on(forward, made));
  }

  Backward backward_of(const std::vector<at::Tensor>& tensors, const at::Tensor& made) const {
    const auto values = [&](int tensor) { return floats_of(tensors.at(static_cast<std::size_t>(tensor))); };
    Backward pass{values(norm_.x),
                  values(norm_.dy),
                  values(norm_.weight),
                  row_values(norm_.mean, "output.1", tensors),
                  row_values(norm_.inverse_sigma, "output.2", tensors),
                  floats_of(made),
                  {}};
    const auto width = static_cast<std::size_t>(norm_.width);
    for (std::size_t row = 0; row < static_cast<std::size_t>(norm_.rows); ++row) {
      pass.rows.push_back({std::span(pass.x).subspan(row * width, width),
                           std::span(pass.dy).subspan(row * width, width), pass.weight, pass.mean[row],
                           pass.inverse_sigma[row]});
    }
    return pass;
  }

  void fill(std::vector<at::Tensor>& tensors, std::int64_t round) const {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const std::string name = "norm_gradient#" + std::to_string(round) + "#" + std::to_string(i);
      const at::Tensor drawn = random_operand(tensors[i], seed_, name, false);
      if (static_cast<int>(i) == norm_.x) {
        make_kind_of_rows(static_cast<float*>(drawn.data_ptr()), norm_.rows, norm_.width, round);
      }
      tensors[i].copy_(drawn);
    }
    if (!norm_.mean) return;
    const std::vector<float> x = floats_of(tensors[static_cast<std::size_t>(norm_.x)]);
    for (std::int64_t row = 0; row < norm_.rows; ++row) {
      const auto width = static_cast<std::size_t>(norm_.width);
      const RowMoments moments = row_moments(std::span(x).subspan(static_cast<std::size_t>(row) * width, width), {});
      set_element(tensors[static_cast<std::size_t>(*norm_.mean)], row, moments.mean);
      set_element(tensors[static_cast<std::size_t>(*norm_.inverse_sigma)], row, inverse_sigma(moments.variance, 1e-5F));
    }
  }

  void draw() {
    std::vector<at::Tensor> tensors = call_.blank_tensors();
    if (static_cast<int>(tensors.size()) == norm_.dy) {
      tensors.push_back(at::zeros(tensors[static_cast<std::size_t>(norm_.x)].sizes()));
    }
    const std::int64_t sums = norm_.of_weight ? norm_.width : norm_.rows;  // of one call
    for (std::int64_t round = 0; round < kKindsOfRow || round * sums < limits_.inputs; ++round) {
      time_.check();
      fill(tensors, round);
      drawn_.push_back(backward_of(tensors, call_.run_on(tensors, output_)));
    }
  }

  std::optional<NormGradientForm> first_form() const {
    NormGradientForm form;
    if (!norm_.mean) {
      form.moments = first_moments();
      if (!form.moments) return std::nullopt;
    }
    if (norm_.of_weight) {
      for (const WeightGradientForm& one : weight_gradient_forms()) {
        if (one.threads > norm_.rows) break;
        form.weight = one;
        if (gives(form)) return form;
      }
      return std::nullopt;
    }
    for (const InputGradientForm& one : input_gradient_forms()) {
      form.input = one;
      if (gives(form)) return form;
    }
    return std::nullopt;
  }

  // With which the forward pass computed mean and 1 / sigma.
  std::optional<MomentsForm> first_moments() const {
    for (const MomentsForm& mean : mean_forms()) {
      if (!have_moments([&](const Backward& pass, std::size_t row) {
            return is_same(pass.mean[row], row_moments(pass.rows[row].x, mean).mean);
          })) {
        continue;
      }
      for (const MomentsForm& squares : square_forms(mean)) {
        if (have_moments([&](const Backward& pass, std::size_t row) {
              const float again = inverse_sigma(row_moments(pass.rows[row].x, squares).variance, norm_.epsilon);
              return is_same(pass.inverse_sigma[row], again);
            })) {
          return squares;
        }
      }
    }
    return std::nullopt;
  }

  template <typename IsRight>
  bool have_moments(IsRight&& is_right) const {
    time_.check();
    return std::ranges::all_of(drawn_, [&](const Backward& pass) {
      for (std::size_t row = 0; row < pass.rows.size(); ++row) {
        if (!is_right(pass, row)) return false;
      }
      return true;
    });
  }

  bool gives(const NormGradientForm& form) const {
    time_.check();
    return std::ranges::all_of(drawn_, [&](const Backward& pass) { return wrong_elements(form, pass, 1).empty(); });
  }

  // Up to so many elements that the form does not give, in the first `rows` rows.
  std::vector<std::int64_t> wrong_elements(const NormGradientForm& form, const Backward& pass, std::size_t most,
                                           std::int64_t rows = -1) const {
    std::vector<std::int64_t> wrong;
    const auto compare = [&](std::size_t element, float again) {
      if (!is_same(pass.made[element], again)) wrong.push_back(static_cast<std::int64_t>(element));
    };
    const auto width = static_cast<std::size_t>(norm_.width);
    if (form.weight) {
      for (std::size_t i = 0; i < width && wrong.size() < most; ++i) {
        compare(i, weight_gradient(pass.rows, i, *form.weight));
      }
      return wrong;
    }
    std::vector<float> dx(width);
    const std::size_t looked_at = rows < 0 ? pass.rows.size() : static_cast<std::size_t>(rows);
    for (std::size_t row = 0; row < looked_at && wrong.size() < most; ++row) {
      input_gradient(pass.rows[row], *form.input, dx);
      for (std::size_t i = 0; i < width && wrong.size() < most; ++i) compare(row * width + i, dx[i]);
    }
    return wrong;
  }

  void hold_to_record(const NormGradientForm& form, const RecordedCall& recorded, CallOrder& found) const {
    const Backward pass = backward_of(recorded.tensors, recorded.made.to(at::kCPU));
    const std::int64_t rows = std::min(norm_.rows, std::max<std::int64_t>(1, kRowElementsOfRecord / norm_.width));
    const std::int64_t elements = norm_.of_weight ? norm_.width : rows * norm_.width;
    const auto wrong = wrong_elements(form, pass, static_cast<std::size_t>(elements), rows);
    found.not_replayed = static_cast<std::int64_t>(wrong.size());
    found.replayed = elements - found.not_replayed;
    if (!wrong.empty()) found.first_not_replayed = wrong.front();
  }

  const SingleCall& call_;
  const RowNormGradient& norm_;
  const std::string& output_;
  std::uint64_t seed_;
  OrderLimits limits_;
  OrderTime time_;
  std::vector<Backward> drawn_;
};

}  // namespace

CallOrder order_of_norm_gradient(const SingleCall& call, const RowNormGradient& norm, const std::string& output,
                                 const RecordedCall& recorded, std::uint64_t seed, const OrderLimits& limits) {
  return OrderOfGradient(call, norm, output, seed, limits).run(recorded);
}

}  // namespace reprobench
