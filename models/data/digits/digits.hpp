// The 1797 handwritten digits of README.md in this folder, scaled from 8x8 to 28x28 by exact arithmetic.
//
// Bilinear with aligned pixel centres: output x lies at (4x - 5) / 14 in source pixels, clamped to [0, 7]. Both weights
// are whole 14ths, so a scaled pixel is an integer between 0 and 16 * 14 * 14 = 3136; divided by 4096 it is exact in
// fp32.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace reprobench {

inline constexpr std::int64_t kDigitSide = 28;
inline constexpr std::int64_t kDigitPixels = kDigitSide * kDigitSide;

struct Digits {
  std::int64_t count = 0;
  std::vector<float> images;         // (count, 784), row-major
  std::vector<std::int64_t> labels;  // (count), 0..9
};

// Reads DIR/digits/digits.bin. Throws std::runtime_error that names the file and what is wrong with it.
Digits load_digits(const std::filesystem::path& data_folder);

// One 8x8 scan with pixels 0..16 as a 28x28 image in 4096ths.
std::array<float, kDigitPixels> scale_digit(std::span<const unsigned char, 64> scan);

}  // namespace reprobench
