#include "matrix/contract/capability.hpp"

#include "matrix/contract/document/reader.hpp"

namespace reprobench {

nlohmann::json to_json(const Capability& capability) { return written(capability); }
Capability capability_from_json(const nlohmann::json& object) { return read_document<Capability>(object); }

}  // namespace reprobench
