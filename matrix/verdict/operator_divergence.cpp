#include "matrix/verdict/operator_divergence.hpp"

#include <algorithm>
#include <cstdint>

namespace reprobench {
namespace {

using Calls = std::span<const OperatorRecord>;

// Above this many calls of one caller a side, sequences that differ are matched only as far as they begin and end
// alike: the table of the longest common subsequence would take more than 50 MB.
constexpr std::size_t kMostCallsToAlign = 5'000;

bool same_call(const OperatorRecord& a, const OperatorRecord& b) {
  if (a.name != b.name || a.pass != b.pass || a.outputs.size() != b.outputs.size()) return false;
  return std::equal(a.outputs.begin(), a.outputs.end(), b.outputs.begin(),
                    [](const OperatorTensor& x, const OperatorTensor& y) { return x.shape == y.shape; });
}

using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;

// One call with what it calls, as places in the list: calls stand in the order they end, so the callees come first.
struct CallTree {
  std::size_t first = 0;  // of its callees
  std::size_t self = 0;
};

// The calls of `depth` in [first, last), each with the calls it made.
std::vector<CallTree> calls_at(Calls calls, std::size_t first, std::size_t last, int depth) {
  std::vector<CallTree> trees;
  for (std::size_t i = first; i < last; ++i) {
    if (calls[i].depth != depth) continue;
    trees.push_back({first, i});
    first = i + 1;
  }
  return trees;
}

// Longest common subsequence of two lists of callers' calls.
Pairs common_subsequence(std::span<const CallTree> a, std::span<const CallTree> b, Calls ours, Calls theirs) {
  Pairs pairs;
  if (a.size() > kMostCallsToAlign || b.size() > kMostCallsToAlign) return pairs;
  const auto same = [&](std::size_t i, std::size_t j) { return same_call(ours[a[i].self], theirs[b[j].self]); };
  const std::size_t width = b.size() + 1;
  std::vector<std::uint16_t> length((a.size() + 1) * width, 0);
  for (std::size_t i = a.size(); i-- > 0;) {
    for (std::size_t j = b.size(); j-- > 0;) {
      length[i * width + j] = same(i, j) ? static_cast<std::uint16_t>(length[(i + 1) * width + j + 1] + 1)
                                         : std::max(length[(i + 1) * width + j], length[i * width + j + 1]);
    }
  }
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (same(i, j) && length[i * width + j] == length[(i + 1) * width + j + 1] + 1) {
      pairs.emplace_back(i++, j++);
    } else if (length[(i + 1) * width + j] >= length[i * width + j + 1]) {
      ++i;
    } else {
      ++j;
    }
  }
  return pairs;
}

// Places in `a` and `b` of calls that correspond: what begins and ends alike, and in between the common subsequence.
Pairs aligned_siblings(std::span<const CallTree> a, std::span<const CallTree> b, Calls ours, Calls theirs) {
  const auto same = [&](std::size_t i, std::size_t j) { return same_call(ours[a[i].self], theirs[b[j].self]); };
  const std::size_t shorter = std::min(a.size(), b.size());
  std::size_t head = 0;
  while (head < shorter && same(head, head)) ++head;
  std::size_t tail = 0;
  while (tail < shorter - head && same(a.size() - 1 - tail, b.size() - 1 - tail)) ++tail;
  Pairs pairs;
  for (std::size_t i = 0; i < head; ++i) pairs.emplace_back(i, i);
  for (const auto& [i, j] : common_subsequence(a.subspan(head, a.size() - head - tail),
                                               b.subspan(head, b.size() - head - tail), ours, theirs)) {
    pairs.emplace_back(head + i, head + j);
  }
  for (std::size_t i = tail; i > 0; --i) pairs.emplace_back(a.size() - i, b.size() - i);
  return pairs;
}

void align(Calls ours, std::size_t our_first, std::size_t our_last, Calls theirs, std::size_t their_first,
           std::size_t their_last, int depth, Pairs& pairs) {
  const auto a = calls_at(ours, our_first, our_last, depth);
  const auto b = calls_at(theirs, their_first, their_last, depth);
  for (const auto& [i, j] : aligned_siblings(a, b, ours, theirs)) {
    align(ours, a[i].first, a[i].self, theirs, b[j].first, b[j].self, depth + 1, pairs);
    pairs.emplace_back(a[i].self, b[j].self);
  }
}

bool has_content(const OperatorTensor& tensor) { return !tensor.digest.empty(); }

bool inputs_agree(const OperatorRecord& a, const OperatorRecord& b) {
  std::vector<const OperatorTensor*> ours;
  std::vector<const OperatorTensor*> theirs;
  for (const OperatorTensor& tensor : a.inputs) {
    if (has_content(tensor)) ours.push_back(&tensor);
  }
  for (const OperatorTensor& tensor : b.inputs) {
    if (has_content(tensor)) theirs.push_back(&tensor);
  }
  return std::equal(ours.begin(), ours.end(), theirs.begin(), theirs.end(),
                    [](const OperatorTensor* x, const OperatorTensor* y) { return *x == *y; });
}

// Index of the first output that both sides wrote and that differs.
std::optional<std::size_t> differing_output(const OperatorRecord& a, const OperatorRecord& b) {
  for (std::size_t i = 0; i < a.outputs.size(); ++i) {
    if (has_content(a.outputs[i]) && has_content(b.outputs[i]) && a.outputs[i] != b.outputs[i]) return i;
  }
  return std::nullopt;
}

std::optional<std::size_t> output_made_different(const OperatorRecord& a, const OperatorRecord& b) {
  return inputs_agree(a, b) ? differing_output(a, b) : std::nullopt;
}

}  // namespace

std::vector<std::pair<std::size_t, std::size_t>> aligned_calls(Calls measured, Calls expected) {
  Pairs pairs;
  align(measured, 0, measured.size(), expected, 0, expected.size(), 0, pairs);
  return pairs;
}

std::optional<OperatorDivergence> first_diverging_operator(Calls measured, Calls expected) {
  const auto pairs = aligned_calls(measured, expected);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const OperatorRecord& ours = measured[pairs[i].first];
    const OperatorRecord& theirs = expected[pairs[i].second];
    if (const auto output = output_made_different(ours, theirs)) {
      return OperatorDivergence{ours,    theirs,
                                *output, ours.constants != theirs.constants,
                                i,       measured.size() + expected.size() - 2 * pairs.size()};
    }
  }
  return std::nullopt;
}

std::vector<std::string> diverging_operator_names(Calls measured, Calls expected) {
  std::vector<std::string> names;
  std::vector<bool> diverged_at;  // by depth: a call of it diverged since its caller's last call ended
  for (const auto& [i, j] : aligned_calls(measured, expected)) {
    const OperatorRecord& call = measured[i];
    const auto depth = static_cast<std::size_t>(call.depth);
    if (diverged_at.size() < depth + 2) diverged_at.resize(depth + 2);
    const bool by_callee = diverged_at[depth + 1];
    diverged_at[depth + 1] = false;
    const bool diverged = output_made_different(call, expected[j]).has_value();
    if (diverged) diverged_at[depth] = true;
    if (!diverged || by_callee) continue;
    if (std::find(names.begin(), names.end(), call.name) == names.end()) names.push_back(call.name);
  }
  return names;
}

}  // namespace reprobench
