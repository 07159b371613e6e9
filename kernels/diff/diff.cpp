#include "kernels/diff/diff.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

#include "kernels/diff/float_format.hpp"

namespace reprobench {
namespace {

constexpr std::size_t kLanes = 16;

template <class Word>
struct Row {
  std::array<Word, kLanes> a{};
  std::array<Word, kLanes> b{};
};

// Up to 16 elements, the missing ones zero on both sides.
template <class Word>
Row<Word> load_row(const std::byte* a, const std::byte* b, std::size_t width) {
  Row<Word> row;
  if (width == kLanes) {
    std::memcpy(row.a.data(), a, sizeof row.a);
    std::memcpy(row.b.data(), b, sizeof row.b);
  } else {
    std::memcpy(row.a.data(), a, width * sizeof(Word));
    std::memcpy(row.b.data(), b, width * sizeof(Word));
  }
  return row;
}

void note_first(Difference& result, const ElementPair& pair, std::size_t element_size) {
  ++result.differing;
  if (result.first) return;
  result.first = pair;
  result.first_block = pair.index / static_cast<std::int64_t>(kDiffBlockBytes / element_size);
}

template <class Format>
class FloatDiff {
 public:
  using Word = typename Format::Word;

  // A row that is equal and finite on both sides needs one sum alone; false, with nothing added, for any other.
  bool add_equal_row(const Row<Word>& row) {
    if (std::memcmp(row.a.data(), row.b.data(), sizeof row.a) != 0) return false;
    Word finite = 1;
    for (std::size_t j = 0; j < kLanes; ++j) finite &= Format::is_finite(row.b[j]);
    if (finite == 0) return false;
    for (std::size_t j = 0; j < kLanes; ++j) {
      const double y = Format::finite_value(row.b[j]);
      reference_squares_[j] += y * y;
    }
    return true;
  }

  // Three loops of one kind of arithmetic each, so that compilers turn each into vector instructions.
  void add_row(const Row<Word>& row, std::int64_t first_index, std::size_t width) {
    if (add_equal_row(row)) {
      result_.ulp_histogram[0] += static_cast<std::int64_t>(width);
      return;
    }
    Row<Word> finite;  // elements that are finite on both sides; the others are zero
    for (std::size_t j = 0; j < kLanes; ++j) {
      const Word keep = Format::is_finite(row.a[j]) & Format::is_finite(row.b[j]);
      finite.a[j] = static_cast<Word>(row.a[j] & static_cast<Word>(-keep));
      finite.b[j] = static_cast<Word>(row.b[j] & static_cast<Word>(-keep));
    }
    std::array<double, kLanes> x;
    std::array<double, kLanes> y;
    for (std::size_t j = 0; j < kLanes; ++j) x[j] = Format::finite_value(finite.a[j]);
    for (std::size_t j = 0; j < kLanes; ++j) y[j] = Format::finite_value(finite.b[j]);
    for (std::size_t j = 0; j < kLanes; ++j) {
      const double difference = x[j] - y[j];
      const double size = std::fabs(difference);
      difference_squares_[j] += difference * difference;
      reference_squares_[j] += y[j] * y[j];
      max_abs_[j] = size > max_abs_[j] ? size : max_abs_[j];
    }
    for (std::size_t j = 0; j < width; ++j) add_pair(row.a[j], row.b[j], first_index + static_cast<std::int64_t>(j));
  }

  Difference finish(std::int64_t count) {
    result_.count = count;
    for (std::size_t j = 0; j < kLanes; ++j) {
      result_.difference_squares += difference_squares_[j];
      result_.reference_squares += reference_squares_[j];
      result_.max_abs = std::max(result_.max_abs, max_abs_[j]);
    }
    return result_;
  }

 private:
  void add_pair(Word a, Word b, std::int64_t index) {
    const bool finite = Format::is_finite(a) && Format::is_finite(b);
    if (a == b) {
      result_.ulp_histogram[0] += finite;
      return;
    }
    ElementPair pair{index, a, b, std::nullopt};
    const bool nan_a = Format::is_nan(a);
    const bool nan_b = Format::is_nan(b);
    if (nan_a != nan_b) {
      ++result_.nan_mismatches;
    } else if (nan_a) {
      ++result_.nan_payloads;
    } else {
      pair.ulp = Format::ulp_distance(a, b);
      result_.inf_mismatches += !finite;
      result_.zero_signs += *pair.ulp == 0;
    }
    if (finite) {
      ++result_.ulp_histogram[static_cast<std::size_t>(std::bit_width(*pair.ulp))];
      if (!result_.largest || *pair.ulp > *result_.largest->ulp) result_.largest = pair;
    }
    note_first(result_, pair, sizeof(Word));
  }

