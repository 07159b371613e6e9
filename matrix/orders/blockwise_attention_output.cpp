// Outputs of an attention that one kernel computes (head_attention.hpp).
#include <utility>

#include "matrix/orders/attention_places.hpp"
#include "matrix/orders/formed_families.hpp"

namespace reprobench {
namespace blockwise_attention_output {  // a unity build has several files in one
namespace {

class LogSums : public AttentionOutput {
 public:
  explicit LogSums(const AttentionPlaces& places) : AttentionOutput(places), forms_(weights_forms(places.head)) {}

  std::int64_t elements() const override { return units(); }
  std::size_t forms() const override { return forms_.size(); }
  std::string text(std::size_t form) const override { return attention_text(forms_[form]); }
  std::string shape(std::size_t form) const override { return attention_shape(forms_[form]); }
  const WeightsForm& form(std::size_t at) const { return forms_[at]; }

  float of_unit(std::size_t form, const Tensors& tensors, std::int64_t unit) const {
    const AttentionHead head = places().at(tensors, unit / places().queries());
    return attend(head, static_cast<std::size_t>(unit % places().queries()), {forms_[form], {}, false}, {});
  }

  void compute(std::size_t form, const Tensors& tensors, std::int64_t unit, std::vector<Value>& made) const override {
    made.push_back({unit, of_unit(form, tensors, unit)});
  }

 private:
  std::vector<WeightsForm> forms_;
};

class Attended : public AttentionOutput {
 public:
  explicit Attended(const AttentionPlaces& places)
      : AttentionOutput(places),
        weights_(std::make_shared<LogSums>(places)),
        ends_(attention_forms(places.head, {})),
        basis_{kLogSumsOutput, weights_} {}

  std::size_t forms() const override { return weights_->forms() * ends_.size(); }
  std::string text(std::size_t form) const override {
    return weights_->text(form / ends_.size()) + std::string(kThen) + values_text(at(form));
  }
  std::string shape(std::size_t form) const override {
    return weights_->shape(form / ends_.size()) + std::string(kThen) + values_shape(at(form));
  }
  const Basis* basis() const override { return places().shows_log_sums ? &basis_ : nullptr; }
  std::vector<std::size_t> forms_on(std::size_t weights) const override {
    return forms_from(weights * ends_.size(), ends_.size());
  }

  void compute(std::size_t form, const Tensors& tensors, std::int64_t unit, std::vector<Value>& made) const override {
    const AttentionHead head = places().at(tensors, unit / places().queries());
    std::vector<float> y(head.width);
    attend(head, static_cast<std::size_t>(unit % places().queries()), at(form), y);
    add_row(unit, y, made);
  }

  std::vector<float> log_sums(std::size_t form, const Tensors& tensors) const {
    std::vector<float> all;
    for (std::int64_t unit = 0; unit < units(); ++unit) {
      all.push_back(weights_->of_unit(form / ends_.size(), tensors, unit));
    }
    return all;
  }

 private:
  AttentionForm at(std::size_t form) const {
    AttentionForm one = ends_[form % ends_.size()];
    one.weights = weights_->form(form / ends_.size());
    return one;
  }

  std::shared_ptr<const LogSums> weights_;
  std::vector<AttentionForm> ends_;
  Basis basis_;
};

// Of q, k or v. Its own forms stand behind those of the output, unless that is an operand. Where log(sum) is not an
// output of the call, the gradient of k stands behind that of q, as it does if the call computes it in steps.
class AttentionGradient : public AttentionOutput {
 public:
  AttentionGradient(const AttentionPlaces& places, AttentionInput of)
      : AttentionOutput(places), of_(of), forms_(attention_gradient_forms(places.head, of)) {
    if (places.is_backward) return;
    output_ = std::make_shared<Attended>(places);
    basis_ = {kAttentionOutput, output_};
    if (of == AttentionInput::key && !places.shows_log_sums) {
      of_query_ = std::make_shared<AttentionGradient>(places, AttentionInput::query);
      basis_ = {kQueryGradient, of_query_};
    }
  }

