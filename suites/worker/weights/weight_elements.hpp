// Elements of a file of weights as fp32: BF16 and F16 exactly, F64 to the nearest, ties to even; values beyond fp32's
// range become infinite. The arithmetic is on integers, so that no setting of the processor (flushed denormals)
// matters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace reprobench {

// The size of an element; 0 for a type that weights may not have.
std::size_t weight_element_bytes(std::string_view dtype);

// `from` holds as many elements of that type as `to` takes.
void widen_or_round(std::string_view dtype, std::span<const std::byte> from, std::span<float> to);

// The index of the first converted element that is not finite; the number of elements if all are finite.
std::size_t first_not_finite(std::span<const float> values);

// Writes the elements from `first` on of a row-major matrix of `rows` rows to their places in its transpose.
void place_transposed(std::span<const float> elements, std::int64_t first, std::int64_t rows, std::int64_t columns,
                      float* transpose);

}  // namespace reprobench
