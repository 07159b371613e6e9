// Adds up the losses and gradients of a step's micro-batches, in one order of summation whatever the layout. Pairs of
// neighbours are added, then pairs of those: (0 + 1) + (2 + 3). The sum of one rank is a subtree of the same tree if
// its number of micro-batches is a power of two. So one rank with four of them, two ranks with two and four with one
// make the same bits by construction. Gloo's all-reduce promises no order and takes another one for another number of
// ranks or elements. So ranks gather the terms of all and add them up themselves, each in the same way. Replicas of one
// process are added up as ranks are, without being moved. The sum is element by element, so the bucket in which an
// element was sent changes no bit.
#pragma once

#include <cstdint>
#include <vector>

namespace at {
class Tensor;
}

namespace reprobench {

class RankGroup;

// Lists of tensors, added element by element.
class PairwiseSum {
 public:
  PairwiseSum();
  ~PairwiseSum();
  void add(std::vector<at::Tensor> terms);  // each list has tensors like the first one's
  std::vector<at::Tensor> take();           // the sum of all; starts anew

 private:
  struct Partial;
  void add_last_two();

  std::vector<Partial> partials_;  // each of fewer terms than the one before
};

// The sum of every rank's terms, with the same bits on all of them.
std::vector<at::Tensor> sum_over_ranks(std::vector<at::Tensor> terms, RankGroup& ranks);

}  // namespace reprobench
