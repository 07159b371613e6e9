// Outputs of _scaled_dot_product_flash_attention_for_cpu(q, k, v, dropout, is_causal, mask, scale) and of its backward
// pass (dy, q, k, v, y, log_sums, dropout, is_causal, mask, scale), in fp32, without dropout and mask.
#include <cmath>
#include <optional>

#include "matrix/orders/call_arguments.hpp"
#include "matrix/orders/formed_families.hpp"
#include "matrix/orders/head_attention.hpp"

namespace reprobench {
namespace attention_output {  // a unity build has several files in one
namespace {

constexpr const char* kOutput = "output.0";
constexpr const char* kLogSums = "output.1";

// Sizes, and where the tensors stand; of a forward call's gradient the outputs stand behind dy.
struct AttentionPlaces {
  std::int64_t heads = 0;  // of all samples
  AttentionHead head;      // without elements
  int q = 0;
  int k = 0;
  int v = 0;
  int dy = 0;
  int y = 0;
  int log_sums = 0;
  bool is_backward = false;  // y and log_sums are operands

  std::int64_t queries() const { return static_cast<std::int64_t>(head.queries); }
  std::int64_t keys() const { return static_cast<std::int64_t>(head.keys); }
  std::int64_t width() const { return static_cast<std::int64_t>(head.width); }

  std::span<const float> part(const FormedOutput::Tensors& tensors, int tensor, std::int64_t at,
                              std::size_t size) const {
    return std::span(tensors[static_cast<std::size_t>(tensor)]).subspan(static_cast<std::size_t>(at) * size, size);
  }
  AttentionHead at(const FormedOutput::Tensors& tensors, std::int64_t of) const {
    AttentionHead one = head;
    one.q = part(tensors, q, of, head.queries * head.width);
    one.k = part(tensors, k, of, head.keys * head.width);
    one.v = part(tensors, v, of, head.keys * head.width);
    return one;
  }
};

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

class AttentionOutput : public FormedOutput {
 public:
  explicit AttentionOutput(const AttentionPlaces& places) : places_(places) {}

  std::int64_t units() const override { return places_.heads * places_.queries(); }
  std::int64_t elements() const override { return units() * places_.width(); }
  std::int64_t terms() const override { return 2 * places_.keys() * places_.width(); }

  void make_kind(std::int64_t round, Tensors& tensors) const override {
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

 protected:
  const AttentionPlaces& places() const { return places_; }
  virtual bool is_gradient() const { return false; }

 private:
  AttentionPlaces places_;
};

class LogSums : public AttentionOutput {
 public:
  explicit LogSums(const AttentionPlaces& places) : AttentionOutput(places), forms_(weights_forms(places.head)) {}

  std::int64_t elements() const override { return units(); }
  std::size_t forms() const override { return forms_.size(); }
  std::string text(std::size_t form) const override { return attention_text(forms_[form]); }
  std::string shape(std::size_t form) const override { return attention_shape(forms_[form]); }
  const WeightsForm& form(std::size_t at) const { return forms_[at]; }

