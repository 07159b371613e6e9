#include "matrix/contract/operator_record.hpp"

#include "matrix/contract/document/reader.hpp"
#include "matrix/contract/document/text_writer.hpp"
#include "matrix/contract/trace.hpp"

namespace reprobench {

nlohmann::json to_json(const OperatorRecord& record) { return written(record); }
OperatorRecord operator_record_from_json(const nlohmann::json& object) { return read_document<OperatorRecord>(object); }

std::string operator_line(const OperatorRecord& record, std::int64_t seq) {
  JsonText text;
  write_text(text, record);
  return numbered_line(text.text(), seq);
}

}  // namespace reprobench
