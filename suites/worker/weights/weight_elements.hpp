// Elements of a file of weights as fp32: BF16 and F16 exactly, F64 to the nearest, ties to even; what is beyond fp32's
// range is infinite. In integer arithmetic, so that no setting of the processor (flushed denormals) has a part in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace reprobench {

// Bytes of an element; 0 for a type that weights may not have.
std::size_t weight_element_bytes(std::string_view dtype);

// `from` holds as many elements of that type as `to` takes.
void widen_or_round(std::string_view dtype, std::span<const std::byte> from, std::span<float> to);

// Of what has been converted: where the first element lies that is no finite number, or how many there are.
std::size_t first_not_finite(std::span<const float> values);

// Elements `first` and on of a matrix of `rows` rows, row-major, to their places in its transpose.
void place_transposed(std::span<const float> elements, std::int64_t first, std::int64_t rows, std::int64_t columns,
                      float* transpose);

}  // namespace reprobench
