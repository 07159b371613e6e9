// The version of the documents that the coordinator, the workers and the reports exchange.
//
// Rule, as in nextest's archives: another major is refused, a newer minor is refused, an older minor is read. The
// Python side takes the numbers from the shipped schemas, and a test compares the schemas with this header.
//
// | version    | what changed                                                                                     |
// | 1.0 to 1.4 | reprobench 0.2.0 and before; that release's version of this file says what each of them added    |
// | 2.0        | the field's words (ci/adr/0060-words-of-contract-2.md): `diagnosis`, `subgraph`,                 |
// |            | `substituted_inputs`, `on_substituted_inputs`; what 1.1 to 1.4 added to a document is always     |
// |            | there                                                                                            |
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "matrix/base/contract_error.hpp"

namespace reprobench {

struct ContractVersion {
  int major;
  int minor;
};

inline constexpr ContractVersion kContractVersion{2, 0};
inline constexpr const char* kProjectVersion = "0.3.0";
inline constexpr const char* kLastReaderOfMajor1 = "0.2.0";  // the last reprobench that reads documents of contract 1

// {"schema": "reprobench/NAME", "version": {"major": 2, "minor": 0}}: how every document begins.
nlohmann::json document(const std::string& name);

// The minor version of a document called `name`. Throws ContractError if this build does not read it.
int require_document(const nlohmann::json& json, const std::string& name);

}  // namespace reprobench
