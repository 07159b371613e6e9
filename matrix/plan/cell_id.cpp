#include "matrix/plan/cell_id.hpp"

#include "matrix/contract/document/text_writer.hpp"
#include "matrix/contract/sha256.hpp"
#include "matrix/plan/plan.hpp"

namespace reprobench {
namespace {

std::string text_with_knobs(const CellRequest& request, KnobValues (*knobs_of)(const KnobValues&)) {
  JsonText json;
  write_text_fields(json, [&](auto& field) { canonical_fields(field, const_cast<CellRequest&>(request), knobs_of); });
  return json.text();
}

}  // namespace

std::string canonical_text(const CellRequest& request) { return text_with_knobs(request, with_defaults); }

std::string cell_id_of(const CellRequest& request) {
  constexpr std::size_t kDigits = 12;
  return sha256_of_text(text_with_knobs(request, without_defaults)).substr(0, kDigits);
}

}  // namespace reprobench
