// Outputs of _scaled_dot_product_flash_attention_for_cpu(q, k, v, dropout, is_causal, mask, scale), of its backward
// pass (dy, q, k, v, y, log_sums, dropout, is_causal, mask, scale), and of scaled_dot_product_attention(q, k, v, mask,
// dropout, is_causal, scale, enable_gqa), in fp32, without dropout and mask.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "matrix/orders/attention_places.hpp"
#include "matrix/orders/call_arguments.hpp"
#include "matrix/orders/either_output.hpp"
#include "matrix/orders/formed_families.hpp"
#include "matrix/orders/stepwise_attention.hpp"

namespace reprobench {
namespace attention_output {  // a unity build has several files in one
namespace {

// Places of arguments. The operator that chooses an implementation takes some by their names.
struct AttentionArguments {
  std::string_view name;
  std::size_t q, dropout, is_causal, mask, scale;
  bool is_chosen = false;  // the implementation
  std::size_t enable_gqa = 0;
};
constexpr AttentionArguments kForward = {"_scaled_dot_product_flash_attention_for_cpu", 0, 3, 4, 5, 6};
constexpr AttentionArguments kBackward = {"_scaled_dot_product_flash_attention_for_cpu_backward", 1, 6, 7, 8, 9};
constexpr AttentionArguments kChosen = {"scaled_dot_product_attention", 0, 4, 5, 3, 6, true, 7};
// Of the backward pass.
constexpr std::size_t kDy = 0;
constexpr std::size_t kY = 4;
constexpr std::size_t kLogSums = 5;

const AttentionArguments* arguments_of(std::string_view name) {
  for (const AttentionArguments* one : {&kForward, &kBackward, &kChosen}) {
    if (one->name == name) return one;
  }
  return nullptr;
}

bool has(std::string_view name) { return arguments_of(name) != nullptr; }

// In fp32, with these sizes.
bool is_plain(const DeclaredTensor* tensor, const std::vector<std::int64_t>& shape) {
  return tensor != nullptr && tensor->dtype == "f32" && tensor->shape == shape;
}

class AttentionCall {
 public:
  explicit AttentionCall(const DeclaredCall& declared)
      : declared_(declared), call_(declared), at_(*arguments_of(declared.name)) {}

  // Nothing: not made in a known way.
  std::optional<AttentionPlaces> places() const {
    if (!are_names_known() || !are_tensors_plain() || value(at_.dropout, "", 0.0) != 0 || call_.is_given(at_.mask)) {
      return std::nullopt;
    }
    const std::vector<std::int64_t>& q = call_.tensor(at_.q)->shape;
    const std::vector<std::int64_t>& k = call_.tensor(at_.q + 1)->shape;
    AttentionPlaces places;
    places.heads = q[0] * q[1];
    places.group = q[1] / k[1];
    const double scale = value(at_.scale, "scale", 1 / std::sqrt(static_cast<double>(q[3])));
    places.head = {{},
                   {},
                   {},
                   static_cast<std::size_t>(q[2]),
                   static_cast<std::size_t>(k[2]),
                   static_cast<std::size_t>(q[3]),
                   value(at_.is_causal, "", false),
                   static_cast<float>(scale),
                   static_cast<float>(std::sqrt(scale)),
                   places.group > 1};
    places.q = call_.number(at_.q);
    places.k = call_.number(at_.q + 1);
    places.v = call_.number(at_.q + 2);
    places.is_backward = is_backward();
    places.shows_log_sums = &at_ == &kForward;
    places.dy = is_backward() ? call_.number(kDy) : call_.seed();
    places.y = is_backward() ? call_.number(kY) : call_.seed() + 1;
    places.log_sums = is_backward() ? call_.number(kLogSums) : call_.seed() + 2;
    return places;
  }

