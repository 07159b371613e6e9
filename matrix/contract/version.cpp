#include "matrix/contract/version.hpp"

namespace reprobench {

nlohmann::json document(const std::string& name) {
  return {{"schema", "reprobench/" + name},
          {"version", {{"major", kContractVersion.major}, {"minor", kContractVersion.minor}}}};
}

int require_document(const nlohmann::json& object, const std::string& name) {
  if (!object.is_object()) throw ContractError(name + ": the document is not a JSON object");
  const std::string expected = "reprobench/" + name;
  const auto schema = object.find("schema");
  if (schema == object.end() || *schema != expected) {
    throw ContractError(name + ": schema is " + (schema == object.end() ? "missing" : schema->dump()) + ", expected `" +
                        expected + "`");
  }
  const auto version = object.find("version");
  const auto part = [&](const char* key) {
    if (version == object.end() || !version->is_object() || !version->contains(key) ||
        !version->at(key).is_number_integer()) {
      throw ContractError(name + ": `version` with `major` and `minor` is missing");
    }
    return version->at(key).get<std::int64_t>();
  };
  const std::int64_t major = part("major");
  const std::int64_t minor = part("minor");
  if (major != kContractVersion.major || minor < 0 || minor > kContractVersion.minor) {
    const std::string reader = std::string("; reprobench ") + kLastReaderOfMajor1 + " is the last that reads it";
    throw ContractError(name + ": version " + std::to_string(major) + "." + std::to_string(minor) +
                        " cannot be read by contract " + std::to_string(kContractVersion.major) + "." +
                        std::to_string(kContractVersion.minor) + (major == 1 ? reader : ""));
  }
  return static_cast<int>(minor);
}

}  // namespace reprobench
