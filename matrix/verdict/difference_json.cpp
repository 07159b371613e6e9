#include "matrix/verdict/difference_json.hpp"

#include "matrix/contract/number.hpp"
#include "matrix/contract/safetensors.hpp"
#include "matrix/verdict/snapshot_comparison.hpp"

namespace reprobench {
namespace {

std::int64_t sign_extended(std::uint64_t bits, std::size_t bytes) {
  const auto unused = static_cast<int>(64 - 8 * bytes);
  return static_cast<std::int64_t>(bits << unused) >> unused;
}

nlohmann::json element_value_json(std::string_view dtype, std::uint64_t bits) {
  const ElementType type = element_type_of(dtype);
  if (is_floating(type)) return json_number(element_value(type, bits));
  if (safetensors_dtype(dtype) == nullptr) return nullptr;
  if (dtype.front() == 'I') return sign_extended(bits, element_bytes(type));
  return bits;
}

nlohmann::json element_json(std::string_view dtype, std::uint64_t bits) {
  const std::size_t digits = 2 * element_bytes(element_type_of(dtype));
  return {{"value", element_value_json(dtype, bits)}, {"bits", hex64(bits).substr(16 - digits)}};
}

}  // namespace

nlohmann::json element_pair_json(std::string_view dtype, const std::optional<ElementPair>& pair) {
  if (!pair) return nullptr;
  return {{"index", pair->index},
          {"measured", element_json(dtype, pair->bits_a)},
          {"reference", element_json(dtype, pair->bits_b)},
          {"ulp", pair->ulp ? nlohmann::json(*pair->ulp) : nlohmann::json(nullptr)}};
}

nlohmann::json ulp_histogram_json(const std::array<std::int64_t, kUlpBuckets>& histogram) {
  std::size_t used = histogram.size();
  while (used > 0 && histogram[used - 1] == 0) --used;
  nlohmann::json list = nlohmann::json::array();
  for (std::size_t bucket = 0; bucket < used; ++bucket) list.push_back(histogram[bucket]);
  return list;
}

}  // namespace reprobench
