#include "matrix/spec/call_list.hpp"

#include <algorithm>
#include <cctype>
#include <map>

#include "matrix/contract/declared_call.hpp"
#include "matrix/contract/version.hpp"
#include "matrix/spec/scalar.hpp"
#include "matrix/spec/schema.hpp"
#include "matrix/spec/yaml_reader.hpp"

namespace reprobench {
namespace {

using Values = std::map<std::string, std::string>;

constexpr std::int64_t kUsualMemoryBytes = std::int64_t{1} << 30;

// Words of a call that a row gives: in capitals, so that none is a dtype or an operator.
bool is_variable(const std::string& word) {
  return !word.empty() && std::isupper(static_cast<unsigned char>(word.front())) != 0 &&
         std::all_of(word.begin(), word.end(), [](unsigned char c) { return std::isupper(c) != 0 || std::isdigit(c); });
}

struct CallDraft {
  std::string text;
  Mark mark;
  std::vector<Values> rows;
};

void read_row(CallDraft& draft, const YamlNode& row, Scope& scope) {
  if (!is_map_or_reported("with", row, scope)) return;
  Values values;
  for (const YamlEntry& entry : row.entries) {
    if (!is_variable(entry.key)) {
      scope.diagnostics.error(entry.key_mark, "RB009",
                              fmt::format("`{}` is no word that a row can give: capitals and digits", entry.key));
    } else if (!entry.value.is_scalar()) {
      scope.diagnostics.error(entry.value.mark, "RB019",
                              fmt::format("`{}` must be one word or number, got {}", entry.key, shown(entry.value)));
    } else {
      values[entry.key] = entry.value.text;
    }
  }
  draft.rows.push_back(std::move(values));
}

constexpr Field<CallDraft> kCallFields[] = {
    {"call", kRequired, "The operator with its arguments: `relu(f32[N, C])`.",
     [](CallDraft& draft, const YamlEntry& entry, Scope& scope) {
       assign(draft.text, read_text(entry.key, entry.value, scope));
       draft.mark = entry.value.mark;
     }},
    {"with", kOptional, "Rows of values, each a call of its own: `{N: 64, C: 128}`.",
     [](CallDraft& draft, const YamlEntry& entry, Scope& scope) {
       if (!is_list_or_reported(entry.key, entry.value, "[{N: 64, C: 128}]", scope)) return;
       for (const YamlNode& row : entry.value.items) read_row(draft, row, scope);
     }},
};

void add_calls(CallList& list, const CallDraft& draft, Scope& scope) {
  const std::vector<Values> rows = draft.rows.empty() ? std::vector<Values>{{}} : draft.rows;
  for (const Values& row : rows) {
    try {
      const std::string text = parse_call(canonical_call(draft.text, row)).text;
      if (std::find(list.calls.begin(), list.calls.end(), text) != list.calls.end()) {
        scope.diagnostics.error(draft.mark, "RB023", fmt::format("the list has {} twice", text));
      }
      list.calls.push_back(text);
    } catch (const ContractError& error) {
      scope.diagnostics.error(draft.mark, "RB019", error.what());
      return;  // the other rows say the same
    }
  }
}

void read_memory(CallList& list, const YamlEntry& entry, Scope& scope) {
  const auto quantity = entry.value.is_scalar() ? parse_quantity(entry.value.text) : std::nullopt;
  const auto unit = quantity ? size_unit_bytes(quantity->unit) : std::nullopt;
  if (!unit || quantity->value * *unit < 1 || quantity->value * *unit > 0x1p50) {
    scope.diagnostics.error(entry.value.mark, "RB019",
                            fmt::format("`memory` must be a size such as 2GiB, got {}", shown(entry.value)));
    return;
  }
  list.memory_bytes = static_cast<std::int64_t>(quantity->value * *unit);
}

constexpr Field<CallList> kListFields[] = {
    {"schema", kRequired, "Always 1.", &read_schema_version<CallList>},
    {"name", kRequired, "The file's name without `.yaml`.",
     [](CallList& list, const YamlEntry& entry, Scope& scope) {
       assign(list.name, read_name(entry.key, entry.value, scope));
     }},
    {"memory", kOptional,
     "What one call may take, 1GiB unless it says otherwise; a larger one is left out and says so.", &read_memory},
    {"calls", kRequired, "See calls.",
     [](CallList& list, const YamlEntry& entry, Scope& scope) {
       if (!is_list_or_reported(entry.key, entry.value, "[{call: 'relu(f32[64, 128])'}]", scope)) return;
       for (const YamlNode& item : entry.value.items) {
         if (!is_map_or_reported("calls", item, scope)) continue;
         CallDraft draft;
         read_fields<CallDraft>(draft, item, kCallFields, scope);
         if (!draft.text.empty()) add_calls(list, draft, scope);
       }
       if (list.calls.empty()) scope.diagnostics.error(entry.value.mark, "RB023", "`calls` has no entry");
       if (list.calls.size() > kMostCalls) {
         scope.diagnostics.error(entry.value.mark, "RB021",
                                 fmt::format("{} calls are over {}", list.calls.size(), kMostCalls));
       }
     }},
};

}  // namespace

CallList parse_call_list(const std::string& text, const std::string& file) {
  Diagnostics diagnostics;
  Scope scope{diagnostics};
  const YamlNode root = read_yaml(text, file, {"a list of operator calls", "calls"}, diagnostics);
  if (root.entries.empty()) diagnostics.throw_if_any();
  CallList list;
  list.memory_bytes = kUsualMemoryBytes;
  read_fields<CallList>(list, root, kListFields, scope);
  diagnostics.throw_if_any();
  return list;
}

CallList load_call_list(const std::string& path) { return parse_call_list(read_yaml_file(path), path); }

std::vector<KeyTable> call_list_keys() {
  return {key_table<CallList>("Lists of operator calls", kListFields),
          key_table<CallDraft>("An entry of `calls`", kCallFields)};
}

}  // namespace reprobench
