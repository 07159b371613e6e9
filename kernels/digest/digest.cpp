#include "kernels/digest/digest.hpp"

#define XXH_INLINE_ALL
#include <bit>
#include <charconv>
#include <cstring>
#include <system_error>

#include <xxhash.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "kernels/digest/word_mix.hpp"

namespace reprobench {
namespace {

static_assert(std::endian::native == std::endian::little, "words are read as they lie in memory");

// What the word at `bytes`, of that position's key, adds to the sums.
[[gnu::always_inline]] inline void add_word(const std::byte* bytes, std::uint64_t key, DigestLanes& sums) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  const DigestLanes mixed = mix_word(word, key);
  sums.lane[0] += mixed.lane[0];
  sums.lane[1] += mixed.lane[1];
}

// Sums the lanes of `count` whole words. Written once and compiled for several instruction sets below: integers give
// the same bits in all of them.
[[gnu::always_inline]] inline DigestLanes sum_words(const std::byte* bytes, std::size_t count) {
  DigestLanes sums{};
  std::uint64_t key = digest_key(0);
  for (std::size_t i = 0; i < count; ++i, key += kDigestStride) add_word(bytes + i * sizeof key, key, sums);
  return sums;
}

using SumWords = DigestLanes (*)(const std::byte*, std::size_t);

[[gnu::optimize("O3")]] DigestLanes sum_words_baseline(const std::byte* bytes, std::size_t count) {
  return sum_words(bytes, count);
}

#ifdef __x86_64__
// AVX2 has no product of 64 bits. `times` makes one of three of 32, from the factor's halves, and `crossed`, the word
// with its halves changed, which lane 1 needs anyway.
[[gnu::always_inline, gnu::target("avx2")]] inline __m256i times(__m256i word, __m256i crossed, __m256i low,
                                                                 __m256i high) {
  const __m256i cross = _mm256_add_epi64(_mm256_mul_epu32(crossed, low), _mm256_mul_epu32(word, high));
  return _mm256_add_epi64(_mm256_mul_epu32(word, low), _mm256_slli_epi64(cross, 32));
}

[[gnu::always_inline, gnu::target("avx2")]] inline __m256i shifted(__m256i word, int bits) {
  return _mm256_xor_si256(word, _mm256_srli_epi64(word, bits));
}

// mix_word() of four words at once, and in the same round of one more by the scalar unit, which would be idle.
[[gnu::target("avx2")]] DigestLanes sum_words_avx2(const std::byte* bytes, std::size_t count) {
  constexpr std::size_t kAtOnce = 4;
  constexpr std::size_t kVectorBytes = kAtOnce * sizeof(std::uint64_t);
  const __m256i low1 = _mm256_set1_epi64x(0x1ce4e5b9);
  const __m256i high1 = _mm256_set1_epi64x(0xbf58476d);
  const __m256i low2 = _mm256_set1_epi64x(0x133111eb);
  const __m256i high2 = _mm256_set1_epi64x(0x94d049bb);
  const auto signed_key = [](std::uint64_t index) { return static_cast<long long>(digest_key(index)); };
  const __m256i stride = _mm256_set1_epi64x(static_cast<long long>(kAtOnce * kDigestStride));
  __m256i keys = _mm256_setr_epi64x(signed_key(0), signed_key(1), signed_key(2), signed_key(3));
  __m256i lanes0 = _mm256_setzero_si256();
  __m256i lanes1 = _mm256_setzero_si256();
  const std::size_t rounds = count / (kAtOnce + 1);
  const std::byte* alone = bytes + rounds * kVectorBytes;
  const std::byte* end = bytes + count * sizeof(std::uint64_t);
  std::uint64_t key = digest_key(rounds * kAtOnce);
  DigestLanes sums{};
  for (std::size_t round = 0; round < rounds; ++round, bytes += kVectorBytes) {
    __m256i z = _mm256_xor_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes)), keys);
    keys = _mm256_add_epi64(keys, stride);
    z = shifted(z, 30);
    const __m256i half_mixed = shifted(times(z, _mm256_srli_epi64(z, 32), low1, high1), 27);
    const __m256i crossed = _mm256_shuffle_epi32(half_mixed, 0xb1);
    z = shifted(times(half_mixed, crossed, low2, high2), 31);
    lanes0 = _mm256_add_epi64(lanes0, z);
    lanes1 = _mm256_add_epi64(lanes1, _mm256_xor_si256(z, crossed));
    add_word(alone, key, sums);
    alone += sizeof key;
    key += kDigestStride;
  }
  for (; alone != end; alone += sizeof key, key += kDigestStride) add_word(alone, key, sums);
  std::uint64_t each[2 * kAtOnce];
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(each), lanes0);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(each + kAtOnce), lanes1);
  for (std::size_t i = 0; i < kAtOnce; ++i) {
    sums.lane[0] += each[i];
    sums.lane[1] += each[kAtOnce + i];
  }
  return sums;
}

