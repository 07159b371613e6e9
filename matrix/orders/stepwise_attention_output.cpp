// Outputs of an attention that calls of its own compute (stepwise_attention.hpp).
#include <algorithm>
#include <utility>

#include "matrix/orders/attention_places.hpp"
#include "matrix/orders/formed_families.hpp"
#include "matrix/orders/stepwise_attention.hpp"

namespace reprobench {
namespace stepwise_attention_output {  // a unity build has several files in one
namespace {

class Attended : public AttentionOutput {
 public:
  explicit Attended(const AttentionPlaces& places) : AttentionOutput(places), forms_(steps_forms(places.head)) {}

  std::size_t forms() const override { return forms_.size(); }
  std::string text(std::size_t form) const override { return steps_text(forms_[form]); }
  std::string shape(std::size_t form) const override { return steps_shape(forms_[form]); }

  void compute(std::size_t form, const Tensors& tensors, std::int64_t unit, std::vector<Value>& made) const override {
    const AttentionHead head = places().at(tensors, unit / places().queries());
    std::vector<float> weights(head.keys);
    std::vector<float> y(head.width);
    weights_in_steps(head, static_cast<std::size_t>(unit % places().queries()), forms_[form], weights);
    attend_in_steps(head, weights, forms_[form], y);
    add_row(unit, y, made);
  }

  // Of all heads: (heads, queries, keys).
  std::vector<float> weights(std::size_t form, const Tensors& tensors) const {
    const std::size_t keys = places().head.keys;
    std::vector<float> all(static_cast<std::size_t>(units()) * keys);
    for (std::int64_t unit = 0; unit < units(); ++unit) {
      weights_in_steps(places().at(tensors, unit / places().queries()),
                       static_cast<std::size_t>(unit % places().queries()), forms_[form],
                       std::span(all).subspan(static_cast<std::size_t>(unit) * keys, keys));
    }
    return all;
  }

 private:
  std::vector<StepsForm> forms_;
};

// Weights, or gradients of scores, are hidden and stand where log(sum) does in other attentions.
class Gradient : public AttentionOutput {
 public:
  explicit Gradient(const AttentionPlaces& places)
      : AttentionOutput(places), output_(std::make_shared<Attended>(places)) {}

  std::int64_t terms() const override { return places().queries() * places().width(); }
  std::vector<std::string> given_outputs() const override { return {kAttentionOutput}; }

 protected:
  bool is_gradient() const override { return true; }
  const std::shared_ptr<const Attended>& output() const { return output_; }
  std::span<const float> hidden_row(const Tensors& tensors, std::int64_t query) const {
    return places().part(tensors, places().log_sums, query, places().head.keys);
  }
  std::span<const float> hidden_of_head(const Tensors& tensors, std::int64_t of) const {
    return places().part(tensors, places().log_sums, of, places().head.queries * places().head.keys);
  }

 private:
  std::shared_ptr<const Attended> output_;
};

class QueryGradient : public Gradient {
 public:
  explicit QueryGradient(const AttentionPlaces& places)
      : Gradient(places), forms_(steps_gradient_forms(places.head)), basis_{kAttentionOutput, output()} {}

  std::size_t forms() const override { return forms_.size() * output()->forms(); }
  std::string text(std::size_t form) const override {
    return output()->text(form / forms_.size()) + std::string(kThen) + steps_text(own(form));
  }
  std::string shape(std::size_t form) const override {
    return output()->shape(form / forms_.size()) + std::string(kThen) + steps_shape(own(form));
  }
  const Basis* basis() const override { return &basis_; }
  std::vector<std::size_t> forms_on(std::size_t of_output) const override {
    return forms_from(of_output * forms_.size(), forms_.size());
  }
  void add_hidden(std::size_t form, Tensors& tensors) const override {
    tensors.push_back(output()->weights(form / forms_.size(), tensors));
  }

  void compute(std::size_t form, const Tensors& tensors, std::int64_t unit, std::vector<Value>& made) const override {
    std::vector<float> dq(places().head.width);
    query_gradient_in_steps(places().at(tensors, unit / places().queries()),
                            score_gradients(form, tensors, unit, hidden_row(tensors, unit)), own(form), dq);
    add_row(unit, dq, made);
  }

