// The terms whose sums are the elements of a convolution, and of its gradients.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "matrix/orders/call_arguments.hpp"
#include "matrix/orders/sum_layout.hpp"

namespace reprobench {

bool is_convolution(std::string_view name);

// For a call of which is_convolution() is true; `why_not` is as for sum_layout().
std::optional<SumLayout> convolution_sum(const CallArguments& call, std::string_view output, std::string& why_not);

}  // namespace reprobench
