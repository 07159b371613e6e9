#include "matrix/spec/files/call_list.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/contract/call_policy.hpp"
#include "matrix/contract/declared_call.hpp"
#include "matrix/spec/files/tensor_file.hpp"
#include "matrix/spec/nearest_name.hpp"
#include "matrix/spec/scalar.hpp"
#include "matrix/spec/schema.hpp"
#include "matrix/spec/yaml_reader.hpp"

namespace reprobench {
namespace {

using Values = std::map<std::string, std::string>;

constexpr std::size_t kMostTensorErrors = 20;  // each looks through all names of the file for a near one

// Words of a call that a row gives: in capitals, so that none is a dtype or an operator.
bool is_variable(const std::string& word) {
  return !word.empty() && std::isupper(static_cast<unsigned char>(word.front())) != 0 &&
         std::all_of(word.begin(), word.end(), [](unsigned char c) { return std::isupper(c) != 0 || std::isdigit(c); });
}

// The content of a file. Whether its calls find their tensors is known only once all of it has been read.
struct ListDraft {
  CallList list;
  std::vector<DeclaredCall> calls;
  std::vector<Mark> marks;  // of the calls
  std::set<std::string> texts;
  std::string tensors;  // as it stands there
  Mark tensors_mark;
};

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

void add_calls(ListDraft& list, const CallDraft& draft, Scope& scope) {
  const std::vector<Values> rows = draft.rows.empty() ? std::vector<Values>{{}} : draft.rows;
  for (const Values& row : rows) {
    try {
      DeclaredCall call = parse_call(canonical_call(draft.text, row));
      if (const std::string refusal = refusal_of(call); !refusal.empty()) {
        scope.diagnostics.error(draft.mark, "RB047", fmt::format("{} may not run: {}", call.name, refusal));
        return;
      }
      if (!list.texts.insert(call.text).second) {
        scope.diagnostics.error(draft.mark, "RB023", fmt::format("the list has {} twice", call.text));
      }
      list.calls.push_back(std::move(call));
      list.marks.push_back(draft.mark);
    } catch (const ContractError& error) {
      scope.diagnostics.error(draft.mark, "RB019", error.what());
      return;  // the other rows say the same
    }
  }
}

void read_memory(ListDraft& draft, const YamlEntry& entry, Scope& scope) {
  assign(draft.list.memory_bytes, read_size(entry.key, entry.value, scope));
}

constexpr Field<ListDraft> kListFields[] = {
    {"schema", kRequired, "Always 1.", &read_schema_version<ListDraft>},
    {"name", kRequired, "The file's name without `.yaml`.",
     [](ListDraft& draft, const YamlEntry& entry, Scope& scope) {
       assign(draft.list.name, read_name(entry.key, entry.value, scope));
     }},
    {"memory", kOptional,
     "What one call may take, 1GiB unless it says otherwise; a larger one is left out and says so.", &read_memory},
    {"tensors", kOptional,
     "A .safetensors file beside the list, whose tensors its calls take: `f32[64, 128] from 'x'`.",
     [](ListDraft& draft, const YamlEntry& entry, Scope& scope) {
       assign(draft.tensors, read_relative_path(entry.key, entry.value, scope));
       draft.tensors_mark = entry.value.mark;
     }},
    {"calls", kRequired, "See calls.",
     [](ListDraft& list, const YamlEntry& entry, Scope& scope) {
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

std::string shape_text(std::string_view dtype, const std::vector<std::int64_t>& shape) {
  return fmt::format("{}[{}]", dtype, fmt::join(shape, ", "));
}

// The file's own spelling is used for a type that no call can declare.
std::string shape_text(const SafetensorsEntry& tensor) {
  for (const std::string& dtype : declared_dtypes()) {
    if (safetensors_name(dtype) == tensor.dtype) return shape_text(dtype, tensor.shape);
  }
  return shape_text(tensor.dtype, tensor.shape);
}

void check_taken(const DeclaredTensor& declared, const TensorFile& file, const Mark& mark, Scope& scope) {
  const auto held = std::ranges::lower_bound(file.tensors, declared.from, {}, &SafetensorsEntry::name);
  const std::string name = std::filesystem::path(file.file).filename().string();
  if (held == file.tensors.end() || held->name != declared.from) {
    std::vector<std::string> known;
    for (const SafetensorsEntry& tensor : file.tensors) known.push_back(tensor.name);
    scope.diagnostics.error(mark, "RB044", fmt::format("{}: {}", name, unknown_name("tensor", declared.from, known)));
  } else if (held->dtype != safetensors_name(declared.dtype) || held->shape != declared.shape) {
    scope.diagnostics.error(mark, "RB044",
                            fmt::format("`{}` of {} is {}, and the call declares {}", declared.from, name,
                                        shape_text(*held), shape_text(declared.dtype, declared.shape)));
  }
}

// Whether the file that is named has what the calls take of it, and whether they take anything.
void find_tensors(ListDraft& draft, const std::string& list_file, Scope& scope) {
  std::optional<TensorFile> file;
  try {
    if (!draft.tensors.empty()) {
      file = read_tensor_file((std::filesystem::path(list_file).parent_path() / draft.tensors).string());
      draft.list.tensors_file = file->file;
      draft.list.tensors_sha256 = file->sha256;
    }
  } catch (const SpecError& error) {
    for (const Diagnostic& found : error.diagnostics()) {
      scope.diagnostics.error(draft.tensors_mark, found.code, draft.tensors + ": " + found.what, found.hint);
    }
    return;
  }
  bool is_taken = false;
  const std::size_t before = scope.diagnostics.size();
  for (std::size_t i = 0; i < draft.calls.size() && scope.diagnostics.size() < before + kMostTensorErrors; ++i) {
    for (const DeclaredTensor& declared : draft.calls[i].tensors()) {
      if (declared.from.empty()) continue;
      is_taken = true;
      if (file) {
        check_taken(declared, *file, draft.marks[i], scope);
      } else {
        scope.diagnostics.error(
            draft.marks[i], "RB018",
            fmt::format("`{}` is of a file, and the list names none: `tensors: mine.safetensors`", declared.from));
      }
    }
  }
  if (file && !is_taken) {
    scope.diagnostics.error(
        draft.tensors_mark, "RB040",
        fmt::format("no call takes a tensor of {}; one does by f32[...] from 'NAME'", draft.tensors));
  }
}

}  // namespace

void give_calls(const CallList& list, WorkloadRequest& workload) {
  workload.calls = list.calls;
  workload.memory_bytes = list.memory_bytes;
  workload.tensors_sha256 = list.tensors_sha256;
  workload.tensors_file = list.tensors_file;
}

CallList parse_call_list(const std::string& text, const std::string& file) {
  Diagnostics diagnostics;
  Scope scope{diagnostics};
  const YamlNode root = read_yaml(text, file, {"a list of operator calls", "calls"}, diagnostics);
  if (root.entries.empty()) diagnostics.throw_if_any();
  ListDraft draft;
  draft.list.memory_bytes = kUsualCallMemoryBytes;
  read_fields<ListDraft>(draft, root, kListFields, scope);
  // A file that cannot be named has been reported; without it every call that takes of it would be, too.
  if (!draft.tensors.empty() || root.find("tensors") == nullptr) find_tensors(draft, file, scope);
  diagnostics.throw_if_any();
  for (const DeclaredCall& call : draft.calls) draft.list.calls.push_back(call.text);
  return std::move(draft.list);
}

CallList load_call_list(const std::string& path) { return parse_call_list(read_yaml_file(path), path); }

std::vector<KeyTable> call_list_keys() {
  return {key_table<ListDraft>("Lists of operator calls", kListFields),
          key_table<CallDraft>("An entry of `calls`", kCallFields)};
}

}  // namespace reprobench
