#include "models/initial_values.hpp"

#include "kernels/philox/philox_fill.hpp"

namespace reprobench {

std::uint32_t tensor_id(std::string_view name) {
  std::uint32_t hash = 2166136261u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

PhiloxBlock keyed_block(std::uint64_t seed, std::uint32_t tensor, std::uint32_t step, std::uint64_t element) {
  return keyed_block(PhiloxStream{seed, tensor, step}, element);
}

std::vector<float> initial_values(std::uint64_t seed, std::string_view name, std::size_t count, float scale,
                                  float mean) {
  std::vector<float> values(count);
  fill_bell({seed, tensor_id(name), 0}, scale, mean, values);
  return values;
}

}  // namespace reprobench
