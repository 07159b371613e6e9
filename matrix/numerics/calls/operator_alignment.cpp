#include "matrix/numerics/calls/operator_alignment.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>

namespace reprobench {
namespace {

using Calls = std::span<const OperatorRecord>;

// If there are more calls between two that are known to correspond, only the first so many are matched by name, because
// the table of the longest common subsequence takes 50 MB.
constexpr std::size_t kMostCallsToAlign = 5'000;

// The shapes of the tensors that the call takes.
std::vector<std::vector<std::int64_t>> shapes_taken(const OperatorRecord& call) {
  std::vector<std::vector<std::int64_t>> shapes;
  for (const OperatorTensor& input : call.inputs) {
    if (!input.dtype.empty()) shapes.push_back(input.shape);
  }
  return shapes;
}

// By name and shapes. A product over half of the channels is no partner of one over all of them. A call may take fewer
// tensors than its partner: no bias, or an optional one that its release does not record.
bool same_call(const OperatorRecord& a, const OperatorRecord& b) {
  if (a.name != b.name || a.pass != b.pass || a.outputs.size() != b.outputs.size()) return false;
  const auto ours = shapes_taken(a);
  const auto theirs = shapes_taken(b);
  const auto of_both = static_cast<std::ptrdiff_t>(std::min(ours.size(), theirs.size()));
  if (!std::equal(ours.begin(), ours.begin() + of_both, theirs.begin())) return false;
  return std::equal(a.outputs.begin(), a.outputs.end(), b.outputs.begin(),
                    [](const OperatorTensor& x, const OperatorTensor& y) { return x.shape == y.shape; });
}

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

// The calls that one pair of callers made.
struct Siblings {
  std::vector<CallTree> a;
  std::vector<CallTree> b;
  Calls ours;
  Calls theirs;

