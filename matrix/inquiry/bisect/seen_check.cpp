#include "matrix/inquiry/bisect/seen_check.hpp"

#include <fmt/format.h>

#include "matrix/verdict/quantity_text.hpp"

namespace reprobench {
namespace {

std::string name_of(const std::string& metric, const std::string& of) {
  return of.empty() ? metric : fmt::format("{} of {}", metric, of);
}

}  // namespace

std::string value_text(const CheckResult& check) {
  if (check.ratio) return fmt::format("x{:.2f}", *check.ratio);
  return check.measured ? humanised(*check.measured, check.unit) : "-";
}

std::string name_of(const CheckResult& check) { return name_of(check.metric, check.of); }

std::string name_of(const AskedCheck& asked) { return name_of(asked.metric, asked.of); }

std::string subject_of(const AskedCheck& asked) { return fmt::format("{} of {}", name_of(asked), asked.slug); }

}  // namespace reprobench
