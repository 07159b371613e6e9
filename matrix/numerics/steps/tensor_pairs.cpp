#include "matrix/numerics/steps/tensor_pairs.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace reprobench {
namespace {

bool is_same_tensor(const TensorRecord& a, const TensorRecord& b) { return a.role == b.role && a.name == b.name; }

}  // namespace

std::vector<TensorPair> tensor_pairs(const TensorsRecord& measured, const TensorsRecord& expected) {
  std::vector<TensorPair> pairs;
  pairs.reserve(measured.tensors.size());
  // Nearly always they stand at equal places.
  std::size_t alike = 0;
  for (; alike < std::min(measured.tensors.size(), expected.tensors.size()); ++alike) {
    const TensorRecord& ours = measured.tensors[alike];
    const TensorRecord& theirs = expected.tensors[alike];
    if (!is_same_tensor(ours, theirs)) break;
    pairs.push_back({&ours, &theirs});
  }
  std::multimap<std::pair<TensorRole, std::string_view>, const TensorRecord*> others;
  for (std::size_t i = alike; i < expected.tensors.size(); ++i) {
    const TensorRecord& theirs = expected.tensors[i];
    others.emplace(std::pair(theirs.role, std::string_view(theirs.name)), &theirs);
  }
  for (std::size_t i = alike; i < measured.tensors.size(); ++i) {
    const TensorRecord& ours = measured.tensors[i];
    const auto first = others.lower_bound({ours.role, ours.name});
    if (first == others.end() || !is_same_tensor(ours, *first->second)) {
      pairs.push_back({&ours, nullptr});
      continue;
    }
    pairs.push_back({&ours, first->second});
    others.erase(first);
  }
  for (std::size_t i = alike; i < expected.tensors.size() && !others.empty(); ++i) {
    const TensorRecord& theirs = expected.tensors[i];
    const auto first = others.lower_bound({theirs.role, theirs.name});
    if (first == others.end() || first->second != &theirs) continue;
    pairs.push_back({nullptr, &theirs});
    others.erase(first);
  }
  return pairs;
}

}  // namespace reprobench
