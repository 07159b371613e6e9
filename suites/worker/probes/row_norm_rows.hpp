// Random rows on which a layer norm's forms are told apart.
#pragma once

#include <cstdint>
#include <vector>

namespace at {
class Tensor;
}

namespace reprobench {

inline constexpr std::int64_t kWidestRow = 16384;              // 1,000 rows are kept
inline constexpr std::int64_t kRowElementsOfRecord = 1 << 23;  // checked of a recorded result: about 0.2 s
inline constexpr std::int64_t kKindsOfRow = 4;

// The elements of an fp32 tensor on the CPU, row-major.
std::vector<float> floats_of(const at::Tensor& tensor);

// Turns numbers around 0 into rows of one kind, which changes with `round`. The kinds are: unchanged; with a mean far
// above the spread; rising along the row, so that results of joining chunks matter; or with a few large numbers at the
// end, which belong to no vector.
void make_kind_of_rows(float* x, std::int64_t rows, std::int64_t width, std::int64_t round);

// Whether two results are the same, but for the bits of a NaN and the sign of a zero.
inline bool is_same(float made, float again) { return made == again || (made != made && again != again); }

}  // namespace reprobench
