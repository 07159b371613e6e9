// Which terms the elements of a convolution, and of its gradients, are the sums of.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "matrix/orders/call_arguments.hpp"
#include "matrix/orders/sum_layout.hpp"

namespace reprobench {

bool is_convolution(std::string_view name);

// Of a call for which that is true; `why_not` as sum_layout() has it.
std::optional<SumLayout> convolution_sum(const CallArguments& call, std::string_view output, std::string& why_not);

}  // namespace reprobench
