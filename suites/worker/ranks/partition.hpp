// Which elements of the parameters each rank keeps and updates when that is sharded over ranks (ZeRO, Rajbhandari et
// al. 2020, "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models"): the trained parameters form one
// long line in the model's order, and every rank has an equal run of it. Where parameters themselves are sharded, the
// frozen ones are a second line. Runs end where a block of a parameter ends. The reason: an element-wise kernel takes
// elements some dozens at a time and the rest of a tensor one by one. Cut at blocks, an element is computed the same
// way as in the whole tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace reprobench {

// The size of a block: elements of a parameter that are never cut apart, and that are summed up together in a
// gradient's norm.
inline constexpr std::int64_t kBlockElements = 256;

// The parts of the state that are sharded over ranks, instead of each rank having all of them.
struct Sharding {
  int stage = 0;  // of ZeRO: 1 the optimizer's state, 2 the gradients as well, 3 the parameters too
  int rank = 0;
  int ranks = 1;

  bool is_on() const { return stage > 0 && ranks > 1; }
  bool shares_gradients() const { return is_on() && stage > 1; }
  bool shares_parameters() const { return is_on() && stage > 2; }
};

// Elements of one parameter, row-major.
struct Shard {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t size() const { return end - begin; }
  bool operator==(const Shard&) const = default;
};

class Partition {
 public:
  Partition() = default;
  // `elements` has the size of each parameter, 0 for one that is not in this line.
  Partition(const std::vector<std::int64_t>& elements, int ranks);

  // Adds a second line, of parameters that have no element in this one.
  void add(const Partition& line);

  // The same shards of these parameters, nothing of the others.
  Partition only(const std::vector<bool>& parameters) const;

  Shard of(int rank, std::size_t parameter) const { return shards_[static_cast<std::size_t>(rank)][parameter]; }
  const std::vector<Shard>& of(int rank) const { return shards_[static_cast<std::size_t>(rank)]; }
  std::int64_t elements_of(int rank) const;
  std::int64_t largest() const;  // elements of the rank with the most
  int ranks() const { return static_cast<int>(shards_.size()); }

 private:
  std::vector<std::vector<Shard>> shards_;  // by rank, then by parameter
};

// The elements that lie both in a rank's window, `from` .. `from + count` counted along its run, and in one of its
// shards.
struct ShardPart {
  std::size_t parameter = 0;
  std::int64_t in_parameter = 0;  // where the part begins in the parameter,
  std::int64_t in_shard = 0;      // in the rank's shard of that parameter
  std::int64_t in_window = 0;     // and in the window, counted from `from`
  std::int64_t size = 0;
};
std::vector<ShardPart> parts_of(const std::vector<Shard>& shards, std::int64_t from, std::int64_t count);

}  // namespace reprobench
