// Two safetensors files, ours or anyone's, tensor by tensor: equal bits, or how far apart and where first.
//
// A tensor with another type or shape on the two sides is not comparable, and two files without a common comparable
// tensor are not comparable: never equal. Files are equal only if they hold the same names and every tensor has equal
// bits.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "kernels/diff/diff.hpp"
#include "matrix/record/safetensors.hpp"
#include "matrix/verdict/match.hpp"

namespace reprobench {

struct TensorComparison {
  std::string name;
  Match match = Match::equal;
  std::string reason;  // of not_comparable: "shape [2, 3] against [3, 2]"
  std::string dtype;   // of the measured side, as in the file
  std::vector<std::int64_t> shape;
  ElementType type = ElementType::raw8;
  Difference difference;  // a: measured, b: reference
  double rel_l2 = 0;      // ||a - b|| / ||b||; infinite where b is all zero and a is not; 0 for raw types
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

SnapshotComparison compare_snapshots(const SafetensorsFile& measured, const SafetensorsFile& reference);

// The document `snapshot_comparison`.
nlohmann::json to_json(const SnapshotComparison& comparison);

// How diff() must read a tensor of this safetensors type; raw8 for one that is not known.
ElementType element_type_of(std::string_view safetensors_dtype_name);

}  // namespace reprobench
