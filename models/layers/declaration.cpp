#include "models/layers/declaration.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace reprobench {
namespace {

Extent with_last(Extent x, std::int64_t width, bool has_gradient) {
  x.shape.back() = width;
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

Extent Declaration::field(std::string_view, std::vector<std::int64_t> sample_shape) const {
  sample_shape.insert(sample_shape.begin(), batch_size_);
  return {std::move(sample_shape)};
}

Extent Declaration::parameter(ParameterSpec spec) {
  Extent value{spec.shape, !spec.frozen};
  parameters.push_back(std::move(spec));
  return value;
}

Extent Declaration::table(const std::string& name, const std::vector<std::int64_t>& shape,
                          const std::function<std::vector<float>()>& values) {
  buffers.push_back({name, shape, 0, values()});
  return {shape};
}

Extent Declaration::embedding(const Extent& tokens, const Extent& rows, const std::string&) const {
  Extent x = tokens;
  x.shape.push_back(rows.shape.back());
  x.has_gradient = rows.has_gradient;
  return x;
}

Extent Declaration::linear(const Extent& x, const std::string& name, const Linear& linear) {
  const Extent weight =
      parameter({name + ".weight", {linear.out, x.shape.back()}, linear.init_scale, 0, linear.frozen});
  if (linear.bias) parameter({name + ".bias", {linear.out}, 0, 0, linear.frozen});
  count(x.elements() * linear.out, x, weight);
  return with_last(x, linear.out, x.has_gradient || weight.has_gradient);
}

Extent Declaration::patches(const Extent& image, const std::string& name, const Patches& patches) {
  const std::int64_t channels = image.shape[1];
  const Extent weight =
      parameter({name + ".weight", {patches.out, channels, patches.side, patches.side}, patches.init_scale});
  if (patches.bias) parameter({name + ".bias", {patches.out}});
  const std::int64_t count_of_patches = (image.shape[2] / patches.side) * (image.shape[3] / patches.side);
  const Extent cut{{image.shape[0], count_of_patches, channels * patches.side * patches.side}, image.has_gradient};
  count(cut.elements() * patches.out, cut, weight);
  return with_last(cut, patches.out, true);
}

Extent Declaration::layer_norm(const Extent& x, const std::string& name) {
  parameter({name + ".weight", {x.shape.back()}, 0, 1});
  parameter({name + ".bias", {x.shape.back()}});
  return with_last(x, x.shape.back(), true);
}

Extent Declaration::rms_norm(const Extent& x, const std::string& name, bool frozen) {
  const Extent weight = parameter({name + ".weight", {x.shape.back()}, 0, 1, frozen});
  return with_last(x, x.shape.back(), x.has_gradient || weight.has_gradient);
}

Extent Declaration::attention(const Extent& query, const Extent& key, const Extent& value, const std::string&,
                              const Attention&) {
  const std::int64_t multiply_adds = query.elements() * key.shape[1];  // B H T D S
  const Extent scores{{}, query.has_gradient || key.has_gradient};
  count(multiply_adds, query, key);
  count(multiply_adds, scores, value);
  return with_last(query, query.shape.back(), scores.has_gradient || value.has_gradient);
}

Extent Declaration::product(const Extent& x, const Extent& rows, const std::string&) {
  count(x.elements() * rows.shape.front(), x, rows);
  return with_last(x, rows.shape.front(), x.has_gradient || rows.has_gradient);
}

Extent Declaration::add(const Extent& a, const Extent& b, double) const {
  return with_last(a, a.shape.back(), a.has_gradient || b.has_gradient);
}
Extent Declaration::multiply(const Extent& a, const Extent& b) const { return add(a, b); }
Extent Declaration::times_exponential(const Extent& x, const Extent& exponent) const { return add(x, exponent); }

Extent Declaration::rotate(const Extent& x, const Extent&, const Extent&, std::int64_t) const { return x; }
Extent Declaration::gelu(const Extent& x, const std::string&) const { return x; }
Extent Declaration::quick_gelu(const Extent& x, const std::string&) const { return x; }
Extent Declaration::silu(const Extent& x, const std::string&) const { return x; }
Extent Declaration::normalized(const Extent& x) const { return x; }
Extent Declaration::shown(const Extent& x, const std::string&) const { return x; }
void Declaration::choice(const Extent&, const std::string&) const {}

Extent Declaration::for_each_of(const Extent& samples, const Extent& x) const {
  const std::int64_t width = x.shape.back();
  return {{samples.shape.front(), x.elements() / width, width}, x.has_gradient};
}

Extent Declaration::concatenated(const Extent& a, const Extent& b) const {
  Extent both = add(a, b);
  both.shape[1] += b.shape[1];
  return both;
}

Extent Declaration::positions(const Extent& x, std::int64_t, std::int64_t count) const {
  Extent part = x;
  part.shape[1] = count;
  return part;
}

Extent Declaration::first(const Extent& x) const { return position(x, x); }
Extent Declaration::position(const Extent& x, const Extent&) const {
  return {{x.shape.front(), x.shape.back()}, x.has_gradient};
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
