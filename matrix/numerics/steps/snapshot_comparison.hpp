// Compares two safetensors files, from any source, tensor by tensor: equal bits, or how far apart and where first.
//
// A tensor with different types or shapes on the two sides is not comparable. Two files without a common comparable
// tensor, or with empty ones alone, are not comparable, and never equal. Files are equal only if they hold the same
// names and every tensor has equal bits.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "kernels/diff/diff.hpp"
#include "matrix/contract/document/description.hpp"
#include "matrix/numerics/steps/match.hpp"
#include "matrix/numerics/steps/ulp_histogram.hpp"
#include "matrix/record/safetensors.hpp"

namespace reprobench {

// From here on, a factor of four in fp32, ULP only count how many numbers there are around zero.
inline constexpr std::uint64_t kMostUlpShown = std::uint64_t{1} << 24;

// "3 ULP", "0.0012 of the tensor's RMS"; empty if there is no distance.
std::string distance_text(std::optional<std::uint64_t> ulp, std::optional<double> distance_rms);

struct SnapshotElement {
  nlohmann::json value;  // a number of the type; null for a type that is not known
  std::string bits;      // hex, as many digits as the type has
};

template <>
struct Description<SnapshotElement> {
  static constexpr About about = About::part("element");
  static void fields(auto& field, SnapshotElement& element) {
    field("value", element.value, rule::of_form(Rule::Form::number_or_null).says("Null for a type that is not known."));
    field("bits", element.bits, rule::letters_of("0123456789abcdef", 16));
  }
};

struct SnapshotPair {
  std::int64_t index = 0;  // logical, row-major
  SnapshotElement measured;
  SnapshotElement reference;
  std::optional<std::uint64_t> ulp;         // nothing for types without one, and if one of the two is NaN
  std::optional<double> distance_rms = {};  // in units of the tensor's RMS, if ULP only count numbers around zero
};

template <>
struct Description<SnapshotPair> {
  static constexpr About about = About::part("pair");
  static void fields(auto& field, SnapshotPair& pair) {
    field("index", pair.index, rule::at_least(0));
    field("measured", pair.measured);
    field("reference", pair.reference);
    field("ulp", pair.ulp);
    field.optional("distance_rms", pair.distance_rms,
                   "In units of the tensor's RMS, where ULP only count how many numbers there are around zero.");
  }
};

// The result of a `Difference` (kernels/diff), as far as the two tensors can be compared and their type has an
// arithmetic.
struct TensorComparison {
  std::string name;
  std::string dtype;  // the measured side's, as in the file
  std::vector<std::int64_t> shape;
  Match match = Match::equal;
  std::string reason;  // for not_comparable: "shape [2, 3] against [3, 2]"
  std::optional<std::int64_t> elements;
  std::optional<std::int64_t> differing;
  std::optional<std::int64_t> first_block;
  std::optional<SnapshotPair> first;
  std::optional<SnapshotPair> largest_ulp;
  std::optional<std::vector<std::int64_t>> ulp_histogram;
  std::optional<double> rel_l2;  // ||a - b|| / ||b||; infinite if b is all zero and a is not
  std::optional<double> max_abs;
  std::optional<std::int64_t> nan_mismatches;
  std::optional<std::int64_t> nan_payloads;
  std::optional<std::int64_t> inf_mismatches;
  std::optional<std::int64_t> zero_signs;

  std::int64_t one_sided() const { return nan_mismatches.value_or(0) + inf_mismatches.value_or(0); }
};

template <>
struct Description<TensorComparison> {
  static constexpr About about = About::part("tensor");
  static void fields(auto& field, TensorComparison& tensor) {
    field("name", tensor.name);
    field("dtype", tensor.dtype);
    field("shape", tensor.shape, rule::at_least(0));
    field("match", tensor.match);
    field("reason", tensor.reason);
    field("elements", tensor.elements, rule::at_least(0));
    field("differing", tensor.differing, rule::at_least(0));
    field("first_block", tensor.first_block, rule::at_least(0).says("Of 64 KiB."));
    field("first", tensor.first, "The first element whose bits differ.");
    field("largest_ulp", tensor.largest_ulp, "The one with the most ULP.");
    field("ulp_histogram", tensor.ulp_histogram, kUlpHistogramRule);
    field("rel_l2", tensor.rel_l2);
    field("max_abs", tensor.max_abs);
    field("nan_mismatches", tensor.nan_mismatches, rule::at_least(0));
    field("nan_payloads", tensor.nan_payloads, rule::at_least(0));
    field("inf_mismatches", tensor.inf_mismatches, rule::at_least(0));
    field("zero_signs", tensor.zero_signs, rule::at_least(0));
  }
};

struct SnapshotComparison {
  std::string measured;   // path
  std::string reference;  // path
  Match match = Match::not_comparable;
  std::string sentence;
  std::vector<TensorComparison>
      tensors;                       // worst first: not comparable, then mismatched NaN or Inf, then by relative L2
  std::vector<std::string> missing;  // only in the reference
  std::vector<std::string> extra;    // only in the measured file
};

template <>
struct Description<SnapshotComparison> {
  static constexpr About about = About::document("snapshot_comparison", "Two safetensors files tensor by tensor");
  static void fields(auto& field, SnapshotComparison& comparison) {
    field("measured", comparison.measured);
    field("reference", comparison.reference);
    field("match", comparison.match);
    field("sentence", comparison.sentence);
    field("tensors", comparison.tensors, "Tensors of both files, worst first.");
    field("missing", comparison.missing, "Only in the reference.");
    field("extra", comparison.extra, "Only in the measured file.");
  }
};

// Reads both files by pieces, whatever their size. Throws StoreError for one that is cut meanwhile.
SnapshotComparison compare_snapshots(const SafetensorsFile& measured, const SafetensorsFile& reference);

nlohmann::json to_json(const SnapshotComparison& comparison);

// Throws ContractError naming the field.
SnapshotComparison snapshot_comparison_from_json(const nlohmann::json& json);

// The type as which diff() must read a tensor of this safetensors type; raw8 if it is not known.
ElementType element_type_of(std::string_view safetensors_dtype_name);

}  // namespace reprobench
