// How two tensors of the same type and size differ, element by element, from their bytes alone.
//
// Equality is equality of bits: -0 differs from +0, and two NaNs are equal only with equal payloads. The distance in
// ULP is the distance of the two elements in sign-magnitude order. So -0 and +0 are 0 apart, and the smallest negative
// and positive numbers are 2 apart. All sums are fp64 in one fixed order (16 strided lanes), so equal tensors give
// equal sums on every machine. Memory may be unaligned: it usually is a mapped file.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

namespace reprobench {

// raw*: integers, booleans and types without an arithmetic here. Their bits are compared; they have no ULP and no sums.
enum class ElementType { fp64, fp32, bf16, fp16, fp8_e4m3fn, fp8_e5m2, raw8, raw16, raw32, raw64 };

std::size_t element_bytes(ElementType type);
bool is_floating(ElementType type);

// The element with these bits; NaN for raw types.
double element_value(ElementType type, std::uint64_t bits);

// The distance of two elements, as in ElementPair.
std::optional<std::uint64_t> ulp_distance(ElementType type, std::uint64_t bits_a, std::uint64_t bits_b);

inline constexpr std::size_t kDiffBlockBytes = 64 << 10;  // the block of the digest tree

struct ElementPair {
  std::int64_t index = 0;    // logical, row-major
  std::uint64_t bits_a = 0;  // in the low bits
  std::uint64_t bits_b = 0;
  std::optional<std::uint64_t> ulp;  // nothing for raw types and where one of the two is NaN
};

// Bucket 0: 0 ULP; bucket k: 2^(k-1) to 2^k - 1 ULP.
inline constexpr std::size_t kUlpBuckets = 65;

struct Difference {
  std::int64_t count = 0;              // elements
  std::int64_t differing = 0;          // elements whose bits differ
  std::int64_t first_block = -1;       // of 64 KiB, the first with a difference; -1 if there is none
  std::optional<ElementPair> first;    // the first element whose bits differ
  std::optional<ElementPair> largest;  // most ULP among floats that are finite on both sides; the first of equals
  std::int64_t nan_mismatches = 0;     // NaN on exactly one side
  std::int64_t nan_payloads = 0;       // NaN on both sides, with different bits
  std::int64_t inf_mismatches = 0;     // bits differ, neither is NaN and at least one is infinite
  std::int64_t zero_signs = 0;         // -0 against +0
  // Over elements that are finite on both sides:
  std::array<std::int64_t, kUlpBuckets> ulp_histogram{};
  double max_abs = 0;             // of a - b
  double difference_squares = 0;  // sum of (a - b)^2
  double reference_squares = 0;   // sum of b^2

  bool equal_bits() const { return differing == 0; }
};

// Throws std::invalid_argument if the sizes differ or are no multiple of the element's.
Difference diff(ElementType type, std::span<const std::byte> a, std::span<const std::byte> b);

// The same for tensors that are not in memory as a whole. `next` gives one piece of both after another, and an empty
// one at the end. Every piece but the last is whole blocks of kDiffBlockBytes; else throws std::invalid_argument.
struct DiffPiece {
  std::span<const std::byte> a;
  std::span<const std::byte> b;
};
Difference diff(ElementType type, const std::function<DiffPiece()>& next);

// The sums that the error budget needs of `values` against a reference of higher precision. An element that is not
// finite on both sides is left out of the sums and counted: as a mismatch unless both are NaN or both the same
// infinity.
struct ErrorSums {
  std::int64_t count = 0;
  double error_squares = 0;      // sum of (x - h)^2
  double reference_squares = 0;  // sum of h^2
  double max_abs_error = 0;
  double max_abs_reference = 0;
  std::int64_t nan_mismatches = 0;
  std::int64_t inf_mismatches = 0;
};

// Both types must be floating and the element counts equal; else throws std::invalid_argument.
ErrorSums error_sums(ElementType type, std::span<const std::byte> values, ElementType reference_type,
                     std::span<const std::byte> reference);

}  // namespace reprobench
