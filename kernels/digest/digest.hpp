// Digests of tensors and of everything above them: 64 KiB block -> tensor -> step -> chain.
//
// Leaves are position-keyed integer sums (word_mix.hpp), so a GPU gives the same bits. Inner nodes are an ordered hash,
// XXH3-128 (xxHash, https://xxhash.com), over what is appended to a DigestBuilder. A tensor digest covers raw bits:
// -0 differs from +0, and NaN payloads count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reprobench {

struct Digest {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  friend bool operator==(const Digest&, const Digest&) = default;
};

// 32 lower-case hex digits, high half first.
std::string to_hex(const Digest& digest);

// The inverse of to_hex(); nothing for any other text.
std::optional<Digest> digest_from_hex(std::string_view digits);

inline constexpr std::size_t kDigestBlockBytes = 64 * 1024;

// The digest of at most kDigestBlockBytes bytes, at any alignment. Words are little-endian; the last one is padded with
// zeros.
Digest block_digest(std::span<const std::byte> block);

// The digest of a tensor in logical row-major order: of its dtype name, its shape and the digests of its blocks.
Digest tensor_digest(std::string_view dtype, std::span<const std::int64_t> shape, std::span<const std::byte> bytes);

// The same, from the digests of the tensor's blocks in order.
Digest tensor_digest(std::string_view dtype, std::span<const std::int64_t> shape, std::span<const Digest> blocks);

// An inner node: hashes what was appended, in that order. Text and lists carry their length, so ("ab","c") and
// ("a","bc") differ.
class DigestBuilder {
 public:
  DigestBuilder& append(std::uint64_t value);
  DigestBuilder& append(const Digest& digest);
  DigestBuilder& append(std::string_view text);

  Digest finish() const;
  void clear() { bytes_.clear(); }

 private:
  std::vector<unsigned char> bytes_;
};

// The next link of a chain. Two chains differ from their first differing root on, even if later roots coincide.
Digest chain_digest(const Digest& previous, const Digest& root);

// Appends one tensor of a step of which every tensor is on record. The step's root is over these tensors, in the order
// the step met them.
void append_tensor(DigestBuilder& root, std::string_view name, std::string_view role, std::string_view digest_digits);

// The link of a training's step, which covers the loss as the trace has it: the hex digits of its bits
// (base/number.hpp).
Digest step_chain_digest(const Digest& previous, const Digest& root, std::string_view loss_bits);

// One chain for the chains that the ranks of a training ended with: for one rank its own, for several a hash over all,
// in their order. A training that resumes from there, on any number of ranks, begins every rank's chain with it.
// `ranks` must not be empty.
Digest chain_of_ranks(std::span<const Digest> ranks);

}  // namespace reprobench
