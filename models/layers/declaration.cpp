#include "models/layers/declaration.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace reprobench {
namespace {

Extent with_last(Extent x, std::int64_t width, bool has_gradient) {
  if (!x.shape.empty()) x.shape.back() = width;
  x.has_gradient = has_gradient;
  return x;
}

}  // namespace

std::int64_t Extent::elements() const {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

void Declaration::count(std::int64_t multiply_adds, const Extent& a, const Extent& b) {
  multiply_adds_ += multiply_adds * (1 + (a.has_gradient ? 1 : 0) + (b.has_gradient ? 1 : 0));
}

Extent Declaration::made(Extent out, const std::vector<Extent>& read, const std::vector<ActivationTape::Id>& saved,
                         std::int64_t gradients) {
  std::vector<ActivationTape::Id> ids;
  for (const Extent& input : read) {
    ids.push_back(input.id);
    if (input.id == ActivationTape::kNone && input.has_gradient) gradients += input.parameter_elements;
  }
  const auto needed = out.has_gradient ? saved : std::vector<ActivationTape::Id>{};
  out.id = tape.make(out.elements(), std::move(ids), needed, gradients, out.has_gradient);
  out.parameter_elements = 0;
  return out;
}

Extent Declaration::field(std::string_view, std::vector<std::int64_t> sample_shape) {
  sample_shape.insert(sample_shape.begin(), batch_size_);
  const Extent field = made({std::move(sample_shape)}, {}, {});
  tape.hold(field.id);
  return field;
}

Extent Declaration::parameter(ParameterSpec spec) {
  Extent value{spec.shape, !spec.frozen};
  value.parameter_elements = value.elements();
  parameters.push_back(std::move(spec));
  return value;
}

Extent Declaration::table(const std::string& name, const std::vector<std::int64_t>& shape,
                          const std::function<std::vector<float>()>& values) {
  buffers.push_back({name, shape, 0, values()});
  return {shape};
}

Extent Declaration::embedding(const Extent& tokens, const Extent& rows, const std::string& name) {
  Extent x = tokens;
  x.shape.push_back(rows.shape.back());
  x.has_gradient = rows.has_gradient;
  x = shown(made(x, {tokens, rows}, {}), name);
  embedded_ = x.id;
  return x;
}

Extent Declaration::linear(const Extent& x, const std::string& name, const Linear& linear) {
  const Extent weight =
      parameter({name + ".weight", {linear.out, x.shape.back()}, linear.init_scale, 0, linear.frozen});
  std::int64_t gradients = linear.frozen ? 0 : weight.elements();
  if (linear.bias) gradients += linear.frozen ? 0 : linear.out;
  if (linear.bias) parameter({name + ".bias", {linear.out}, 0, 0, linear.frozen});
  count(x.elements() * linear.out, x, weight);
  const Extent out = with_last(x, linear.out, x.has_gradient || weight.has_gradient);
  return shown(made(out, {x}, {linear.frozen ? ActivationTape::kNone : x.id}, gradients), name);
}

Extent Declaration::patches(const Extent& image, const std::string& name, const Patches& patches) {
  const std::int64_t channels = image.shape[1];
  const Extent weight =
      parameter({name + ".weight", {patches.out, channels, patches.side, patches.side}, patches.init_scale});
  if (patches.bias) parameter({name + ".bias", {patches.out}});
  const std::int64_t count_of_patches = (image.shape[2] / patches.side) * (image.shape[3] / patches.side);
  Extent cut{{image.shape[0], count_of_patches, channels * patches.side * patches.side}, image.has_gradient};
  count(cut.elements() * patches.out, cut, weight);
  const std::int64_t gradients = weight.elements() + (patches.bias ? patches.out : 0);
  return shown(made(with_last(cut, patches.out, true), {image}, {image.id}, gradients), name);
}

Extent Declaration::layer_norm(const Extent& x, const std::string& name) {
  const std::int64_t width = x.shape.back();
  parameter({name + ".weight", {width}, 0, 1});
  parameter({name + ".bias", {width}});
  return shown(made(with_last(x, width, true), {x}, {x.id}, 2 * width), name);
}

// Square, mean and its root, scaled, times the weight: the calls of Pass::rms_norm.
Extent Declaration::rms_norm(const Extent& x, const std::string& name, bool frozen) {
  const Extent weight = parameter({name + ".weight", {x.shape.back()}, 0, 1, frozen});
  const Extent square = made(x, {x}, {x.id});
  const Extent mean = made(with_last(square, 1, x.has_gradient), {square}, {});
  const Extent root = made(mean, {mean}, {});
  tape.save(root.id, x.has_gradient ? root.id : ActivationTape::kNone);
  const Extent scaled = made(x, {x, root}, {x.id, root.id});
  const Extent out = with_last(x, x.shape.back(), x.has_gradient || weight.has_gradient);
  return shown(made(out, {scaled}, {frozen ? ActivationTape::kNone : scaled.id}, frozen ? 0 : x.shape.back()), name);
}

// Query, key and value are copied head by head; then product, scale, mask, softmax, product, and back.
Extent Declaration::attention(const Extent& query, const Extent& key, const Extent& value, const std::string& name,
                              const Attention& attention) {
  const std::int64_t multiply_adds = query.elements() * key.shape[1];  // B H T D S
  const Extent scored{{}, query.has_gradient || key.has_gradient};
  count(multiply_adds, query, key);
  count(multiply_adds, scored, value);
  const auto by_heads = [&](const Extent& x, std::int64_t heads) {
    return made({{x.elements() / heads * attention.heads}, x.has_gradient}, {x}, {});
  };
  const Extent queries = by_heads(query, attention.heads);
  const Extent keys = by_heads(key, attention.kv_heads);
  const Extent values = by_heads(value, attention.kv_heads);
  const std::int64_t count_of_scores = query.shape[0] * attention.heads * query.shape[1] * key.shape[1];
  const Extent shape{{count_of_scores}, scored.has_gradient};
  const Extent product = made(shape, {queries, keys}, {queries.id, keys.id});
  const Extent scores = shown(made(shape, {product}, {}), name + ".scores");
  const Extent seen = attention.causal ? made(shape, {scores}, {}) : scores;
  const Extent weights = shown(made(shape, {seen}, {}), name + ".softmax");
  if (shape.has_gradient) tape.save(weights.id, weights.id);
  const Extent out = with_last(query, query.shape.back(), scored.has_gradient || value.has_gradient);
  const Extent heads = made(out, {weights, values}, {weights.id, values.id});
  return shown(made(out, {heads}, {}), name + ".mixed");
}

Extent Declaration::product(const Extent& x, const Extent& rows, const std::string& name) {
  count(x.elements() * rows.shape.front(), x, rows);
  // A table that gives its rows at the beginning and takes them up at the end has one gradient.
  if (rows.parameter_elements > 0 && rows.has_gradient) tape.share_gradient(embedded_);
  const Extent out = with_last(x, rows.shape.front(), x.has_gradient || rows.has_gradient);
  return shown(made(out, {x, rows}, {rows.has_gradient ? x.id : ActivationTape::kNone, rows.id}), name);
}

Extent Declaration::add(const Extent& a, const Extent& b, double times) {
  const Extent out = with_last(a, a.shape.back(), a.has_gradient || b.has_gradient);
  return made(out, {a, times == 1 ? b : made(b, {b}, {})}, {});
}
Extent Declaration::multiply(const Extent& a, const Extent& b) {
  return made(with_last(a, a.shape.back(), a.has_gradient || b.has_gradient), {a, b}, {a.id, b.id});
}
Extent Declaration::times_exponential(const Extent& x, const Extent& exponent) {
  return made(with_last(x, x.shape.back(), x.has_gradient || exponent.has_gradient), {x, exponent}, {x.id});
}

Extent Declaration::rotate(const Extent& x, const Extent&, const Extent&, std::int64_t) {
  const Extent turned = made(x, {x}, {});  // each half times cosines and sines
  return made(x, {turned}, {});
}
Extent Declaration::gelu(const Extent& x, const std::string& name) { return shown(made(x, {x}, {x.id}), name); }
Extent Declaration::quick_gelu(const Extent& x, const std::string& name) {
  const Extent scaled = made(x, {x}, {});
  const Extent share = made(x, {scaled}, {});
  if (x.has_gradient) tape.save(share.id, share.id);
  return shown(made(x, {x, share}, {x.id, share.id}), name);
}
Extent Declaration::silu(const Extent& x, const std::string& name) { return gelu(x, name); }
Extent Declaration::normalized(const Extent& x) { return made(x, {x, made(x, {x}, {x.id})}, {x.id}); }
Extent Declaration::shown(const Extent& x, const std::string&) {
  tape.show(x.id);
  return x;
}
void Declaration::choice(const Extent& scores, const std::string&) { tape.show(scores.id); }

Extent Declaration::for_each_of(const Extent& samples, const Extent& x) const {
  const std::int64_t width = x.shape.back();
  Extent all = x;
  all.shape = {samples.shape.front(), x.elements() / width, width};
  return all;
}

Extent Declaration::concatenated(const Extent& a, const Extent& b) {
  Extent both = with_last(a, a.shape.back(), a.has_gradient || b.has_gradient);
  both.shape[1] += b.shape[1];
  return made(both, {a, b}, {});
}

Extent Declaration::positions(const Extent& x, std::int64_t, std::int64_t count) const {
  Extent part = x;
  part.shape[1] = count;
  return part;
}

Extent Declaration::first(const Extent& x) const {
  Extent one = x;
  one.shape = {x.shape.front(), x.shape.back()};
  return one;
}
Extent Declaration::position(const Extent& x, const Extent&) {
  return made({{x.shape.front(), x.shape.back()}, x.has_gradient}, {x}, {});
}

Extent Declaration::frames_apart(const Extent& x) const {
  Extent apart = x;
  apart.shape.erase(apart.shape.begin());
  apart.shape.front() *= x.shape.front();
  return apart;
}

Extent Declaration::frames_together(const Extent& x, std::int64_t frames) const {
  Extent together = x;
  together.shape[0] /= frames;
  together.shape[1] *= frames;
  return together;
}

}  // namespace reprobench
