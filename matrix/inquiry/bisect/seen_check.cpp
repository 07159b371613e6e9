#include "matrix/inquiry/bisect/seen_check.hpp"

#include <fmt/format.h>

#include "matrix/verdict/check.hpp"

namespace reprobench {

SeenCheck seen_of(const CheckResult& check) {
  return {check.status,    check.reason, check.sentence,  check.unit,      check.measured,
          check.reference, check.ratio,  check.ratio_low, check.ratio_high};
}

std::string value_text(const SeenCheck& seen) {
  if (seen.ratio) return fmt::format("x{:.2f}", *seen.ratio);
  return seen.measured ? humanised(*seen.measured, seen.unit) : "-";
}

std::string name_of(const AskedCheck& asked) {
  return asked.of.empty() ? asked.metric : fmt::format("{} of {}", asked.metric, asked.of);
}

std::string subject_of(const AskedCheck& asked) { return fmt::format("{} of {}", name_of(asked), asked.slug); }

}  // namespace reprobench
