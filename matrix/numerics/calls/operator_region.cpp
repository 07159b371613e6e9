#include "matrix/numerics/calls/operator_region.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace reprobench {
namespace {

// At the end of a step a side may have neither a call nor a value there.
bool is_on_record(const OperatorSubgraph& subgraph) {
  return !subgraph.not_on_record && (!subgraph.calls.empty() || !subgraph.outflow.dtype.empty());
}

// Only the type of the value if the calls of one side are not on record, because the types that they made on the way
// are not known.
std::set<std::string> dtypes_of(const OperatorSubgraph& subgraph, bool of_calls) {
  std::set<std::string> dtypes{subgraph.outflow.dtype};
  for (const OperatorRecord& call : subgraph.calls) {
    if (!of_calls) break;
    for (const OperatorTensor& output : call.outputs) dtypes.insert(output.dtype);
  }
  std::erase_if(dtypes, [](const std::string& dtype) { return dtype.find("float") == std::string::npos; });
  return dtypes;
}

}  // namespace

std::string names_of(const OperatorSubgraph& subgraph, std::size_t most) {
  if (subgraph.calls.empty()) return subgraph.not_on_record ? "no call on record" : "nothing";
  std::string names;
  for (std::size_t i = 0; i < std::min(most, subgraph.calls.size()); ++i) {
    names += (i > 0 ? ", " : "") + subgraph.calls[i].name;
  }
  if (subgraph.calls.size() > most) names += fmt::format(" and {} more", subgraph.calls.size() - most);
  return names;
}

std::string difference_in_kind(const OperatorRegion& region) {
  const bool on_record = is_on_record(region.measured) && is_on_record(region.expected);
  const auto ours = dtypes_of(region.measured, on_record);
  const auto theirs = dtypes_of(region.expected, on_record);
  std::vector<std::string> sentences;
  const auto only_in = [&](const std::set<std::string>& of, const std::set<std::string>& other, const char* side) {
    for (const std::string& dtype : of) {
      if (other.count(dtype) == 0) sentences.push_back(fmt::format("{} on the {} side only", dtype, side));
    }
  };
  const auto kept = [&](const OperatorSubgraph& subgraph, const char* side) {
    if (subgraph.kept.empty()) return;
    sentences.push_back(fmt::format("the {} side leaves {} as it is", side, fmt::join(subgraph.kept, ", ")));
  };
  if (on_record || (!ours.empty() && !theirs.empty())) {
    only_in(ours, theirs, "measured");
    only_in(theirs, ours, "expected");
  }
  kept(region.measured, "measured");
  kept(region.expected, "expected");
  if (region.constants_differ) sentences.emplace_back("the constants of a view differ");
  return fmt::format("{}", fmt::join(sentences, ", "));
}

}  // namespace reprobench
