#include "matrix/verdict/snapshot_comparison.hpp"

#include <algorithm>
#include <array>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/contract/number.hpp"
#include "matrix/stats/error_budget.hpp"
#include "matrix/verdict/difference_json.hpp"

namespace reprobench {
namespace {

TensorComparison compare_tensor(const TensorView& measured, const TensorView& reference) {
  TensorComparison result;
  result.name = measured.name;
  result.dtype = measured.dtype;
  result.shape = measured.shape;
  result.type = element_type_of(measured.dtype);
  result.match = Match::not_comparable;
  if (measured.dtype != reference.dtype) {
    result.reason = fmt::format("type {} against {}", measured.dtype, reference.dtype);
  } else if (measured.shape != reference.shape) {
    result.reason =
        fmt::format("shape [{}] against [{}]", fmt::join(measured.shape, ", "), fmt::join(reference.shape, ", "));
  } else if (measured.bytes.size() != reference.bytes.size()) {
    result.reason = fmt::format("{} bytes against {}", measured.bytes.size(), reference.bytes.size());
  } else {
    result.difference = diff(result.type, measured.bytes, reference.bytes);
    result.match = result.difference.equal_bits() ? Match::equal : Match::differs;
    result.rel_l2 = relative_l2(result.difference.difference_squares, result.difference.reference_squares,
                                result.difference.count, 0);
  }
  return result;
}

bool is_worse(const TensorComparison& a, const TensorComparison& b) {
  const auto rank = [](const TensorComparison& tensor) {
    const bool mismatch = tensor.difference.nan_mismatches + tensor.difference.inf_mismatches > 0;
    return std::tuple(tensor.match == Match::not_comparable, mismatch, tensor.match == Match::differs, tensor.rel_l2,
                      tensor.difference.differing);
  };
  const auto rank_a = rank(a);
  const auto rank_b = rank(b);
  return rank_a != rank_b ? rank_a > rank_b : a.name < b.name;
}

std::int64_t count_of(const SnapshotComparison& comparison, Match match) {
  return std::count_if(comparison.tensors.begin(), comparison.tensors.end(),
                       [&](const TensorComparison& tensor) { return tensor.match == match; });
}

std::string first_difference(const TensorComparison& tensor) {
  const ElementPair& first = *tensor.difference.first;
  const auto digits = static_cast<int>(2 * element_bytes(tensor.type));
  std::string text = fmt::format("worst `{}`: {} of {} elements, first element {} (bits {:0{}x} against {:0{}x}",
                                 tensor.name, tensor.difference.differing, tensor.difference.count, first.index,
                                 first.bits_a, digits, first.bits_b, digits);
  if (first.ulp) text += fmt::format(", {} ULP", *first.ulp);
  text += ")";
  if (is_floating(tensor.type)) text += fmt::format(", relative L2 {:.2e}", tensor.rel_l2);
  const std::int64_t mismatches = tensor.difference.nan_mismatches + tensor.difference.inf_mismatches;
  if (mismatches > 0) text += fmt::format(", {} NaN or infinite on one side only", mismatches);
  return text;
}

std::string sentence_of(const SnapshotComparison& comparison) {
  const std::int64_t differing = count_of(comparison, Match::differs);
  const std::int64_t not_comparable = count_of(comparison, Match::not_comparable);
  const auto common = static_cast<std::int64_t>(comparison.tensors.size());
  if (comparison.match == Match::equal) return fmt::format("all {} tensors have equal bits", common);
  std::vector<std::string> parts;
  if (common == 0) {
    parts.push_back("the files have no tensor in common");
  } else if (common == not_comparable) {
    parts.push_back(fmt::format("none of the {} common tensors has one type and shape in both files", common));
  } else {
    parts.push_back(fmt::format("{} of {} tensors differ", differing, common - not_comparable));
    if (not_comparable > 0) parts.push_back(fmt::format("{} not comparable", not_comparable));
  }
  const auto worst = std::find_if(comparison.tensors.begin(), comparison.tensors.end(),
                                  [](const TensorComparison& tensor) { return tensor.match == Match::differs; });
  if (worst != comparison.tensors.end()) parts.push_back(first_difference(*worst));
  if (!comparison.missing.empty()) parts.push_back(fmt::format("{} only in the reference", comparison.missing.size()));
  if (!comparison.extra.empty()) parts.push_back(fmt::format("{} only in the measured file", comparison.extra.size()));
  return fmt::format("{}", fmt::join(parts, "; "));
}

nlohmann::json comparison_json(const TensorComparison& tensor) {
  const Difference& d = tensor.difference;
  const bool compared = tensor.match != Match::not_comparable;
  const bool sums = compared && is_floating(tensor.type);
  const auto counted = [&](const nlohmann::json& value) { return compared ? value : nlohmann::json(nullptr); };
  return {{"name", tensor.name},
          {"dtype", tensor.dtype},
          {"shape", tensor.shape},
          {"match", to_string(tensor.match)},
          {"reason", tensor.reason},
          {"elements", counted(d.count)},
          {"differing", counted(d.differing)},
          {"first_block", d.first_block < 0 ? nlohmann::json(nullptr) : nlohmann::json(d.first_block)},
          {"first", element_pair_json(tensor.dtype, d.first)},
          {"largest_ulp", element_pair_json(tensor.dtype, d.largest)},
          {"ulp_histogram", sums ? ulp_histogram_json(d.ulp_histogram) : nlohmann::json(nullptr)},
          {"rel_l2", sums ? json_number(tensor.rel_l2) : nlohmann::json(nullptr)},
          {"max_abs", sums ? json_number(d.max_abs) : nlohmann::json(nullptr)},
          {"nan_mismatches", counted(d.nan_mismatches)},
          {"nan_payloads", counted(d.nan_payloads)},
          {"inf_mismatches", counted(d.inf_mismatches)},
          {"zero_signs", counted(d.zero_signs)}};
}

}  // namespace

SnapshotComparison compare_snapshots(const SafetensorsFile& measured, const SafetensorsFile& reference) {
  SnapshotComparison result;
  result.measured = measured.path().string();
  result.reference = reference.path().string();
  for (const TensorView& tensor : measured.tensors()) {
    if (const TensorView* other = find_tensor(reference.tensors(), tensor.name)) {
      result.tensors.push_back(compare_tensor(tensor, *other));
    } else {
      result.extra.push_back(tensor.name);
    }
  }
  for (const TensorView& tensor : reference.tensors()) {
    if (find_tensor(measured.tensors(), tensor.name) == nullptr) result.missing.push_back(tensor.name);
  }
  std::sort(result.tensors.begin(), result.tensors.end(), is_worse);
  const auto common = static_cast<std::int64_t>(result.tensors.size());
  if (count_of(result, Match::not_comparable) == common) {
    result.match = Match::not_comparable;
  } else if (count_of(result, Match::equal) == common && result.missing.empty() && result.extra.empty()) {
    result.match = Match::equal;
  } else {
    result.match = Match::differs;
  }
  result.sentence = sentence_of(result);
  return result;
}

nlohmann::json to_json(const SnapshotComparison& comparison) {
  nlohmann::json object = document("snapshot_comparison");
  object["measured"] = comparison.measured;
  object["reference"] = comparison.reference;
  object["match"] = to_string(comparison.match);
  object["sentence"] = comparison.sentence;
  object["tensors"] = nlohmann::json::array();
  for (const TensorComparison& tensor : comparison.tensors) object["tensors"].push_back(comparison_json(tensor));
  object["missing"] = comparison.missing;
  object["extra"] = comparison.extra;
  return object;
}

ElementType element_type_of(std::string_view safetensors_dtype_name) {
  struct Row {
    std::string_view name;
    ElementType type;
  };
  static constexpr std::array kFloats = {
      Row{"F64", ElementType::fp64}, Row{"F32", ElementType::fp32},         Row{"BF16", ElementType::bf16},
      Row{"F16", ElementType::fp16}, Row{"F8_E5M2", ElementType::fp8_e5m2}, Row{"F8_E4M3", ElementType::fp8_e4m3fn},
  };
  for (const Row& row : kFloats) {
    if (row.name == safetensors_dtype_name) return row.type;
  }
  const SafetensorsDtype* dtype = safetensors_dtype(safetensors_dtype_name);
  switch (dtype == nullptr ? 1 : dtype->bytes) {
    case 2:
      return ElementType::raw16;
    case 4:
      return ElementType::raw32;
    case 8:
      return ElementType::raw64;
    default:
      return ElementType::raw8;
  }
}

}  // namespace reprobench
