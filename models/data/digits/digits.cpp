#include "models/data/digits/digits.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace reprobench {
namespace {

constexpr int kSourceSide = 8;
constexpr int kDenominator = 14;
constexpr std::size_t kRecordBytes = 65;
constexpr std::size_t kRecords = 1797;

struct Tap {
  int first;   // source pixel left of the output's centre
  int second;  // and right of it
  int weight;  // of `second`, in 14ths
};

constexpr std::array<Tap, kDigitSide> make_taps() {
  std::array<Tap, kDigitSide> taps{};
  for (int x = 0; x < kDigitSide; ++x) {
    const int position = std::clamp(4 * x - 5, 0, (kSourceSide - 1) * kDenominator);
    const int first = position / kDenominator;
    taps[static_cast<std::size_t>(x)] = {first, std::min(first + 1, kSourceSide - 1), position % kDenominator};
  }
  return taps;
}

constexpr auto kTaps = make_taps();

}  // namespace

std::array<float, kDigitPixels> scale_digit(std::span<const unsigned char, 64> scan) {
  std::array<float, kDigitPixels> image{};
  std::size_t out = 0;
  for (const Tap& row : kTaps) {
    const auto source = [&](int x) {
      const auto at = [&](int y) { return int{scan[static_cast<std::size_t>(y * kSourceSide + x)]}; };
      return (kDenominator - row.weight) * at(row.first) + row.weight * at(row.second);
    };
    for (const Tap& column : kTaps) {
      const int sum = (kDenominator - column.weight) * source(column.first) + column.weight * source(column.second);
      image[out++] = static_cast<float>(sum) * 0x1p-12f;
    }
  }
  return image;
}

Digits load_digits(const std::filesystem::path& data_folder) {
  const std::filesystem::path path = data_folder / "digits" / "digits.bin";
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path.string() + ": cannot be opened");
  const std::vector<unsigned char> bytes{std::istreambuf_iterator<char>(file), {}};
  if (bytes.size() != kRecords * kRecordBytes) {
    throw std::runtime_error(path.string() + ": holds " + std::to_string(bytes.size()) + " bytes, expected " +
                             std::to_string(kRecords * kRecordBytes));
  }
  Digits digits;
  digits.count = kRecords;
  digits.images.reserve(kRecords * kDigitPixels);
  for (std::size_t i = 0; i < kRecords; ++i) {
    const std::span<const unsigned char, 64> scan(bytes.data() + i * kRecordBytes, 64);
    const unsigned char label = bytes[i * kRecordBytes + 64];
    if (label > 9 || std::any_of(scan.begin(), scan.end(), [](unsigned char pixel) { return pixel > 16; })) {
      throw std::runtime_error(path.string() + ": record " + std::to_string(i) + " is out of range");
    }
    const auto image = scale_digit(scan);
    digits.images.insert(digits.images.end(), image.begin(), image.end());
    digits.labels.push_back(label);
  }
  return digits;
}

}  // namespace reprobench
