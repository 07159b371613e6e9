// The computation of one output of a call, as far as its order of additions decides its bits. It is a sum of terms or
// products, or one that has forms.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "matrix/contract/declared_call.hpp"
#include "matrix/orders/formed_output.hpp"
#include "matrix/orders/sum_layout.hpp"

namespace reprobench {

struct FormedLayout {
  std::shared_ptr<const FormedOutput> forms;

  std::int64_t elements() const { return forms->elements(); }
};

using OrderLayout = std::variant<SumLayout, FormedLayout>;

// The layout of an output, by its name in records. If nothing, `why_not` says why its order cannot be read, if that is
// known.
std::optional<OrderLayout> order_layout(const DeclaredCall& call, std::string_view output, std::string& why_not);

// Whether the text names an order of so many terms in canonical form: a form, or a tree (summation_tree.hpp).
bool is_canonical_order(std::string_view text, std::int64_t terms);

}  // namespace reprobench