  std::int64_t units() const override { return places().units(of_); }
  std::int64_t terms() const override {
    constexpr std::int64_t kProducts = 3;  // a score, the gradient of a weight, and what is added up
    const std::int64_t of_a_product =
        places().width() * (of_ == AttentionInput::query ? places().keys() : places().queries());
    return places().is_backward || places().shows_log_sums ? kProducts * of_a_product : of_a_product;
  }
  std::size_t forms() const override { return forms_.size() * (basis_.output ? basis_.output->forms() : 1); }
  std::string text(std::size_t form) const override {
    const std::string own = attention_text(forms_[form % forms_.size()], of_);
    return basis_.output ? basis_.output->text(form / forms_.size()) + std::string(kThen) + own : own;
  }
  std::string shape(std::size_t form) const override {
    const std::string own = attention_shape(forms_[form % forms_.size()], of_);
    return basis_.output ? basis_.output->shape(form / forms_.size()) + std::string(kThen) + own : own;
  }
  const Basis* basis() const override { return basis_.output ? &basis_ : nullptr; }
  std::vector<std::size_t> forms_on(std::size_t of_basis) const override {
    return forms_from(of_basis * forms_.size(), forms_.size());
  }
  std::vector<std::string> given_outputs() const override {
    if (places().is_backward) return {};
    if (!places().shows_log_sums) return {kAttentionOutput};
    return {kAttentionOutput, kLogSumsOutput};
  }
  void add_hidden(std::size_t form, Tensors& tensors) const override {
    if (!places().is_backward && !places().shows_log_sums) {
      tensors.push_back(output_->log_sums(form_of_output(form), tensors));
    }
  }

  void compute(std::size_t form, const Tensors& tensors, std::int64_t unit, std::vector<Value>& made) const override {
    const std::int64_t rows = places().rows(of_);
    const auto row = static_cast<std::size_t>(unit % rows);
    const AttentionGradientForm& as = forms_[form % forms_.size()];
    std::vector<float> gradient(places().head.width);
    if (of_ == AttentionInput::query) {
      query_gradient(gradients_of(tensors, unit / rows), row, as, gradient);
    } else {
      std::vector<AttentionGradients> group;
      for (std::int64_t i = 0; i < places().group; ++i) {
        group.push_back(gradients_of(tensors, unit / rows * places().group + i));
      }
      if (of_ == AttentionInput::key) key_gradient(group, row, as, gradient);
      if (of_ == AttentionInput::value) value_gradient(group, row, as, gradient);
    }
    add_row(unit, gradient, made);
  }

 protected:
  bool is_gradient() const override { return true; }

 private:
  AttentionGradients gradients_of(const Tensors& tensors, std::int64_t of_head) const {
    const AttentionHead head = places().at(tensors, of_head);
    return {head, places().part(tensors, places().dy, of_head, head.queries * head.width),
            places().part(tensors, places().y, of_head, head.queries * head.width),
            places().part(tensors, places().log_sums, of_head, head.queries)};
  }
  std::size_t form_of_output(std::size_t form) const {
    const std::size_t of_basis = form / forms_.size();
    return of_query_ ? of_query_->form_of_output(of_basis) : of_basis;
  }

  AttentionInput of_;
  std::vector<AttentionGradientForm> forms_;
  std::shared_ptr<const Attended> output_;
  std::shared_ptr<const AttentionGradient> of_query_;
  Basis basis_;
};

}  // namespace
}  // namespace blockwise_attention_output

std::shared_ptr<const FormedOutput> log_sums_in_blocks(const AttentionPlaces& places) {
  return std::make_shared<blockwise_attention_output::LogSums>(places);
}

std::shared_ptr<const FormedOutput> attention_in_blocks(const AttentionPlaces& places) {
  return std::make_shared<blockwise_attention_output::Attended>(places);
}

std::shared_ptr<const FormedOutput> attention_gradient_in_blocks(const AttentionPlaces& places, AttentionInput of) {
  return std::make_shared<blockwise_attention_output::AttentionGradient>(places, of);
}

}  // namespace reprobench
