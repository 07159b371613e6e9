#include "matrix/contract/exit_record.hpp"

#include "matrix/contract/document/reader.hpp"

namespace reprobench {

nlohmann::json to_json(const ExitRecord& record) { return written(record); }
ExitRecord exit_record_from_json(const nlohmann::json& object) { return read_document<ExitRecord>(object); }

}  // namespace reprobench
