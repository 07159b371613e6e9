#include "models/initial_values.hpp"

namespace reprobench {

std::uint32_t tensor_id(std::string_view name) {
  std::uint32_t hash = 2166136261u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

PhiloxBlock keyed_block(std::uint64_t seed, std::uint32_t tensor, std::uint32_t step, std::uint64_t element) {
  return philox4x32_10({{static_cast<std::uint32_t>(element), static_cast<std::uint32_t>(element >> 32), step, tensor}},
                       {{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}});
}

std::vector<float> initial_values(std::uint64_t seed, std::string_view name, std::size_t count, float scale,
                                  float mean) {
  std::vector<float> values(count, mean);
  if (scale == 0) return values;
  const std::uint32_t tensor = tensor_id(name);
  for (std::size_t i = 0; i < count; ++i) values[i] += scale * bell(keyed_block(seed, tensor, 0, i));
  return values;
}

}  // namespace reprobench
