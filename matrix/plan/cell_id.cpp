#include "matrix/plan/cell_id.hpp"

#include "matrix/base/sha256.hpp"
#include "matrix/contract/document/text_writer.hpp"
#include "matrix/plan/plan.hpp"

namespace reprobench {
namespace {

std::string text_with_knobs(const CellRequest& request, KnobValues (*knobs_of)(const KnobValues&)) {
  JsonText json;
  write_text_fields(json, [&](auto& field) { canonical_fields(field, const_cast<CellRequest&>(request), knobs_of); });
  return json.text();
}

constexpr std::size_t kDigitsOfId = 12;

// Whether a spreadsheet would make a number of it: 222432137210, 2224e3213721.
bool is_number(std::string_view id) {
  const std::size_t other = id.find_first_not_of("0123456789");
  if (other == std::string_view::npos) return true;
  return id[other] == 'e' && other > 0 && other + 1 < id.size() &&
         id.find_first_not_of("0123456789", other + 1) == std::string_view::npos;
}

}  // namespace

std::string canonical_text(const CellRequest& request) { return text_with_knobs(request, with_defaults); }

std::string cell_id_of(const CellRequest& request) {
  const std::string digits = sha256_of_text(text_with_knobs(request, without_defaults));
  std::size_t from = 0;
  while (from + kDigitsOfId < digits.size() && is_number(std::string_view(digits).substr(from, kDigitsOfId))) ++from;
  return digits.substr(from, kDigitsOfId);
}

}  // namespace reprobench
