#include "matrix/record/operator_reader.hpp"

#include "matrix/record/plain_file.hpp"

namespace reprobench {

OperatorCalls read_operator_calls(const std::filesystem::path& path) {
  OperatorCalls calls;
  const LinesRead read = read_checked_lines(path, [&](const nlohmann::json& body) -> std::string {
    try {
      OperatorRecord record = operator_record_from_json(body);
      calls.steps[record.step].push_back(std::move(record));
      return "";
    } catch (const std::exception& error) {
      return error.what();
    }
  });
  calls.problem = read.problem;
  return calls;
}

}  // namespace reprobench
