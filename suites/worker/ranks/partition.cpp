#include "suites/worker/ranks/partition.hpp"

#include <algorithm>
#include <numeric>

namespace reprobench {
namespace {

// Where the blocks begin that stand at `limit` of the whole line or after it, in a parameter that stands at `start`.
std::int64_t first_block_at(std::int64_t limit, std::int64_t start, std::int64_t elements) {
  if (limit <= start) return 0;
  const std::int64_t blocks = (limit - start + kBlockElements - 1) / kBlockElements;
  return std::min(elements, blocks * kBlockElements);
}

}  // namespace

Partition::Partition(const std::vector<std::int64_t>& elements, int ranks) {
  const std::int64_t total = std::accumulate(elements.begin(), elements.end(), std::int64_t{0});
  const auto limit = [&](int rank) { return (total * rank + ranks - 1) / ranks; };
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<Shard>& shards = shards_.emplace_back();
    std::int64_t start = 0;
    for (const std::int64_t count : elements) {
      const std::int64_t begin = first_block_at(limit(rank), start, count);
      const std::int64_t end = rank + 1 == ranks ? count : first_block_at(limit(rank + 1), start, count);
      shards.push_back({begin, end});
      start += count;
    }
  }
}

void Partition::add(const Partition& line) {
  for (std::size_t rank = 0; rank < shards_.size(); ++rank) {
    for (std::size_t i = 0; i < shards_[rank].size(); ++i) {
      if (line.shards_[rank][i].size() > 0) shards_[rank][i] = line.shards_[rank][i];
    }
  }
}

Partition Partition::only(const std::vector<bool>& parameters) const {
  Partition part = *this;
  for (std::vector<Shard>& shards : part.shards_) {
    for (std::size_t i = 0; i < shards.size(); ++i) {
      if (!parameters[i]) shards[i] = {};
    }
  }
  return part;
}

std::int64_t Partition::elements_of(int rank) const {
  std::int64_t count = 0;
  for (const Shard& shard : of(rank)) count += shard.size();
  return count;
}

std::int64_t Partition::largest() const {
  std::int64_t largest = 0;
  for (int rank = 0; rank < ranks(); ++rank) largest = std::max(largest, elements_of(rank));
  return largest;
}

std::vector<ShardPart> parts_of(const std::vector<Shard>& shards, std::int64_t from, std::int64_t count) {
  std::vector<ShardPart> parts;
  std::int64_t place = 0;  // of the shard in the rank's run
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const std::int64_t begin = std::max(place, from);
    const std::int64_t end = std::min(place + shards[i].size(), from + count);
    if (begin < end) {
      parts.push_back({i, shards[i].begin + begin - place, begin - place, begin - from, end - begin});
    }
    place += shards[i].size();
  }
  return parts;
}

}  // namespace reprobench
