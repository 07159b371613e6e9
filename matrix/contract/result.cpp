#include "matrix/contract/result.hpp"

#include "matrix/contract/document/reader.hpp"

namespace reprobench {

nlohmann::json to_json(const Fingerprint& fingerprint) { return written(fingerprint); }
nlohmann::json to_json(const CellResult& result) { return written(result); }
CellResult result_from_json(const nlohmann::json& object) { return read_document<CellResult>(object); }

}  // namespace reprobench
