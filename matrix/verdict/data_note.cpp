#include "matrix/verdict/data_note.hpp"

#include <fmt/format.h>

namespace reprobench {

std::string data_note(const WorkloadRequest& workload, const CellResult* result) {
  if (workload.data_sha256.empty()) return "";
  std::string note = fmt::format("data: {}, SHA-256 {}", workload.data_file, workload.data_sha256);
  if (result == nullptr || !result->data) return note;
  const DataUse& use = *result->data;
  note += fmt::format(": of {} record{} {} {}", use.records, use.records == 1 ? "" : "s", use.samples,
                      use.samples == 1 ? "is a sample" : "are samples");
  if (const std::int64_t left_out = use.records - use.samples; left_out > 0) {
    note += fmt::format(", {} {} no room for a response in the context", left_out, left_out == 1 ? "has" : "have");
  }
  if (use.cut > 0) note += fmt::format("; of {} sample{} the response is cut", use.cut, use.cut == 1 ? "" : "s");
  return note;
}

}  // namespace reprobench
