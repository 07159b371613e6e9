#include "matrix/orders/order_layout.hpp"

#include <utility>

#include "matrix/base/contract_error.hpp"
#include "matrix/orders/formed_families.hpp"
#include "matrix/orders/summation_tree.hpp"

namespace reprobench {

std::optional<OrderLayout> order_layout(const DeclaredCall& call, std::string_view output, std::string& why_not) {
  const FormedFamily* const family = formed_family(call.name);
  if (family == nullptr) {
    if (auto sum = sum_layout(call, output, why_not)) return sum;
    return std::nullopt;
  }
  if (family->sum != nullptr) {
    if (auto sum = family->sum(call, output)) return sum;
  }
  if (auto forms = family->output(call, output, why_not)) return FormedLayout{std::move(forms)};
  return std::nullopt;
}

bool is_canonical_order(std::string_view text, std::int64_t terms) {
  if (is_form(text)) return terms > 0;
  try {
    const SummationTree tree = parse_order(text);
    return static_cast<std::int64_t>(tree.terms()) == terms && order_text(tree) == text;
  } catch (const ContractError&) {
    return false;
  }
}

}  // namespace reprobench
