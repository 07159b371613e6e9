// The largest rounding error of an operator, for every element of one output: the tables that local_error.hpp uses,
// with one row for each operator. A bound follows from how the operator computes and holds for every order of
// summation. Each form of the computation that a library is known to use must stay within it.
//
// Rows are for fp32. An operator with an output of 16 bits computes in fp32 and rounds what it stores, if the row names
// the source for that. Its bound is the row's plus those roundings. If intermediate numbers are stored in 16 bits too,
// the row's own bound includes their roundings.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "matrix/contract/operator_record.hpp"
#include "matrix/numerics/bounds/local_error.hpp"
#include "matrix/record/safetensors.hpp"

namespace reprobench {

inline constexpr double kRoundoff = 0x1p-24;  // of fp32
inline constexpr double kFunctionUlps = 2;    // of exp, log, tanh, erf ...

// Error of n roundings in a row, relative to the sum of the sizes of the terms (Higham 2002, lemma 3.1). From 2^24
// roundings on there is no bound.
inline double gamma_n(double n) {
  return n * kRoundoff < 1 ? n * kRoundoff / (1 - n * kRoundoff) : std::numeric_limits<double>::infinity();
}

using Doubles = std::vector<double>;

// A type in which a tensor may be stored.
struct StoredType {
  std::string_view dtype;
  double roundoff;
  double half_of_smallest;  // the largest error of rounding a number below the normal ones
  double overflows_from;    // from here on numbers round to infinity

  bool is_16_bits() const { return roundoff > kRoundoff; }
  // The error of storing a number of this size; 0 in fp32, whose bounds include it.
  double storing(double size) const { return is_16_bits() ? std::max(roundoff * size, half_of_smallest) : 0; }
};

// Null if no bound is derived for this type.
const StoredType* stored_type(std::string_view dtype);

// Sums that an operator stores as `type` whenever a part of their terms has been added. So each part is rounded
// together with what is there already.
class StoredSums {
 public:
  StoredSums(std::size_t count, const StoredType& type) : type_(&type), sums_(count), errors_(count) {}

  // `error` is the error of the term and of adding it in fp32.
  void add(std::size_t place, double term, double error) {
    sums_[place] += term;
    errors_[place] += error;
  }
  void store(std::size_t place) { errors_[place] += type_->storing(std::abs(sums_[place]) + errors_[place]); }
  const std::vector<double>& errors() const { return errors_; }

 private:
  const StoredType* type_;
  std::vector<double> sums_;
  std::vector<double> errors_;
};

std::int64_t element_count(const TensorView& view);
Doubles doubles_of(const TensorView& view);

// Everything from which a bound is made.
struct CapturedCall {
  const OperatorRecord& call;
  std::size_t output;
  std::span<const TensorView> tensors;
  const LocalSettings& settings;
  const TensorView* made;
  Doubles exact;
  double stored_roundoff = kRoundoff;  // of the type of `made`

  const TensorView* tensor(std::string_view kind, std::size_t place) const;
  Doubles values(std::string_view kind, std::size_t place) const;        // empty: not on record
  std::int64_t input_extent(std::size_t input, int from_the_end) const;  // 0: not on record
  const StoredType& type_of_input(std::size_t place) const;              // fp32 if the type is not known
};

// A bound for every element of the output; empty if the tensors on record do not give one.
using MakeBound = Doubles (*)(const CapturedCall& captured);

Doubles no_rounding(const CapturedCall& captured);
Doubles times_result(const CapturedCall& captured, double roundings);
Doubles two_roundings(const CapturedCall& captured);

// Allows `terms` roundings of the summands, a relative error `of_inputs` in them, and one rounding of the result.
Doubles of_magnitude(const CapturedCall& captured, double terms, double of_inputs);

// A tensor as `outer` x `length` x `inner`, by the dimension in the first constant of a call. The length is 0 if there
// is none.
struct Lines {
  std::size_t outer = 0;
  std::size_t length = 0;
  std::size_t inner = 0;
};
Lines lines_of(const CapturedCall& captured);

// How an operator makes an output of 16 bits.
struct SixteenBits {
  int roundings = 0;             // roundings of numbers of the result's size to 16 bits, beside those in the bound
  const char* source = nullptr;  // source for computing in fp32; null: no bound in 16 bits
};

inline constexpr SixteenBits kMovesNumbers{0, "in 16 bits nothing is rounded either"};
inline constexpr SixteenBits kElementwise{1, "in 16 bits fp32 inside and one rounding: ATen/OpMathType.h"};
inline constexpr SixteenBits kReductions{1, "in 16 bits fp32 sums and one rounding: ATen/AccumulateType.h"};
// A mean may be stored as a sum before it is divided.
inline constexpr SixteenBits kMeans{2, "in 16 bits fp32 sums and two roundings: ATen/AccumulateType.h"};
inline constexpr SixteenBits kProducts{
    1, "in 16 bits fp32 sums and one rounding: oneDNN's accumulation mode `strict`, cuBLAS's CUBLAS_COMPUTE_32F"};

struct BoundRow {
  std::vector<std::string_view> names;
  MakeBound bound;
  const char* source;
  SixteenBits sixteen_bits = {};
  bool sums_products = false;        // a setting may keep the sums in 16 bits
  bool multiplies_operands = false;  // all of them of the type of the result
};

// The bound of native_batch_norm, and of the running statistics that it fills.
Doubles batch_norm(const CapturedCall& captured);

// The same of batch_norm, whose statistics are no outputs.
Doubles whole_batch_norm(const CapturedCall& captured);

const std::vector<BoundRow>& forward_bounds();
const std::vector<BoundRow>& backward_bounds();
const std::vector<BoundRow>& attention_bounds();  // forward and backward

}  // namespace reprobench
