// Losses and gradients of a step's micro-batches become one, in one order of summation whatever the layout: pairs of
// neighbours, then pairs of those, (0 + 1) + (2 + 3). What one rank adds up alone is then a subtree of the same tree as
// long as its number of micro-batches is a power of two, so one rank with four of them, two with two and four with one
// make the same bits by construction. Gloo's all-reduce promises no order and takes another with another number of
// ranks and elements, so ranks gather what each has and add it up themselves, every one the same. Replicas of one
// process are added up as ranks are, where they lie: the sum is element by element, so which bucket an element was sent
// in changes no bit.
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
  void add(std::vector<at::Tensor> terms);  // each list like the first
  std::vector<at::Tensor> take();           // the sum of all; starts anew

 private:
  struct Partial;
  void add_last_two();

  std::vector<Partial> partials_;  // of ever fewer terms
};

// Every rank's terms, added up: the same bits on all of them.
std::vector<at::Tensor> sum_over_ranks(std::vector<at::Tensor> terms, RankGroup& ranks);

}  // namespace reprobench
