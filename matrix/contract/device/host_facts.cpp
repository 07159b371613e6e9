#include "matrix/contract/device/host_facts.hpp"

#include "matrix/contract/document/reader.hpp"

namespace reprobench {

nlohmann::json to_json(const HostFacts& host) { return written(host); }
HostFacts host_facts_from_json(const nlohmann::json& object) { return read_document<HostFacts>(object); }

}  // namespace reprobench
