#include "matrix/contract/device/device_facts.hpp"

#include <algorithm>
#include <cctype>
#include <optional>

#include "matrix/base/digits.hpp"
#include "matrix/contract/device/device_class.hpp"

namespace reprobench {
namespace {

struct Architecture {
  int number = 0;  // 90 of sm_90
  bool specific = false;
};

// The architecture behind `prefix` at the beginning of `text`: "sm_90a,..." -> {90, true}.
std::optional<Architecture> architecture_after(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return std::nullopt;
  text.remove_prefix(prefix.size());
  Architecture architecture;
  std::size_t digits = 0;
  for (; digits < text.size() && is_digit(text[digits]); ++digits) {
    architecture.number = architecture.number * 10 + (text[digits] - '0');
  }
  if (digits == 0) return std::nullopt;
  architecture.specific = digits < text.size() && std::isalpha(static_cast<unsigned char>(text[digits])) != 0;
  return architecture;
}

int number_of(const std::string& compute_capability) {
  std::string digits = compute_capability;
  digits.erase(std::remove(digits.begin(), digits.end(), '.'), digits.end());
  return std::stoi(digits);
}

}  // namespace

std::string device_class(const std::string& compute_capability) {
  const auto found = DeviceClass::of_capability(compute_capability);
  return found ? found->text() : "";
}

Coverage coverage_of(const std::string& flags, const std::string& compute_capability) {
  const int device = number_of(compute_capability);
  bool named = false;
  bool has_ptx = false;
  constexpr std::string_view kCode = "code=";
  for (auto at = flags.find(kCode); at != std::string::npos; at = flags.find(kCode, at + 1)) {
    const std::string_view code = std::string_view(flags).substr(at + kCode.size());
    if (const auto machine = architecture_after(code, "sm_")) {
      named = true;
      if (machine->specific ? machine->number == device
                            : machine->number / 10 == device / 10 && machine->number <= device) {
        return Coverage::native;
      }
    } else if (const auto ptx = architecture_after(code, "compute_")) {
      named = true;
      has_ptx = has_ptx || (ptx->specific ? ptx->number == device : ptx->number <= device);
    }
  }
  if (!named) return Coverage::unknown;
  return has_ptx ? Coverage::ptx : Coverage::none;
}

}  // namespace reprobench