  std::shared_ptr<const FormedOutput> output(const AttentionPlaces& places, std::string_view output) const {
    const std::string_view kind = is_backward() ? "output." : "gradient.";
    for (const AttentionInput of : {AttentionInput::query, AttentionInput::key, AttentionInput::value}) {
      if (output != std::string(kind) + std::to_string(static_cast<int>(of))) continue;
      auto in_blocks = attention_gradient_in_blocks(places, of);
      return may_be_in_steps(places) ? either_output(in_blocks, attention_gradient_in_steps(places, of)) : in_blocks;
    }
    if (output == kLogSumsOutput && places.shows_log_sums) return log_sums_in_blocks(places);
    if (output != kAttentionOutput) return nullptr;
    auto in_blocks = attention_in_blocks(places);
    return may_be_in_steps(places) ? either_output(in_blocks, attention_in_steps(places)) : in_blocks;
  }

 private:
  bool is_backward() const { return &at_ == &kBackward; }
  bool may_be_in_steps(const AttentionPlaces& places) const { return at_.is_chosen && places.head.root_of_scale > 0; }

  bool are_names_known() const {
    if (!at_.is_chosen) return call_.is_positional();
    return std::ranges::all_of(declared_.arguments, [](const DeclaredArgument& one) {
      return one.name.empty() || one.name == "scale" || one.name == "enable_gqa";
    });
  }

  template <typename T>
  T value(std::size_t at, std::string_view name, T otherwise) const {
    const auto& all = declared_.arguments;
    auto found =
        std::ranges::find_if(all, [&](const DeclaredArgument& one) { return !name.empty() && one.name == name; });
    if (found == all.end() && at < all.size() && all[at].name.empty()) {
      found = all.begin() + static_cast<std::ptrdiff_t>(at);
    }
    const T* const given = found == all.end() ? nullptr : std::get_if<T>(&found->value);
    return given == nullptr ? otherwise : *given;
  }

  // (samples, heads, sequence, width), and of the backward pass y and log_sums.
  bool are_tensors_plain() const {
    constexpr std::size_t kAxes = 4;
    const DeclaredTensor* const q = call_.tensor(at_.q);
    const DeclaredTensor* const k = call_.tensor(at_.q + 1);
    if (q == nullptr || k == nullptr || q->shape.size() != kAxes || k->shape.size() != kAxes) return false;
    if (product_of(q->shape) == 0 || product_of(k->shape) == 0) return false;
    const bool are_shared = value(at_.enable_gqa, "enable_gqa", false) && at_.is_chosen;
    const std::int64_t heads = are_shared && q->shape[1] % k->shape[1] == 0 ? k->shape[1] : q->shape[1];
    const std::vector<std::int64_t> of_keys = {q->shape[0], heads, k->shape[2], q->shape[3]};
    if (!is_plain(q, q->shape) || !is_plain(k, of_keys) || !is_plain(call_.tensor(at_.q + 2), of_keys)) return false;
    return !is_backward() || (is_plain(call_.tensor(kDy), q->shape) && is_plain(call_.tensor(kY), q->shape) &&
                              is_plain(call_.tensor(kLogSums), {q->shape[0], q->shape[1], q->shape[2]}));
  }

  const DeclaredCall& declared_;
  CallArguments call_;
  const AttentionArguments& at_;
};

std::shared_ptr<const FormedOutput> output_of(const DeclaredCall& declared, std::string_view output,
                                              std::string& why_not) {
  const AttentionCall call(declared);
  const auto places = call.places();
  why_not = places ? "" : "it is called in a way that is not known to be an attention in fp32 without dropout and mask";
  if (!places) return nullptr;
  auto forms = call.output(*places, output);
  if (!forms) why_not = "nothing is added up in it, as far as is known";
  return forms;
}

bool has_text(std::string_view text) { return is_attention_text(text) || is_steps_text(text); }

}  // namespace
}  // namespace attention_output

const FormedFamily kAttentionFamily = {&attention_output::has, &attention_output::output_of,
                                       &attention_output::has_text};

}  // namespace reprobench
