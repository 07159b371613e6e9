#include "matrix/numerics/steps/snapshot_comparison.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/base/number.hpp"
#include "matrix/base/safetensors.hpp"
#include "matrix/contract/document/reader.hpp"
#include "matrix/stats/error_budget.hpp"

namespace reprobench {
namespace {

std::int64_t sign_extended(std::uint64_t bits, std::size_t bytes) {
  const auto unused = static_cast<int>(64 - 8 * bytes);
  return static_cast<std::int64_t>(bits << unused) >> unused;
}

SnapshotElement element(std::string_view dtype, std::uint64_t bits) {
  const ElementType type = element_type_of(dtype);
  const std::string digits = hex64(bits).substr(16 - 2 * element_bytes(type));
  if (is_floating(type)) return {json_number(element_value(type, bits)), digits};
  if (safetensors_dtype(dtype) == nullptr) return {nullptr, digits};
  if (dtype.front() == 'I') return {sign_extended(bits, element_bytes(type)), digits};
  return {bits, digits};
}

// Nothing if ULP show the distance, and if there is no number to divide by.
std::optional<double> rms_distance(ElementType type, const ElementPair& pair, double rms) {
  if (!pair.ulp || *pair.ulp <= kMostUlpShown || !(rms > 0)) return std::nullopt;
  const double apart = std::abs(element_value(type, pair.bits_a) - element_value(type, pair.bits_b));
  if (!std::isfinite(apart)) return std::nullopt;
  return apart / rms;
}

std::optional<SnapshotPair> pair_of(std::string_view dtype, const std::optional<ElementPair>& pair, double rms) {
  if (!pair) return std::nullopt;
  return SnapshotPair{pair->index, element(dtype, pair->bits_a), element(dtype, pair->bits_b), pair->ulp,
                      rms_distance(element_type_of(dtype), *pair, rms)};
}

void add_difference(const Difference& difference, bool has_arithmetic, TensorComparison& result) {
  result.match = difference.equal_bits() ? Match::equal : Match::differs;
  result.elements = difference.count;
  result.differing = difference.differing;
  if (difference.first_block >= 0) result.first_block = difference.first_block;
  const double rms =
      std::sqrt(difference.reference_squares / static_cast<double>(std::max<std::int64_t>(1, difference.count)));
  result.first = pair_of(result.dtype, difference.first, rms);
  result.largest_ulp = pair_of(result.dtype, difference.largest, rms);
  result.nan_mismatches = difference.nan_mismatches;
  result.nan_payloads = difference.nan_payloads;
  result.inf_mismatches = difference.inf_mismatches;
  result.zero_signs = difference.zero_signs;
  if (!has_arithmetic) return;
  result.ulp_histogram = used_buckets(difference.ulp_histogram);
  result.rel_l2 = relative_l2(difference.difference_squares, difference.reference_squares, difference.count, 0);
  result.max_abs = difference.max_abs;
}

// Reads two files by pieces, so that the memory that it takes does not grow with theirs. A file that somebody cuts
// meanwhile is an error; a mapped one would end the process.
class PiecewiseDiff {
 public:
  PiecewiseDiff(const SafetensorsFile& measured, const SafetensorsFile& reference)
      : measured_(measured), reference_(reference), a_(kPieceBytes), b_(kPieceBytes) {}

  Difference operator()(ElementType type, const TensorView& a, const TensorView& b) {
    std::uint64_t done = 0;
    return diff(type, [&]() -> DiffPiece {
      const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(kPieceBytes, a.bytes.size() - done));
      const DiffPiece piece{std::span(a_).first(size), std::span(b_).first(size)};
      measured_.read(a.offset_bytes + done, std::span(a_).first(size));
      reference_.read(b.offset_bytes + done, std::span(b_).first(size));
      done += size;
      return piece;
    });
  }

 private:
  static constexpr std::size_t kPieceBytes = 2 * kDiffBlockBytes;  // both sides fit into a core's own cache

