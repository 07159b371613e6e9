// Lines that workers write: traces and operator calls. ci/fuzz.sh builds and runs it. A finding becomes a test.
#include <cstddef>
#include <cstdint>
#include <string>

#include "matrix/contract/operator_record.hpp"
#include "matrix/contract/probe_measurement.hpp"
#include "matrix/contract/trace.hpp"
#include "matrix/contract/version.hpp"

namespace {

template <class Parse>
void survives(Parse parse) {
  try {
    parse();
  } catch (const reprobench::ContractError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto line = reprobench::parse_trace_line(text, 0);
  // A fuzzer does not find checksums: documents are tried without theirs, too.
  auto body = nlohmann::json::parse(text, nullptr, false);
  if (const auto* checked = std::get_if<nlohmann::json>(&line)) body = *checked;
  if (!body.is_object()) return 0;
  survives([&] { reprobench::trace_header_from_json(body); });
  survives([&] { reprobench::step_record_from_json(body); });
  survives([&] { reprobench::tensors_record_from_json(body); });
  survives([&] { reprobench::operator_record_from_json(body); });
  survives([&] { reprobench::probe_measurement_from_json(body); });
  return 0;
}