  Difference result_;
  std::array<double, kLanes> difference_squares_{};
  std::array<double, kLanes> reference_squares_{};
  std::array<double, kLanes> max_abs_{};
};

// Pieces end at blocks, so every element is in the lane that it has in the whole tensor.
template <class Word, class AddRow>
std::int64_t for_each_row(const std::function<DiffPiece()>& next, AddRow add_row) {
  std::int64_t count = 0;
  bool is_last = false;
  for (DiffPiece piece = next(); !piece.a.empty() || !piece.b.empty(); piece = next()) {
    if (piece.a.size() != piece.b.size()) throw std::invalid_argument("diff: the tensors differ in size");
    if (piece.a.size() % sizeof(Word) != 0) {
      throw std::invalid_argument("diff: the size is no multiple of an element's");
    }
    if (is_last) throw std::invalid_argument("diff: a piece before the last one ends within a block");
    is_last = piece.a.size() % kDiffBlockBytes != 0;
    const std::size_t here = piece.a.size() / sizeof(Word);
    for (std::size_t row = 0; row < here; row += kLanes) {
      const std::size_t width = std::min(kLanes, here - row);
      const std::size_t offset = row * sizeof(Word);
      add_row(piece.a.data() + offset, piece.b.data() + offset, count + static_cast<std::int64_t>(row), width);
    }
    count += static_cast<std::int64_t>(here);
  }
  return count;
}

template <class Format>
Difference diff_floats(const std::function<DiffPiece()>& next) {
  using Word = typename Format::Word;
  FloatDiff<Format> result;
  const std::int64_t count = for_each_row<Word>(
      next, [&](const std::byte* a, const std::byte* b, std::int64_t first_index, std::size_t width) {
        result.add_row(load_row<Word>(a, b, width), first_index, width);
      });
  return result.finish(count);
}

template <class Word>
Difference diff_raw(const std::function<DiffPiece()>& next) {
  Difference result;
  result.count = for_each_row<Word>(
      next, [&](const std::byte* a, const std::byte* b, std::int64_t first_index, std::size_t width) {
        if (std::memcmp(a, b, width * sizeof(Word)) == 0) return;
        const auto words = load_row<Word>(a, b, width);
        for (std::size_t j = 0; j < width; ++j) {
          if (words.a[j] == words.b[j]) continue;
          note_first(result, {first_index + static_cast<std::int64_t>(j), words.a[j], words.b[j], std::nullopt},
                     sizeof(Word));
        }
      });
  return result;
}

}  // namespace

std::size_t element_bytes(ElementType type) {
  switch (type) {
    case ElementType::fp64:
    case ElementType::raw64:
      return 8;
    case ElementType::fp32:
    case ElementType::raw32:
      return 4;
    case ElementType::bf16:
    case ElementType::fp16:
    case ElementType::raw16:
      return 2;
    case ElementType::fp8_e4m3fn:
    case ElementType::fp8_e5m2:
    case ElementType::raw8:
      return 1;
  }
  throw std::invalid_argument("diff: no such element type");
}

bool is_floating(ElementType type) { return type < ElementType::raw8; }

double element_value(ElementType type, std::uint64_t bits) {
  switch (type) {
    case ElementType::fp64:
      return Fp64::value(bits);
    case ElementType::fp32:
      return Fp32::value(static_cast<std::uint32_t>(bits));
    case ElementType::bf16:
      return Bf16::value(static_cast<std::uint16_t>(bits));
    case ElementType::fp16:
      return Fp16::value(static_cast<std::uint16_t>(bits));
    case ElementType::fp8_e4m3fn:
      return Fp8E4m3fn::value(static_cast<std::uint8_t>(bits));
    case ElementType::fp8_e5m2:
      return Fp8E5m2::value(static_cast<std::uint8_t>(bits));
    default:
      return std::numeric_limits<double>::quiet_NaN();
  }
}

namespace {

template <class Format>
std::optional<std::uint64_t> distance_in(std::uint64_t bits_a, std::uint64_t bits_b) {
  const auto a = static_cast<typename Format::Word>(bits_a);
  const auto b = static_cast<typename Format::Word>(bits_b);
  if (Format::is_nan(a) || Format::is_nan(b)) return std::nullopt;
  return Format::ulp_distance(a, b);
}

}  // namespace

std::optional<std::uint64_t> ulp_distance(ElementType type, std::uint64_t bits_a, std::uint64_t bits_b) {
  switch (type) {
    case ElementType::fp64:
      return distance_in<Fp64>(bits_a, bits_b);
    case ElementType::fp32:
      return distance_in<Fp32>(bits_a, bits_b);
    case ElementType::bf16:
      return distance_in<Bf16>(bits_a, bits_b);
    case ElementType::fp16:
      return distance_in<Fp16>(bits_a, bits_b);
    case ElementType::fp8_e4m3fn:
      return distance_in<Fp8E4m3fn>(bits_a, bits_b);
    case ElementType::fp8_e5m2:
      return distance_in<Fp8E5m2>(bits_a, bits_b);
    default:
      return std::nullopt;
  }
}

Difference diff(ElementType type, std::span<const std::byte> a, std::span<const std::byte> b) {
  DiffPiece whole{a, b};
  return diff(type, [&] { return std::exchange(whole, {}); });
}

Difference diff(ElementType type, const std::function<DiffPiece()>& next) {
  switch (type) {
    case ElementType::fp64:
      return diff_floats<Fp64>(next);
    case ElementType::fp32:
      return diff_floats<Fp32>(next);
    case ElementType::bf16:
      return diff_floats<Bf16>(next);
    case ElementType::fp16:
      return diff_floats<Fp16>(next);
    case ElementType::fp8_e4m3fn:
      return diff_floats<Fp8E4m3fn>(next);
    case ElementType::fp8_e5m2:
      return diff_floats<Fp8E5m2>(next);
    case ElementType::raw8:
      return diff_raw<std::uint8_t>(next);
    case ElementType::raw16:
      return diff_raw<std::uint16_t>(next);
    case ElementType::raw32:
      return diff_raw<std::uint32_t>(next);
    case ElementType::raw64:
      return diff_raw<std::uint64_t>(next);
  }
  throw std::invalid_argument("diff: no such element type");
}

}  // namespace reprobench