[[gnu::optimize("O3"), gnu::target("avx512f,avx512dq,avx512vl,prefer-vector-width=512")]] DigestLanes sum_words_avx512(
    const std::byte* bytes, std::size_t count) {
  return sum_words(bytes, count);
}
#endif

SumWords fastest_sum_words() {
#ifdef __x86_64__
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) return &sum_words_avx512;
  if (__builtin_cpu_supports("avx2")) return &sum_words_avx2;
#endif
  return &sum_words_baseline;
}

}  // namespace

std::string to_hex(const Digest& digest) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text(32, '0');
  for (std::size_t i = 0; i < 16; ++i) {
    text[15 - i] = kDigits[digest.high >> (4 * i) & 15];
    text[31 - i] = kDigits[digest.low >> (4 * i) & 15];
  }
  return text;
}

std::optional<Digest> digest_from_hex(std::string_view digits) {
  Digest digest;
  const auto half = [](std::string_view text, std::uint64_t& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    return error == std::errc() && end == text.data() + text.size();
  };
  const bool is_lower = digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  if (digits.size() != 32 || !is_lower) return std::nullopt;
  if (!half(digits.substr(0, 16), digest.high) || !half(digits.substr(16), digest.low)) return std::nullopt;
  return digest;
}

namespace {

DigestLanes lane_sums(std::span<const std::byte> block) {
  static const SumWords kSumWords = fastest_sum_words();
  const std::size_t words = block.size() / sizeof(std::uint64_t);
  const std::size_t rest = block.size() % sizeof(std::uint64_t);
  DigestLanes sums = kSumWords(block.data(), words);
  if (rest != 0) {
    std::uint64_t last = 0;
    std::memcpy(&last, block.data() + words * sizeof last, rest);
    const DigestLanes mixed = mix_word(last, digest_key(words));
    sums.lane[0] += mixed.lane[0];
    sums.lane[1] += mixed.lane[1];
  }
  return sums;
}

DigestBuilder tensor_builder(std::string_view dtype, std::span<const std::int64_t> shape) {
  DigestBuilder builder;
  builder.append(dtype).append(shape.size());
  for (const std::int64_t size : shape) builder.append(static_cast<std::uint64_t>(size));
  return builder;
}

}  // namespace

Digest block_digest(std::span<const std::byte> block) {
  const DigestLanes digest = finish_block(lane_sums(block), block.size());
  return {digest.lane[0], digest.lane[1]};
}

Digest tensor_digest(std::string_view dtype, std::span<const std::int64_t> shape, std::span<const std::byte> bytes) {
  DigestBuilder builder = tensor_builder(dtype, shape);
  for (std::size_t offset = 0; offset < bytes.size(); offset += kDigestBlockBytes) {
    builder.append(block_digest(bytes.subspan(offset, std::min(kDigestBlockBytes, bytes.size() - offset))));
  }
  return builder.finish();
}

Digest tensor_digest(std::string_view dtype, std::span<const std::int64_t> shape, std::span<const Digest> blocks) {
  DigestBuilder builder = tensor_builder(dtype, shape);
  for (const Digest& block : blocks) builder.append(block);
  return builder.finish();
}

DigestBuilder& DigestBuilder::append(std::uint64_t value) {
  const std::size_t end = bytes_.size();
  bytes_.resize(end + sizeof value);
  std::memcpy(bytes_.data() + end, &value, sizeof value);
  return *this;
}

DigestBuilder& DigestBuilder::append(const Digest& digest) { return append(digest.low).append(digest.high); }

DigestBuilder& DigestBuilder::append(std::string_view text) {
  append(static_cast<std::uint64_t>(text.size()));
  bytes_.insert(bytes_.end(), text.begin(), text.end());
  return *this;
}

Digest DigestBuilder::finish() const {
  const XXH128_hash_t hash = XXH3_128bits(bytes_.data(), bytes_.size());
  return {hash.low64, hash.high64};
}

Digest chain_digest(const Digest& previous, const Digest& root) {
  return DigestBuilder().append(previous).append(root).finish();
}

void append_tensor(DigestBuilder& root, std::string_view name, std::string_view role, std::string_view digest_digits) {
  root.append(name).append(role).append(digest_digits);
}

Digest step_chain_digest(const Digest& previous, const Digest& root, std::string_view loss_bits) {
  return DigestBuilder().append(previous).append(root).append(loss_bits).finish();
}

Digest chain_of_ranks(std::span<const Digest> ranks) {
  if (ranks.size() == 1) return ranks.front();
  DigestBuilder all;
  for (const Digest& rank : ranks) all.append(rank);
  return all.finish();
}

}  // namespace reprobench
