// A text of an order, as it lies in a result: read as the same order again, or refused with a reason.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "matrix/base/contract_error.hpp"
#include "matrix/orders/formed_output.hpp"
#include "matrix/orders/summation_tree.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (reprobench::is_form(text)) return 0;
  try {
    const auto order = reprobench::parse_order(text);
    if (order.terms() > 100'000) return 0;  // a short range may name millions, which take their time
    const std::string written = reprobench::order_text(order);
    if (reprobench::order_text(reprobench::parse_order(written)) != written) std::abort();
  } catch (const reprobench::ContractError&) {
  }
  return 0;
}
