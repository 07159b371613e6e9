#include "matrix/contract/operator_record.hpp"

#include "matrix/contract/document/reader.hpp"

namespace reprobench {

nlohmann::json to_json(const OperatorRecord& record) { return written(record); }
OperatorRecord operator_record_from_json(const nlohmann::json& object) { return read_document<OperatorRecord>(object); }

}  // namespace reprobench