  // Of all heads, as the form of the output and this one make them.
  std::vector<float> all_score_gradients(std::size_t form, const Tensors& tensors) const {
    std::vector<float> all = output()->weights(form / forms_.size(), tensors);
    const std::size_t keys = places().head.keys;
    for (std::int64_t unit = 0; unit < units(); ++unit) {
      const auto row = std::span(all).subspan(static_cast<std::size_t>(unit) * keys, keys);
      std::ranges::copy(score_gradients(form, tensors, unit, row), row.begin());
    }
    return all;
  }

 private:
  const StepsGradientForm& own(std::size_t form) const { return forms_[form % forms_.size()]; }
  std::vector<float> score_gradients(std::size_t form, const Tensors& tensors, std::int64_t unit,
                                     std::span<const float> weights) const {
    const AttentionHead head = places().at(tensors, unit / places().queries());
    std::vector<float> scores(head.keys);
    score_gradients_in_steps(head, places().part(tensors, places().dy, unit, head.width), weights, own(form), scores);
    return scores;
  }

  std::vector<StepsGradientForm> forms_;
  Basis basis_;
};

// Of k, which begins with the gradient of q, or of v.
class SharedInputGradient : public Gradient {
 public:
  SharedInputGradient(const AttentionPlaces& places, bool of_keys)
      : Gradient(places), forms_(share_forms(places.head)), basis_{kAttentionOutput, output()} {
    if (!of_keys) return;
    of_query_ = std::make_shared<QueryGradient>(places);
    basis_ = {kQueryGradient, of_query_};
  }

  std::int64_t units() const override { return places().units(AttentionInput::key); }
  std::size_t forms() const override { return forms_.size() * basis_.output->forms(); }
  std::string text(std::size_t form) const override {
    return basis_.output->text(form / forms_.size()) + std::string(kThen) + share_text(forms_[form % forms_.size()]);
  }
  std::string shape(std::size_t form) const override {
    return basis_.output->shape(form / forms_.size()) + std::string(kThen) + share_shape(forms_[form % forms_.size()]);
  }
  const Basis* basis() const override { return &basis_; }
  std::vector<std::size_t> forms_on(std::size_t of_basis) const override {
    return forms_from(of_basis * forms_.size(), forms_.size());
  }
  void add_hidden(std::size_t form, Tensors& tensors) const override {
    const std::size_t of_basis = form / forms_.size();
    tensors.push_back(of_query_ ? of_query_->all_score_gradients(of_basis, tensors)
                                : output()->weights(of_basis, tensors));
  }

  void compute(std::size_t form, const Tensors& tensors, std::int64_t unit, std::vector<Value>& made) const override {
    const AttentionHead& sizes = places().head;
    std::vector<float> gradient(sizes.width);
    for (std::int64_t i = 0; i < places().group; ++i) {
      const std::int64_t of_head = unit / places().keys() * places().group + i;
      SharedGradient share{
          hidden_of_head(tensors, of_head),
          places().part(tensors, of_query_ ? places().q : places().dy, of_head, sizes.queries * sizes.width)};
      if (of_query_) share.scale_of_tensor = share.scale_of_sum = sizes.root_of_scale;
      add_share_in_steps(sizes, static_cast<std::size_t>(unit % places().keys()), share, forms_[form % forms_.size()],
                         gradient);
    }
    add_row(unit, gradient, made);
  }

 private:
  std::vector<ChainForm> forms_;
  std::shared_ptr<const QueryGradient> of_query_;
  Basis basis_;
};

}  // namespace
}  // namespace stepwise_attention_output

std::shared_ptr<const FormedOutput> attention_in_steps(const AttentionPlaces& places) {
  return std::make_shared<stepwise_attention_output::Attended>(places);
}

std::shared_ptr<const FormedOutput> attention_gradient_in_steps(const AttentionPlaces& places, AttentionInput of) {
  if (of == AttentionInput::query) return std::make_shared<stepwise_attention_output::QueryGradient>(places);
  return std::make_shared<stepwise_attention_output::SharedInputGradient>(places, of == AttentionInput::key);
}

}  // namespace reprobench