  const SafetensorsFile& measured_;
  const SafetensorsFile& reference_;
  std::vector<std::byte> a_;
  std::vector<std::byte> b_;
};

TensorComparison compare_tensor(const TensorView& measured, const TensorView& reference, PiecewiseDiff& diff_of) {
  TensorComparison result;
  result.name = measured.name;
  result.dtype = measured.dtype;
  result.shape = measured.shape;
  result.match = Match::not_comparable;
  if (measured.dtype != reference.dtype) {
    result.reason = fmt::format("type {} against {}", measured.dtype, reference.dtype);
  } else if (measured.shape != reference.shape) {
    result.reason =
        fmt::format("shape [{}] against [{}]", fmt::join(measured.shape, ", "), fmt::join(reference.shape, ", "));
  } else if (measured.bytes.size() != reference.bytes.size()) {
    result.reason = fmt::format("{} bytes against {}", measured.bytes.size(), reference.bytes.size());
  } else {
    const ElementType type = element_type_of(measured.dtype);
    add_difference(diff_of(type, measured, reference), is_floating(type), result);
  }
  return result;
}

bool is_worse(const TensorComparison& a, const TensorComparison& b) {
  const auto rank = [](const TensorComparison& tensor) {
    return std::tuple(tensor.match == Match::not_comparable, tensor.one_sided() > 0, tensor.match == Match::differs,
                      tensor.rel_l2.value_or(0), tensor.differing.value_or(0));
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
  const SnapshotPair& first = *tensor.first;
  std::string text =
      fmt::format("worst `{}`: {} of {} elements, first element {} (bits {} against {}", tensor.name, *tensor.differing,
                  *tensor.elements, first.index, first.measured.bits, first.reference.bits);
  if (first.ulp) text += ", " + distance_text(first.ulp, first.distance_rms);
  text += ")";
  if (tensor.rel_l2) text += fmt::format(", relative L2 {:.2e}", *tensor.rel_l2);
  if (tensor.one_sided() > 0) text += fmt::format(", {} NaN or infinite on one side only", tensor.one_sided());
  return text;
}

// NaN or infinite on both sides: equal bits of these say nothing of a computation.
std::int64_t not_finite_alike(const TensorComparison& tensor) {
  if (!tensor.ulp_histogram || !tensor.elements) return 0;
  const std::int64_t finite =
      std::accumulate(tensor.ulp_histogram->begin(), tensor.ulp_histogram->end(), std::int64_t{0});
  return *tensor.elements - finite - tensor.one_sided();
}

// "; 5 of its 100 elements are NaN or infinite on both sides", and of which tensors; empty: none is.
std::string alike_text(const SnapshotComparison& comparison) {
  std::int64_t elements = 0;
  std::int64_t not_finite = 0;
  std::string first;
  for (const TensorComparison& tensor : comparison.tensors) {
    const std::int64_t here = not_finite_alike(tensor);
    elements += tensor.elements.value_or(0);
    not_finite += here;
    if (here > 0 && first.empty()) first = tensor.name;
  }
  if (not_finite == 0) return "";
  return fmt::format("{} of {} elements are NaN or infinite on both sides, first in `{}`",
                     not_finite == elements ? "all" : std::to_string(not_finite), elements, first);
}

// False for files of empty tensors alone, in which nothing was compared.
bool has_elements(const SnapshotComparison& comparison) {
  return std::ranges::any_of(comparison.tensors, [](const TensorComparison& tensor) {
    return tensor.match == Match::not_comparable || tensor.elements.value_or(0) > 0;
  });
}

std::string sentence_of(const SnapshotComparison& comparison) {
  const std::int64_t differing = count_of(comparison, Match::differs);
  const std::int64_t not_comparable = count_of(comparison, Match::not_comparable);
  const auto common = static_cast<std::int64_t>(comparison.tensors.size());
  const std::string alike = alike_text(comparison);
  if (comparison.match == Match::equal) {
    return (common == 1 ? "the one tensor has equal bits" : fmt::format("all {} tensors have equal bits", common)) +
           (alike.empty() ? "" : ", but " + alike);
  }
  std::vector<std::string> parts;
  if (common == 0) {
    parts.push_back("the files have no tensor in common");
  } else if (!has_elements(comparison)) {
    parts.push_back(fmt::format("none of the {} common tensors has an element", common));
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
  if (!alike.empty()) parts.push_back(alike);
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace

SnapshotComparison compare_snapshots(const SafetensorsFile& measured, const SafetensorsFile& reference) {
  SnapshotComparison result;
  result.measured = measured.path().string();
  result.reference = reference.path().string();
  PiecewiseDiff diff_of(measured, reference);
  for (const TensorView& tensor : measured.tensors()) {
    if (const TensorView* other = find_tensor(reference.tensors(), tensor.name)) {
      result.tensors.push_back(compare_tensor(tensor, *other, diff_of));
    } else {
      result.extra.push_back(tensor.name);
    }
  }
  for (const TensorView& tensor : reference.tensors()) {
    if (find_tensor(measured.tensors(), tensor.name) == nullptr) result.missing.push_back(tensor.name);
  }
  std::sort(result.tensors.begin(), result.tensors.end(), is_worse);
  const auto common = static_cast<std::int64_t>(result.tensors.size());
  if (count_of(result, Match::not_comparable) == common || !has_elements(result)) {
    result.match = Match::not_comparable;
  } else if (count_of(result, Match::equal) == common && result.missing.empty() && result.extra.empty()) {
    result.match = Match::equal;
  } else {
    result.match = Match::differs;
  }
  result.sentence = sentence_of(result);
  return result;
}

std::string distance_text(std::optional<std::uint64_t> ulp, std::optional<double> distance_rms) {
  if (distance_rms && ulp && *ulp > kMostUlpShown) return fmt::format("{:.2g} of the tensor's RMS", *distance_rms);
  return ulp ? fmt::format("{} ULP", *ulp) : "";
}

nlohmann::json to_json(const SnapshotComparison& comparison) { return written(comparison); }
SnapshotComparison snapshot_comparison_from_json(const nlohmann::json& object) {
  return read_document<SnapshotComparison>(object);
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