  void compute(std::size_t form, const Tensors& tensors, std::int64_t unit, std::vector<Value>& made) const override {
    const AttentionHead head = places().at(tensors, unit / places().queries());
    const auto query = static_cast<std::size_t>(unit % places().queries());
    made.push_back({unit, attend(head, query, {forms_[form], {}, false}, {})});
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
        basis_{kLogSums, weights_} {}

  std::size_t forms() const override { return weights_->forms() * ends_.size(); }
  std::string text(std::size_t form) const override {
    return weights_->text(form / ends_.size()) + std::string(kThen) + values_text(at(form));
  }
  std::string shape(std::size_t form) const override {
    return weights_->shape(form / ends_.size()) + std::string(kThen) + values_shape(at(form));
  }
  const Basis* basis() const override { return &basis_; }
  std::vector<std::size_t> forms_on(std::size_t weights) const override {
    return forms_from(weights * ends_.size(), ends_.size());
  }

  void compute(std::size_t form, const Tensors& tensors, std::int64_t unit, std::vector<Value>& made) const override {
    const AttentionHead head = places().at(tensors, unit / places().queries());
    std::vector<float> y(head.width);
    attend(head, static_cast<std::size_t>(unit % places().queries()), at(form), y);
    for (std::size_t i = 0; i < y.size(); ++i) {
      made.push_back({unit * places().width() + static_cast<std::int64_t>(i), y[i]});
    }
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

// Of q, k or v. Its own forms stand behind those of the output, unless that is an operand.
class AttentionGradient : public AttentionOutput {
 public:
  AttentionGradient(const AttentionPlaces& places, AttentionInput of)
      : AttentionOutput(places), of_(of), forms_(attention_gradient_forms(places.head, of)) {
    if (!places.is_backward) basis_ = {kOutput, std::make_shared<Attended>(places)};
  }

  std::int64_t units() const override {
    return places().heads * (of_ == AttentionInput::query ? places().queries() : places().keys());
  }
  std::int64_t terms() const override {
    constexpr std::int64_t kProducts = 3;  // a score, the gradient of a weight, and what is added up
    return kProducts * places().width() * (of_ == AttentionInput::query ? places().keys() : places().queries());
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
    return {kOutput, kLogSums};
  }

  void compute(std::size_t form, const Tensors& tensors, std::int64_t unit, std::vector<Value>& made) const override {
    const std::int64_t rows = units() / places().heads;
    const std::int64_t of_head = unit / rows;
    const AttentionHead head = places().at(tensors, of_head);
    const AttentionGradients of = {head, places().part(tensors, places().dy, of_head, head.queries * head.width),
                                   places().part(tensors, places().y, of_head, head.queries * head.width),
                                   places().part(tensors, places().log_sums, of_head, head.queries)};
    const auto row = static_cast<std::size_t>(unit % rows);
    const AttentionGradientForm& as = forms_[form % forms_.size()];
    std::vector<float> gradient(head.width);
    if (of_ == AttentionInput::query) query_gradient(of, row, as, gradient);
    if (of_ == AttentionInput::key) key_gradient(of, row, as, gradient);
    if (of_ == AttentionInput::value) value_gradient(of, row, as, gradient);
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      made.push_back({unit * places().width() + static_cast<std::int64_t>(i), gradient[i]});
    }
  }

 protected:
  bool is_gradient() const override { return true; }

 private:
  AttentionInput of_;
  std::vector<AttentionGradientForm> forms_;
  Basis basis_;
};

constexpr std::string_view kForward = "_scaled_dot_product_flash_attention_for_cpu";
constexpr std::string_view kBackward = "_scaled_dot_product_flash_attention_for_cpu_backward";

bool has(std::string_view name) { return name == kForward || name == kBackward; }

// In fp32, with these sizes.
bool is_plain(const DeclaredTensor* tensor, const std::vector<std::int64_t>& shape) {
  return tensor != nullptr && tensor->dtype == "f32" && tensor->shape == shape;
}

// Nothing: not made in a known way.
std::optional<AttentionPlaces> places_of(const DeclaredCall& declared) {
  const CallArguments call(declared);
  const bool is_backward = declared.name == kBackward;
  const std::size_t q_at = is_backward ? 1 : 0;
  const std::size_t dropout_at = is_backward ? 6 : 3;
  const DeclaredTensor* const q = call.tensor(q_at);
  const DeclaredTensor* const k = call.tensor(q_at + 1);
  constexpr std::size_t kAxes = 4;  // samples, heads, sequence, width
  if (!call.is_positional() || q == nullptr || k == nullptr || q->shape.size() != kAxes || product_of(q->shape) == 0) {
    return std::nullopt;
  }
  std::vector<std::int64_t> of_keys = q->shape;
  if (k->shape.size() == kAxes) of_keys[2] = k->shape[2];
  const bool are_plain = is_plain(q, q->shape) && is_plain(k, of_keys) && is_plain(call.tensor(q_at + 2), of_keys) &&
                         product_of(of_keys) > 0;
  const auto argument = [&]<typename T>(std::size_t at, T otherwise) {
    const auto* given = at < declared.arguments.size() ? std::get_if<T>(&declared.arguments[at].value) : nullptr;
    return given == nullptr ? otherwise : *given;
  };
  const std::size_t mask_at = dropout_at + 2;
  if (!are_plain || argument(dropout_at, 0.0) != 0 || call.is_given(mask_at)) return std::nullopt;

  AttentionPlaces places;
  places.heads = q->shape[0] * q->shape[1];
  places.head.queries = static_cast<std::size_t>(q->shape[2]);
  places.head.keys = static_cast<std::size_t>(of_keys[2]);
  places.head.width = static_cast<std::size_t>(q->shape[3]);
  places.head.is_causal = argument(dropout_at + 1, false);
  const double usual_scale = 1 / std::sqrt(static_cast<double>(q->shape[3]));
  places.head.scale = static_cast<float>(argument(mask_at + 1, usual_scale));
  places.q = call.number(q_at);
  places.k = call.number(q_at + 1);
  places.v = call.number(q_at + 2);
  places.is_backward = is_backward;
  places.dy = is_backward ? call.number(0) : call.seed();
  places.y = is_backward ? call.number(4) : call.seed() + 1;
  places.log_sums = is_backward ? call.number(5) : call.seed() + 2;
  const bool are_given = !is_backward || (is_plain(call.tensor(0), q->shape) && is_plain(call.tensor(4), q->shape) &&
                                          is_plain(call.tensor(5), {q->shape[0], q->shape[1], q->shape[2]}));
  return are_given ? std::optional(places) : std::nullopt;
}

std::shared_ptr<const FormedOutput> output_of(const DeclaredCall& call, std::string_view output, std::string& why_not) {
  const auto places = places_of(call);
  why_not = places ? "" : "it is called in a way that is not known to be an attention in fp32 without dropout and mask";
  if (!places) return nullptr;
  const std::string_view kind = places->is_backward ? "output." : "gradient.";
  if (output == std::string(kind) + "0") return std::make_shared<AttentionGradient>(*places, AttentionInput::query);
  if (output == std::string(kind) + "1") return std::make_shared<AttentionGradient>(*places, AttentionInput::key);
  if (output == std::string(kind) + "2") return std::make_shared<AttentionGradient>(*places, AttentionInput::value);
  if (output == kOutput) return std::make_shared<Attended>(*places);
  if (output == kLogSums) return std::make_shared<LogSums>(*places);
  why_not = "nothing is added up in it, as far as is known";
  return nullptr;
}

}  // namespace
}  // namespace attention_output

const FormedFamily kAttentionFamily = {&attention_output::has, &attention_output::output_of, &is_attention_text};

}  // namespace reprobench
