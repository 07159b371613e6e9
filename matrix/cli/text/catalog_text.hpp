// Everything a matrix can name, by kind: workloads, stacks, knobs, metrics, suites.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "matrix/cli/verbs/verb.hpp"

namespace reprobench {

struct CatalogEntry {
  std::string name;
  std::string summary;
  nlohmann::json details;  // an object; what `describe` prints
};

// Singular and plural are both understood: "stack" and "stacks".
std::vector<std::string> kind_names();

std::vector<CatalogEntry> catalog_entries(const Project& project, const std::string& kind);

// What to say of `describe` with one word: "`mlp` is a workload; say `reprobench describe workload mlp`".
std::string nameless_text(const Project& project, const std::string& kind);

// A document of schema `description`. Throws UsageError with the known names if there is no such entry.
nlohmann::json describe_entry(const Project& project, const std::string& kind, const std::string& name);

// The verb `list`: a line for everything of a kind, or the document `list`.
ExitCode list_entries(const std::string& kind, bool as_json, const Context& context);

}  // namespace reprobench
