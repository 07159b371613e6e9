#include "kernels/digest/digest.hpp"

#include <cstring>
#include <set>
#include <vector>

#include "ci/catch.hpp"
#include "kernels/digest/word_mix.hpp"
#include "kernels/philox/philox.hpp"

namespace reprobench {
namespace {

std::vector<std::byte> noise(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::byte>(philox4x32_10({{static_cast<uint32_t>(i), 0, 0, 0}}, {{11, 0}}).word[0] & 255);
  }
  return bytes;
}

Digest digest_of(const std::vector<std::byte>& bytes) {
  const std::int64_t shape[] = {static_cast<std::int64_t>(bytes.size())};
  return tensor_digest("uint8", shape, bytes);
}

// The definition, one word at a time, from the last to the first.
Digest slow_block_digest(const std::vector<std::byte>& bytes) {
  DigestLanes sums{};
  for (std::size_t i = (bytes.size() + 7) / 8; i-- > 0;) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i * 8, std::min<std::size_t>(8, bytes.size() - i * 8));
    const DigestLanes mixed = mix_word(word, digest_key(i));
    sums.lane[0] += mixed.lane[0];
    sums.lane[1] += mixed.lane[1];
  }
  const DigestLanes finished = finish_block(sums, bytes.size());
  return {finished.lane[0], finished.lane[1]};
}

TEST_CASE("a block digest equals its definition summed in another order, at every length", "[digest]") {
  for (std::size_t size : {0u, 1u, 7u, 8u, 9u, 63u, 64u, 65u, 4096u, 65535u, 65536u}) {
    const auto bytes = noise(size);
    CHECK(block_digest(bytes) == slow_block_digest(bytes));
  }
}

TEST_CASE("a digest does not depend on the alignment of the bytes", "[digest]") {
  const auto bytes = noise(100'003);
  const std::int64_t shape[] = {100'003};
  for (std::size_t shift = 1; shift < 16; ++shift) {
    std::vector<std::byte> shifted(shift);
    shifted.insert(shifted.end(), bytes.begin(), bytes.end());
    CHECK(tensor_digest("uint8", shape, std::span(shifted).subspan(shift)) == digest_of(bytes));
  }
}

TEST_CASE("every single-bit flip, in either of two blocks, changes both halves of the digest", "[digest]") {
  auto bytes = noise(kDigestBlockBytes + 512);
  std::set<std::uint64_t> low{digest_of(bytes).low};
  std::set<std::uint64_t> high{digest_of(bytes).high};
  for (std::size_t bit = 0; bit < 1024; ++bit) {
    auto& byte = bytes[bit < 512 ? bit / 8 : kDigestBlockBytes + bit / 8];
    byte ^= static_cast<std::byte>(1u << bit % 8);
    low.insert(digest_of(bytes).low);
    high.insert(digest_of(bytes).high);
    byte ^= static_cast<std::byte>(1u << bit % 8);
  }
  CHECK(low.size() == 1025);
  CHECK(high.size() == 1025);
}

TEST_CASE("each lane of a block alone tells all single-bit flips apart", "[digest]") {
  auto bytes = noise(4096);
  std::set<std::uint64_t> lanes[2];
  for (std::size_t bit = 0; bit < 4096 * 8; ++bit) {
    bytes[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    const Digest digest = block_digest(bytes);
    lanes[0].insert(digest.low);
    lanes[1].insert(digest.high);
    bytes[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
  }
  CHECK(lanes[0].size() == 4096 * 8);
  CHECK(lanes[1].size() == 4096 * 8);
}

TEST_CASE("swapping two words, or two blocks, changes the digest", "[digest]") {
  const auto bytes = noise(2 * kDigestBlockBytes);
  auto swapped_words = bytes;
  std::swap_ranges(swapped_words.begin(), swapped_words.begin() + 8, swapped_words.begin() + 8);
  auto swapped_blocks = bytes;
  std::swap_ranges(swapped_blocks.begin(), swapped_blocks.begin() + kDigestBlockBytes,
                   swapped_blocks.begin() + kDigestBlockBytes);
  CHECK(digest_of(swapped_words) != digest_of(bytes));
  CHECK(digest_of(swapped_blocks) != digest_of(bytes));
}

TEST_CASE("trailing zeros, shape and dtype are part of a digest", "[digest]") {
  const std::vector<std::byte> zeros(24);
  const std::int64_t flat[] = {6};
  const std::int64_t square[] = {2, 3};
  CHECK(block_digest(std::span(zeros).first(8)) != block_digest(std::span(zeros).first(9)));
  CHECK(tensor_digest("float32", flat, zeros) != tensor_digest("float32", square, zeros));
  CHECK(tensor_digest("float32", flat, zeros) != tensor_digest("int32", flat, zeros));
}

TEST_CASE("appended texts keep their borders and their order", "[digest]") {
  CHECK(DigestBuilder().append("ab").append("c").finish() != DigestBuilder().append("a").append("bc").finish());
  CHECK(DigestBuilder().append("a").append("b").finish() != DigestBuilder().append("b").append("a").finish());
}

TEST_CASE("a chain stays apart after its first difference although later roots agree", "[digest]") {
  Digest a;
  Digest b;
  a = chain_digest(a, {1, 1});
  b = chain_digest(b, {2, 2});
  for (std::uint64_t root = 3; root < 20; ++root) {
    a = chain_digest(a, {root, 0});
    b = chain_digest(b, {root, 0});
    CHECK(a != b);
  }
}

TEST_CASE("digests of fixed bytes never change: stored records depend on them", "[digest]") {
  std::vector<std::byte> counting(70'000);
  for (std::size_t i = 0; i < counting.size(); ++i) counting[i] = static_cast<std::byte>(i * 31 & 255);
  CHECK(to_hex(block_digest(std::span(counting).first(100))) == "9d32baa74011d42372656519be0da1c8");
  CHECK(to_hex(digest_of(counting)) == "da8eee9cb33dccb23897530619017333");
}

}  // namespace
}  // namespace reprobench
