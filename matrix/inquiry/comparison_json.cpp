#include "matrix/contract/document/reader.hpp"
#include "matrix/inquiry/comparison_document.hpp"

namespace reprobench {

nlohmann::json to_json(const CellComparison& comparison) { return written(comparison); }
nlohmann::json to_json(const std::vector<CellComparison>& comparisons, const std::vector<std::string>& without_partner,
                       const std::optional<OperatorAtlas>& operators) {
  return written(ComparisonsDocument{comparisons, without_partner, operators});
}

CellComparison comparison_from_json(const nlohmann::json& object) { return read_document<CellComparison>(object); }
std::vector<CellComparison> comparisons_from_json(const nlohmann::json& object) {
  return read_document<ComparisonsDocument>(object).comparisons;
}

}  // namespace reprobench
