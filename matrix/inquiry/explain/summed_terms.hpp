// The number of products whose sum is an element of a gradient. It bounds the error of any order of adding them up.
//
// Example: a linear layer of (32, 784) to (32, 128): each element of its weight's gradient (128, 784) adds up the 32
// samples of the batch. A convolution whose output is (32, 8, 28, 28) adds up 32 x 28 x 28 for each weight.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "matrix/contract/trace.hpp"

namespace reprobench {

// By the tensor's name in a lockstep, "gradient/fc1.weight", from one step's record of every tensor: the elements of
// what the parameter's module gave (or the nearest module around it that is on record), over the parameter's largest
// extent that is also one of those. It is multiplied by `micro_batches`, which are added up too. A parameter whose
// module is not on record is left out.
std::map<std::string, std::int64_t> summed_terms(const std::vector<TensorRecord>& tensors, std::int64_t micro_batches);

}  // namespace reprobench
