#include "matrix/verdict/operator_divergence.hpp"

#include <algorithm>
#include <cstdint>

namespace reprobench {
namespace {

using Calls = std::span<const OperatorRecord>;

// Above this many calls a side, sequences that differ are matched only as far as they begin and end alike: the table of
// the longest common subsequence would take more than 100 MB.
constexpr std::size_t kMostCallsToAlign = 5'000;

bool same_call(const OperatorRecord& a, const OperatorRecord& b) {
  if (a.name != b.name || a.pass != b.pass || a.outputs.size() != b.outputs.size()) return false;
  return std::equal(a.outputs.begin(), a.outputs.end(), b.outputs.begin(),
                    [](const OperatorTensor& x, const OperatorTensor& y) { return x.shape == y.shape; });
}

// Longest common subsequence of a[from..] and b[from..], the common beginning and end cut off already.
void align_middle(Calls a, Calls b, std::size_t offset, std::vector<std::pair<std::size_t, std::size_t>>& pairs) {
  if (a.size() > kMostCallsToAlign || b.size() > kMostCallsToAlign) return;
  const std::size_t width = b.size() + 1;
  std::vector<std::uint16_t> length((a.size() + 1) * width, 0);
  for (std::size_t i = a.size(); i-- > 0;) {
    for (std::size_t j = b.size(); j-- > 0;) {
      length[i * width + j] = same_call(a[i], b[j]) ? static_cast<std::uint16_t>(length[(i + 1) * width + j + 1] + 1)
                                                    : std::max(length[(i + 1) * width + j], length[i * width + j + 1]);
    }
  }
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (same_call(a[i], b[j]) && length[i * width + j] == length[(i + 1) * width + j + 1] + 1) {
      pairs.emplace_back(offset + i++, offset + j++);
    } else if (length[(i + 1) * width + j] >= length[i * width + j + 1]) {
      ++i;
    } else {
      ++j;
    }
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
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  const std::size_t shorter = std::min(measured.size(), expected.size());
  std::size_t head = 0;
  while (head < shorter && same_call(measured[head], expected[head])) ++head;
  std::size_t tail = 0;
  while (tail < shorter - head &&
         same_call(measured[measured.size() - 1 - tail], expected[expected.size() - 1 - tail])) {
    ++tail;
  }
  for (std::size_t i = 0; i < head; ++i) pairs.emplace_back(i, i);
  align_middle(measured.subspan(head, measured.size() - head - tail),
               expected.subspan(head, expected.size() - head - tail), head, pairs);
  for (std::size_t i = tail; i > 0; --i) pairs.emplace_back(measured.size() - i, expected.size() - i);
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
