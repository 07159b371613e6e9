// Lines of telemetry.jsonl. ci/fuzz.sh builds and runs it. A finding becomes a test.
#include <cstddef>
#include <cstdint>

#include "matrix/contract/device/telemetry.hpp"
#include "matrix/contract/version.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto line = nlohmann::json::parse(data, data + size, nullptr, false);
  if (line.is_discarded()) return 0;
  const auto survives = [&](auto* parse) {
    try {
      parse(line);
    } catch (const reprobench::ContractError&) {
    }
  };
  survives(&reprobench::telemetry_header_from_json);
  survives(&reprobench::telemetry_sample_from_json);
  survives(&reprobench::telemetry_event_from_json);
  survives(&reprobench::telemetry_end_from_json);
  return 0;
}
