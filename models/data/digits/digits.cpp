#include "models/data/digits/digits.hpp"

#include <algorithm>
#include <cstring>
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

class DigitSamples final : public DataSet {
 public:
  explicit DigitSamples(Digits digits) : digits_(std::move(digits)) {}

  std::int64_t size() const override { return digits_.count; }
  SampleLayout input() const override { return {ElementType::float32, {kDigitPixels}}; }
  SampleLayout target() const override { return {ElementType::int64, {}}; }

  void copy_input(std::int64_t sample, std::byte* to) const override {
    std::memcpy(to, digits_.images.data() + sample * kDigitPixels, kDigitPixels * sizeof(float));
  }
  void copy_target(std::int64_t sample, std::byte* to) const override {
    std::memcpy(to, &digits_.labels[static_cast<std::size_t>(sample)], sizeof(std::int64_t));
  }

  Digest digest() const override {
    const std::int64_t image_shape[] = {digits_.count, kDigitPixels};
    const std::int64_t label_shape[] = {digits_.count};
    return DigestBuilder()
        .append(tensor_digest("float32", image_shape, std::as_bytes(std::span(digits_.images))))
        .append(tensor_digest("int64", label_shape, std::as_bytes(std::span(digits_.labels))))
        .finish();
  }

 private:
  Digits digits_;
};

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

std::unique_ptr<DataSet> open_digits(const std::filesystem::path& data_folder, std::int64_t) {
  return std::make_unique<DigitSamples>(load_digits(data_folder));
}

}  // namespace reprobench
