// Block digests of a list of tensors in one launch. A thread block takes a run of consecutive digest blocks and works
// on one at a time. Each thread adds the words of every 256th pair, eight 16-byte loads in flight, and the block adds
// up its threads. These are sums of integers, so the order changes no bit.
#include "kernels/device/device_code.hpp"
#include "kernels/digest/digest_kernels.hpp"
#include "kernels/digest/word_mix.hpp"

namespace reprobench {
namespace {

constexpr uint32_t kThreads = DigestBlocks::kThreads;
constexpr uint32_t kLoadsInFlight = 8;

__device__ inline void add_word(uint64_t word, uint64_t key, DigestLanes& sums) {
  const DigestLanes mixed = mix_word(word, key);
  sums.lane[0] += mixed.lane[0];
  sums.lane[1] += mixed.lane[1];
}

__device__ inline void add_pairs(const WordPair* pairs, uint32_t count, DigestLanes& sums) {
  uint32_t i = threadIdx.x;
  for (; i + (kLoadsInFlight - 1) * kThreads < count; i += kLoadsInFlight * kThreads) {
    WordPair loaded[kLoadsInFlight];
#pragma unroll
    for (uint32_t k = 0; k < kLoadsInFlight; ++k) loaded[k] = pairs[i + k * kThreads];
    const uint64_t key = digest_key(2 * i);
#pragma unroll
    for (uint32_t k = 0; k < kLoadsInFlight; ++k) {
      add_word(loaded[k].word[0], key + 2 * k * kThreads * kDigestStride, sums);
      add_word(loaded[k].word[1], key + (2 * k * kThreads + 1) * kDigestStride, sums);
    }
  }
  for (; i < count; i += kThreads) {
    const WordPair pair = pairs[i];
    add_word(pair.word[0], digest_key(2 * i), sums);
    add_word(pair.word[1], digest_key(2 * i + 1), sums);
  }
}

// The bytes [begin, end) of a block as one word, padded with zeros.
__device__ inline uint64_t word_of_bytes(const unsigned char* block, uint32_t begin, uint32_t end) {
  uint64_t word = 0;
  for (uint32_t i = begin; i < end; ++i) word |= static_cast<uint64_t>(block[i]) << 8 * (i - begin);
  return word;
}

// A block whose address is no multiple of 16. Words are put together from two aligned ones, but for the first and the
// last, whose aligned neighbours may lie outside the tensor.
__device__ inline void add_unaligned_words(const unsigned char* block, uint32_t count, DigestLanes& sums) {
  const uint32_t shift = static_cast<uint32_t>(reinterpret_cast<uint64_t>(block) & 7);
  const uint64_t* aligned = reinterpret_cast<const uint64_t*>(block - shift);
  for (uint32_t i = threadIdx.x; i < count; i += kThreads) {
    uint64_t word;
    if (shift == 0) {
      word = aligned[i];
    } else if (i == 0 || i + 1 == count) {
      word = word_of_bytes(block, 8 * i, 8 * i + 8);
    } else {
      word = aligned[i] >> 8 * shift | aligned[i + 1] << (64 - 8 * shift);
    }
    add_word(word, digest_key(i), sums);
  }
}

// This thread's share of one block.
__device__ inline DigestLanes thread_sums(const unsigned char* block, uint32_t byte_count) {
  DigestLanes sums = {{0, 0}};
  uint32_t whole_bytes = byte_count / 8 * 8;
  if (is_aligned(block, sizeof(WordPair))) {
    whole_bytes = byte_count / 16 * 16;
    add_pairs(reinterpret_cast<const WordPair*>(block), byte_count / 16, sums);
  } else {
    add_unaligned_words(block, byte_count / 8, sums);
  }
  // At most two words are left; the last may be short.
  const uint32_t begin = whole_bytes + 8 * threadIdx.x;
  if (begin < byte_count) {
    const uint32_t end = begin + 8 < byte_count ? begin + 8 : byte_count;
    add_word(word_of_bytes(block, begin, end), digest_key(begin / 8), sums);
  }
  return sums;
}

// The sum over all threads of the block, in thread 0. `shared` must not be in use by an earlier call.
__device__ inline DigestLanes block_sums(DigestLanes sums, DigestLanes* shared) {
#pragma unroll
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) {
    sums.lane[0] += __shfl_xor_sync(kAllLanes, sums.lane[0], lanes);
    sums.lane[1] += __shfl_xor_sync(kAllLanes, sums.lane[1], lanes);
  }
  if (threadIdx.x % kWarp == 0) shared[threadIdx.x / kWarp] = sums;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (uint32_t warp = 1; warp < kThreads / kWarp; ++warp) {
      sums.lane[0] += shared[warp].lane[0];
      sums.lane[1] += shared[warp].lane[1];
    }
  }
  return sums;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads)
    digest_blocks(DevicePointer<const TensorSpan> spans, uint32_t span_count, uint64_t block_count,
                  DevicePointer<DigestLanes> digests) {
  __shared__ DigestLanes shared[2][kThreads / kWarp];
  uint64_t block = block_count * blockIdx.x / gridDim.x;
  const uint64_t end = block_count * (blockIdx.x + 1) / gridDim.x;
  if (block == end) return;
  uint32_t at = span_of_piece(spans, span_count, block);
  // Two rows of shared memory in turn: a barrier lies between two uses of the same row.
  for (uint32_t row = 0; block < end; ++block, row ^= 1) {
    while (at + 1 < span_count && spans[at + 1].first_piece <= block) ++at;
    const uint64_t offset = (block - spans[at].first_piece) * kDigestKernelBlockBytes;
    const uint64_t rest = spans[at].length - offset;
    const uint32_t byte_count = rest < kDigestKernelBlockBytes ? static_cast<uint32_t>(rest) : kDigestKernelBlockBytes;
    const DigestLanes sums = block_sums(thread_sums(spans[at].data + offset, byte_count), shared[row]);
    if (threadIdx.x == 0) digests[block] = finish_block(sums, byte_count);
  }
}

RB_CHECK_KERNEL(digest_blocks, DigestBlocks);

}  // namespace reprobench