  bool same(std::size_t i, std::size_t j) const { return same_call(ours[a[i].self], theirs[b[j].self]); }
};

std::string digests_of(const std::vector<OperatorTensor>& tensors) {
  std::string digests;
  for (const OperatorTensor& tensor : tensors) digests += tensor.digest + ' ';
  return digests;
}

// The identity of a call by its values; empty if it takes or makes none.
std::string taken_by(const OperatorRecord& call) {
  if (std::none_of(call.inputs.begin(), call.inputs.end(), has_content)) return "";
  return call.name + '\n' + call.pass + '\n' + call.constants + '\n' + digests_of(call.inputs);
}

std::string taken_and_made_by(const OperatorRecord& call) {
  if (std::none_of(call.outputs.begin(), call.outputs.end(), has_content)) return "";
  return call.name + '\n' + call.pass + '\n' + call.constants + '\n' + digests_of(call.inputs) + '\n' +
         digests_of(call.outputs);
}

struct Matched {
  std::vector<bool> a;
  std::vector<bool> b;
};

// Calls without a partner that are the same by their values, the first with the first, where both sides made them
// equally often.
void add_by_values(const Siblings& calls, std::string (*values_of)(const OperatorRecord&), Matched& matched,
                   CallPairs& pairs) {
  struct Places {
    std::vector<std::size_t> a;
    std::vector<std::size_t> b;
  };
  std::unordered_map<std::string, Places> places;
  for (std::size_t i = 0; i < calls.a.size(); ++i) {
    if (!matched.a[i]) places[values_of(calls.ours[calls.a[i].self])].a.push_back(i);
  }
  for (std::size_t j = 0; j < calls.b.size(); ++j) {
    if (!matched.b[j]) places[values_of(calls.theirs[calls.b[j].self])].b.push_back(j);
  }
  for (const auto& [values, of] : places) {
    if (values.empty() || of.a.size() != of.b.size()) continue;
    for (std::size_t k = 0; k < of.a.size(); ++k) {
      pairs.emplace_back(of.a[k], of.b[k]);
      matched.a[of.a[k]] = matched.b[of.b[k]] = true;
    }
  }
  std::sort(pairs.begin(), pairs.end());
}

// The most of `pairs` that stand in one order on both sides: what lies between two of them is known to correspond.
CallPairs in_one_order(const CallPairs& pairs) {
  std::vector<std::size_t> ends;  // of the chains by length, each the one that ends first
  std::vector<std::size_t> before(pairs.size(), pairs.size());
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    const auto place = std::partition_point(ends.begin(), ends.end(),
                                            [&](std::size_t end) { return pairs[end].second < pairs[k].second; });
    if (place != ends.begin()) before[k] = *(place - 1);
    if (place == ends.end()) {
      ends.push_back(k);
    } else {
      *place = k;
    }
  }
  CallPairs chain;
  for (std::size_t k = ends.empty() ? pairs.size() : ends.back(); k < pairs.size(); k = before[k]) {
    chain.push_back(pairs[k]);
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

using Places = std::span<const std::size_t>;

// Longest common subsequence by name and shapes.
void add_common_subsequence(const Siblings& calls, Places a, Places b, CallPairs& pairs) {
  a = a.first(std::min(a.size(), kMostCallsToAlign));
  b = b.first(std::min(b.size(), kMostCallsToAlign));
  const std::size_t width = b.size() + 1;
  std::vector<std::uint16_t> length((a.size() + 1) * width, 0);
  for (std::size_t i = a.size(); i-- > 0;) {
    for (std::size_t j = b.size(); j-- > 0;) {
      length[i * width + j] = calls.same(a[i], b[j]) ? static_cast<std::uint16_t>(length[(i + 1) * width + j + 1] + 1)
                                                     : std::max(length[(i + 1) * width + j], length[i * width + j + 1]);
    }
  }
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (calls.same(a[i], b[j]) && length[i * width + j] == length[(i + 1) * width + j + 1] + 1) {
      pairs.emplace_back(a[i++], b[j++]);
    } else if (length[(i + 1) * width + j] >= length[i * width + j + 1]) {
      ++i;
    } else {
      ++j;
    }
  }
}

// Pairs the equal beginning and end of two sequences and, in between, their longest common subsequence.
void add_by_name(const Siblings& calls, Places a, Places b, CallPairs& pairs) {
  while (!a.empty() && !b.empty() && calls.same(a.front(), b.front())) {
    pairs.emplace_back(a.front(), b.front());
    a = a.subspan(1);
    b = b.subspan(1);
  }
  while (!a.empty() && !b.empty() && calls.same(a.back(), b.back())) {
    pairs.emplace_back(a.back(), b.back());
    a = a.first(a.size() - 1);
    b = b.first(b.size() - 1);
  }
  add_common_subsequence(calls, a, b, pairs);
}

// Places in `a` and `b` of calls that correspond.
CallPairs aligned_siblings(const Siblings& calls) {
  CallPairs pairs;
  Matched matched{std::vector<bool>(calls.a.size(), false), std::vector<bool>(calls.b.size(), false)};
  add_by_values(calls, &taken_and_made_by, matched, pairs);
  add_by_values(calls, &taken_by, matched, pairs);
  CallPairs fixed = in_one_order(pairs);
  fixed.emplace_back(calls.a.size(), calls.b.size());
  const auto open_places = [](const std::vector<bool>& is_matched, std::size_t first, std::size_t last) {
    std::vector<std::size_t> places;
    for (; first < last; ++first) {
      if (!is_matched[first]) places.push_back(first);
    }
    return places;
  };
  std::size_t a_first = 0;
  std::size_t b_first = 0;
  for (const auto& [i, j] : fixed) {
    add_by_name(calls, open_places(matched.a, a_first, i), open_places(matched.b, b_first, j), pairs);
    a_first = i;  // which has its partner
    b_first = j;
  }
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

void align(const Siblings& calls, int depth, CallPairs& pairs) {
  for (const auto& [i, j] : aligned_siblings(calls)) {
    const CallTree& a = calls.a[i];
    const CallTree& b = calls.b[j];
    const Siblings callees{calls_at(calls.ours, a.first, a.self, depth + 1),
                           calls_at(calls.theirs, b.first, b.self, depth + 1), calls.ours, calls.theirs};
    if (!callees.a.empty() && !callees.b.empty()) align(callees, depth + 1, pairs);
    pairs.emplace_back(a.self, b.self);
  }
}

}  // namespace

CallPairs aligned_calls(Calls measured, Calls expected) {
  CallPairs pairs;
  align({calls_at(measured, 0, measured.size(), 0), calls_at(expected, 0, expected.size(), 0), measured, expected}, 0,
        pairs);
  return pairs;
}

bool inputs_agree(const OperatorRecord& measured, const OperatorRecord& expected) {
  const auto with_content = [](const OperatorRecord& call) {
    std::vector<const OperatorTensor*> tensors;
    for (const OperatorTensor& tensor : call.inputs) {
      if (has_content(tensor)) tensors.push_back(&tensor);
    }
    return tensors;
  };
  const auto ours = with_content(measured);
  const auto theirs = with_content(expected);
  return std::equal(ours.begin(), ours.end(), theirs.begin(), theirs.end(),
                    [](const OperatorTensor* x, const OperatorTensor* y) { return *x == *y; });
}

}  // namespace reprobench
