// The operators whose outputs have forms, one family a file. Only formed_output.cpp knows them all.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/orders/formed_output.hpp"

namespace reprobench {

struct FormedFamily {
  bool (*has)(std::string_view operator_name);
  std::shared_ptr<const FormedOutput> (*output)(const DeclaredCall& call, std::string_view output,
                                                std::string& why_not);
  std::vector<std::string> (*texts)();  // of all forms of all outputs
};

extern const FormedFamily kSoftmaxFamily;
extern const FormedFamily kChannelNormFamily;

// Numbers behind which another operator's text begins, as in "batch_norm root; dbatch_norm ...".
inline constexpr std::string_view kThen = "; ";

}  // namespace reprobench
