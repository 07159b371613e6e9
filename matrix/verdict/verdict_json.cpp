#include "matrix/contract/document/reader.hpp"
#include "matrix/verdict/verdict.hpp"

namespace reprobench {

nlohmann::json to_json(const RunVerdict& verdict) { return written(verdict); }
RunVerdict verdict_from_json(const nlohmann::json& object) { return read_document<RunVerdict>(object); }

}  // namespace reprobench
