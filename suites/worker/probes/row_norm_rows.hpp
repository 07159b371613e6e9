// Random rows on which a layer norm's forms are told apart.
#pragma once

#include <cstdint>
#include <vector>

namespace at {
class Tensor;
}

namespace reprobench {

inline constexpr std::int64_t kWidestRow = 16384;              // 1,000 rows are kept
inline constexpr std::int64_t kRowElementsOfRecord = 1 << 23;  // of a recorded result: about 0.2 s
inline constexpr std::int64_t kKindsOfRow = 4;

// Row-major, of a tensor in fp32 on the CPU.
std::vector<float> floats_of(const at::Tensor& tensor);

// Numbers around 0 become, by turns of `round`: what they are; of a mean far above the spread; rising along the row, so
// that what chunks make where they join counts; or a few large ones at the end, which belong to no vector.
void make_kind_of_rows(float* x, std::int64_t rows, std::int64_t width, std::int64_t round);

// But for the bits of a NaN and the sign of a zero.
inline bool is_same(float made, float again) { return made == again || (made != made && again != again); }

}  // namespace reprobench
