#include "matrix/spec/key_reference.hpp"

#include <fmt/format.h>

namespace reprobench {
namespace {

struct Page {
  const char* name;
  std::vector<KeyTable> (*tables)();
};

constexpr Page kPages[] = {{"matrix", &matrix_keys},       {"suite", &suite_keys},  {"stack", &stack_keys},
                           {"threshold", &threshold_keys}, {"limits", &limit_keys}, {"faults", &fault_keys},
                           {"calls", &call_list_keys},     {"policy", &policy_keys}};

std::string markdown(const KeyTable& table) {
  std::string text = fmt::format("## {}\n\n| key | | meaning |\n| --- | --- | --- |\n", table.title);
  for (const KeyInfo& key : table.keys) {
    text += fmt::format("| `{}` | {} | {} |\n", key.key, key.is_required ? "required" : "", key.meaning);
  }
  return text;
}

}  // namespace

std::string key_reference(const std::string& name) {
  std::string text;
  for (const Page& page : kPages) {
    if (name != "keys" && name != page.name) continue;
    for (const KeyTable& table : page.tables()) text += (text.empty() ? "" : "\n") + markdown(table);
  }
  if (name != "keys") return text;
  return "# Keys of input files\n\nWritten from the tables that read them by `reprobench schema keys`; "
         "[README.md](README.md) has the errors.\n\n" +
         text;
}

std::vector<std::string> key_reference_names() {
  std::vector<std::string> names;
  for (const Page& page : kPages) names.emplace_back(page.name);
  names.emplace_back("keys");
  return names;
}

}  // namespace reprobench
