// The arithmetic of a block digest, shared by every device: how one 64-bit word at one position contributes.
//
// A block's two lanes are sums, modulo 2^64, of a mix of each word with its position. Addition commutes, so any number
// of threads in any order gives the same bits; with the key of the position a permutation changes the sums. The mix is
// the finaliser of SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014;
// constants of Stafford's variant 13). Lane 1 reuses the value after the first product, so both lanes cost two products
// a word. It finds accidents, not attacks.
#pragma once

#include "kernels/portable.hpp"

namespace reprobench {

struct DigestLanes {
  uint64_t lane[2];
};

constexpr uint64_t kDigestSalt = 0x7265'7072'6f62'656eull;
constexpr uint64_t kDigestStride = 0x9e37'79b9'7f4a'7c15ull;  // 2^64 / golden ratio, odd

// Position key of word `index` of a block.
RB_HOST_DEVICE inline uint64_t digest_key(uint64_t index) { return kDigestSalt + index * kDigestStride; }

// The contribution of `word` to the lanes, given the key of its position.
RB_HOST_DEVICE inline DigestLanes mix_word(uint64_t word, uint64_t key) {
  uint64_t z = word ^ key;
  z = (z ^ (z >> 30)) * 0xbf58'476d'1ce4'e5b9ull;
  const uint64_t half_mixed = z ^ (z >> 27);
  z = half_mixed * 0x94d0'49bb'1331'11ebull;
  z ^= z >> 31;
  return {{z, z ^ (half_mixed << 32 | half_mixed >> 32)}};
}

// The block's digest from its lane sums and its length in bytes; the length distinguishes zero padding from zeros.
RB_HOST_DEVICE inline DigestLanes finish_block(DigestLanes sums, uint64_t byte_count) {
  const DigestLanes first = mix_word(sums.lane[0], digest_key(byte_count));
  const DigestLanes second = mix_word(sums.lane[1], digest_key(~byte_count));
  return {{first.lane[0] + second.lane[1], second.lane[0] + first.lane[1]}};
}

}  // namespace reprobench
