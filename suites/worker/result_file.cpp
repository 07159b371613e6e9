#include "suites/worker/result_file.hpp"

#include "matrix/base/pending_file.hpp"

namespace reprobench {

void write_result(const std::filesystem::path& path, const CellResult& result) {
  PendingFile file(path, 0644);
  file.append(to_json(result).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  file.publish();
}

}  // namespace reprobench
