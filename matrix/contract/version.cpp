#include "matrix/contract/version.hpp"

namespace reprobench {

nlohmann::json document(const std::string& name) {
  return {{"schema", "reprobench/" + name},
          {"version", {{"major", kContractVersion.major}, {"minor", kContractVersion.minor}}}};
}

void require_document(const nlohmann::json& object, const std::string& name) {
  if (!object.is_object()) throw ContractError(name + ": the document is not a JSON object");
  const std::string expected = "reprobench/" + name;
  const std::string actual = object.value("schema", "");
  if (actual != expected) {
    throw ContractError(name + ": schema is `" + actual + "`, expected `" + expected + "`");
  }
  const auto version = object.find("version");
  if (version == object.end() || !version->is_object() || !version->contains("major") || !version->contains("minor")) {
    throw ContractError(name + ": `version` with `major` and `minor` is missing");
  }
  const int major = version->at("major").get<int>();
  const int minor = version->at("minor").get<int>();
  if (major != kContractVersion.major || minor > kContractVersion.minor) {
    throw ContractError(name + ": version " + std::to_string(major) + "." + std::to_string(minor) +
                        " cannot be read by contract " + std::to_string(kContractVersion.major) + "." +
                        std::to_string(kContractVersion.minor));
  }
}

}  // namespace reprobench
