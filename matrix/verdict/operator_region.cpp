#include "matrix/verdict/operator_region.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace reprobench {
namespace {

std::set<std::string> dtypes_of(const OperatorStretch& stretch) {
  std::set<std::string> dtypes{stretch.outflow.dtype};
  for (const OperatorRecord& call : stretch.calls) {
    for (const OperatorTensor& output : call.outputs) dtypes.insert(output.dtype);
  }
  std::erase_if(dtypes, [](const std::string& dtype) { return dtype.find("float") == std::string::npos; });
  return dtypes;
}

}  // namespace

std::string names_of(const OperatorStretch& stretch, std::size_t most) {
  if (stretch.calls.empty()) return "nothing";
  std::string names;
  for (std::size_t i = 0; i < std::min(most, stretch.calls.size()); ++i) {
    names += (i > 0 ? ", " : "") + stretch.calls[i].name;
  }
  if (stretch.calls.size() > most) names += fmt::format(" and {} more", stretch.calls.size() - most);
  return names;
}

std::string difference_in_kind(const OperatorRegion& region) {
  const auto ours = dtypes_of(region.measured);
  const auto theirs = dtypes_of(region.expected);
  std::vector<std::string> sentences;
  const auto only_in = [&](const std::set<std::string>& of, const std::set<std::string>& other, const char* side) {
    for (const std::string& dtype : of) {
      if (other.count(dtype) == 0) sentences.push_back(fmt::format("{} on the {} side only", dtype, side));
    }
  };
  only_in(ours, theirs, "measured");
  only_in(theirs, ours, "expected");
  if (region.constants_differ) sentences.emplace_back("the constants of a view differ");
  return fmt::format("{}", fmt::join(sentences, ", "));
}

}  // namespace reprobench
