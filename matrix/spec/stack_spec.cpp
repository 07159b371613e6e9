#include "matrix/spec/stack_spec.hpp"

#include <algorithm>
#include <filesystem>

#include "matrix/spec/scalar.hpp"
#include "matrix/spec/schema.hpp"
#include "matrix/spec/yaml_reader.hpp"

namespace reprobench {
namespace {

using Entry = YamlEntry;

std::string folder_of(const Mark& mark) {
  return std::filesystem::absolute(std::filesystem::path(mark.file)).parent_path().lexically_normal().string();
}

std::vector<std::string> read_paths(const Entry& entry, Scope& scope) {
  std::vector<std::string> paths;
  if (!is_list_or_reported(entry.key, entry.value, "[/usr/include]", scope)) return paths;
  for (const YamlNode& item : entry.value.items) {
    if (auto path = read_text(entry.key, item, scope)) paths.push_back(std::move(*path));
  }
  return paths;
}

void read_libraries(StackSpec& stack, const Entry& entry, Scope& scope) {
  if (!is_map_or_reported(entry.key, entry.value, scope)) return;
  for (const YamlEntry& library : entry.value.entries) {
    if (library.value.refused) continue;
    if (auto identity = read_text(library.key, library.value, scope))
      stack.libraries[library.key] = std::move(*identity);
  }
  if (entry.value.entries.empty()) {
    scope.diagnostics.error(entry.value.mark, "RB019", fmt::format("`{}` names none", entry.key));
  }
}

template <std::string StackSpec::*member>
void read_version_into(StackSpec& stack, const Entry& entry, Scope& scope) {
  assign(stack.*member, read_version(entry.key, entry.value, scope));
}

void read_component(StackSpec& stack, const Entry& entry, Scope& scope) {
  if (auto version = read_version(entry.key, entry.value, scope)) stack.components[entry.key] = std::move(*version);
}

constexpr Field<StackSpec> kComponentFields[] = {
    {"torch", kRequired, "With its variant: \"2.9.0+cu128\".", &read_component},
    {"cuda", kOptional, "Runtime.", &read_component},
    {"cudnn", kOptional, "As loaded.", &read_component},
    {"nccl", kOptional, "As loaded.", &read_component},
};

constexpr Field<StackSpec> kWheelFields[] = {
    {"python", kRequired, "Tag of the wheels, for pip.", &read_version_into<&StackSpec::python>},
    {"lock", kRequired, "Names, versions and SHA-256 of the wheels, beside the stack file.",
     [](StackSpec& stack, const Entry& entry, Scope& scope) {
       if (auto path = read_relative_path(entry.key, entry.value, scope)) {
         stack.lock_path = folder_of(entry.value.mark) + "/" + *path;
       }
     }},
    {"cpu_wheels", kRequired, "Those that a host without a GPU needs.",
     [](StackSpec& stack, const Entry& entry, Scope& scope) {
       stack.cpu_wheels = read_names(entry.key, entry.value, scope);
     }},
};

constexpr Field<StackSpec> kSystemFields[] = {
    {"package", kOptional, "Of the distribution.",
     [](StackSpec& stack, const Entry& entry, Scope& scope) {
       assign(stack.package, read_name(entry.key, entry.value, scope));
     }},
    {"package_version", kOptional, "That the stack stands for; another one is not this stack.",
     &read_version_into<&StackSpec::package_version>},
    {"include_dirs", kOptional, "Of its headers.",
     [](StackSpec& stack, const Entry& entry, Scope& scope) { stack.include_dirs = read_paths(entry, scope); }},
    {"library_dirs", kOptional, "Of its libraries.",
     [](StackSpec& stack, const Entry& entry, Scope& scope) { stack.library_dirs = read_paths(entry, scope); }},
    {"libraries", kOptional, "Of an adopted PyTorch: each library with the identity it had.", &read_libraries},
};

template <std::string StackSpec::*member>
void read_text_into(StackSpec& stack, const Entry& entry, Scope& scope) {
  assign(stack.*member, read_text(entry.key, entry.value, scope));
}

constexpr Field<StackSpec> kImageFields[] = {
    {"name", kRequired, "As it was given.", &read_text_into<&StackSpec::image>},
    {"digest", kRequired, "Of its manifest; of an unpacked root over what lies in it.",
     &read_text_into<&StackSpec::image_digest>},
    {"root", kRequired, "Folder of this host where it is unpacked.", &read_text_into<&StackSpec::root>},
    {"host_include_dirs", kOptional, "Of this host, for headers of CUDA that the image lacks.",
     [](StackSpec& stack, const Entry& entry, Scope& scope) { stack.host_include_dirs = read_paths(entry, scope); }},
    {"include_dirs", kRequired, "Of its headers, as seen inside.",
     [](StackSpec& stack, const Entry& entry, Scope& scope) { stack.include_dirs = read_paths(entry, scope); }},
    {"library_dirs", kRequired, "Of its libraries, as seen inside.",
     [](StackSpec& stack, const Entry& entry, Scope& scope) { stack.library_dirs = read_paths(entry, scope); }},
    {"libraries", kRequired, "Each library with the identity it had.", &read_libraries},
};

void read_parts(StackSpec& stack, const Entry& entry, Scope& scope) {
  if (!is_map_or_reported(entry.key, entry.value, scope)) return;
  for (const YamlEntry& part : entry.value.entries) {
    if (part.value.refused) continue;
    if (auto folder = read_text(part.key, part.value, scope)) stack.parts[part.key] = std::move(*folder);
  }
  if (entry.value.entries.empty()) {
    scope.diagnostics.error(entry.value.mark, "RB019", fmt::format("`{}` names none", entry.key));
  }
}

constexpr Field<StackSpec> kHybridFields[] = {
    {"base", kRequired, "Folder of a stack in the store, whose wheels are taken.", &read_text_into<&StackSpec::base>},
    {"parts", kRequired, "Components that are taken of other stacks, each with that stack's folder.", &read_parts},
};

template <const auto& fields>
void read_section(StackSpec& stack, const Entry& entry, Scope& scope) {
  if (is_map_or_reported(entry.key, entry.value, scope)) read_fields<StackSpec>(stack, entry.value, fields, scope);
}

template <int StackSpec::*member, std::int64_t lowest, std::int64_t highest>
void read_integer_into(StackSpec& stack, const Entry& entry, Scope& scope) {
  if (const auto value = read_integer(entry.key, entry.value, scope, lowest, highest)) {
    stack.*member = static_cast<int>(*value);
  }
}

constexpr Field<StackSpec> kStackFields[] = {
    {"schema", kRequired, "Always 1.", &read_schema_version<StackSpec>},
    {"name", kRequired, "As matrices name it; the file's name without `.yaml`.",
     [](StackSpec& stack, const Entry& entry, Scope& scope) {
       assign(stack.name, read_name(entry.key, entry.value, scope));
     }},
    {"source", kRequired,
     "`wheel`: from a lock; `system`: a package of the distribution, or a PyTorch that `stack adopt` found; `image`: "
     "of an image, written by `qualify`; `hybrid`: of several stacks, written by `stack swap`.",
     [](StackSpec& stack, const Entry& entry, Scope& scope) {
       const auto word = read_word(entry.key, entry.value, scope, {"wheel", "system", "image", "hybrid"});
       if (word) stack.source = *from_word<StackSource>(*word);
     }},
    {"summary", kOptional, "One sentence for people.",
     [](StackSpec& stack, const Entry& entry, Scope& scope) {
       assign(stack.summary, read_text(entry.key, entry.value, scope));
     }},
    {"components", kRequired, "Declared versions, held against what is loaded.", &read_section<kComponentFields>},
    {"cxx11_abi", kRequired, "0 or 1, the ABI of its C++ library.", &read_integer_into<&StackSpec::cxx11_abi, 0, 1>},
    {"cxx_standard", kRequired, "Of the worker that is built against it.",
     &read_integer_into<&StackSpec::cxx_standard, 14, 23>},
    {"wheel", kOptional, "Of `source: wheel`.", &read_section<kWheelFields>},
    {"system", kOptional, "Of `source: system`.", &read_section<kSystemFields>},
    {"image", kOptional, "Of `source: image`.", &read_section<kImageFields>},
    {"hybrid", kOptional, "Of `source: hybrid`.", &read_section<kHybridFields>},
};

// Every stack has the section of its source and no other's.
void check_section(const StackSpec& stack, const YamlNode& root, Scope& scope) {
  if (root.find("source") == nullptr) return;
  const std::string_view wanted = to_string(stack.source);
  for (const std::string_view section : Words<StackSource>::table) {
    const YamlNode* present = root.find(std::string(section));
    if (section == wanted && present == nullptr) {
      scope.diagnostics.error(root.mark, "RB018",
                              fmt::format("required key `{}` is missing in a stack of `source: {}`", wanted, wanted));
    } else if (section != wanted && present != nullptr) {
      scope.diagnostics.error(present->mark, "RB009",
                              fmt::format("key `{}` does not belong to a stack of `source: {}`", section, wanted));
    }
  }
}

// The identity with which a system stack is compared: the version of a package, or the libraries found when it was
// adopted.
void check_identity(const StackSpec& stack, const YamlNode& root, Scope& scope) {
  const YamlNode* system = root.find("system");
  if (stack.source != StackSource::system || system == nullptr || !system->is_map()) return;
  if (system->find("libraries") != nullptr) {
    for (const char* key : {"package", "package_version"}) {
      if (const YamlNode* extra = system->find(key)) {
        scope.diagnostics.error(extra->mark, "RB009",
                                fmt::format("key `{}` does not belong to a stack with `libraries`", key));
      }
    }
    for (const char* key : {"include_dirs", "library_dirs"}) {
      if (system->find(key) != nullptr) continue;
      scope.diagnostics.error(system->mark, "RB018",
                              fmt::format("required key `{}` is missing in a stack with `libraries`", key));
    }
    return;
  }
  for (const char* key : {"package", "package_version"}) {
    if (system->find(key) != nullptr) continue;
    scope.diagnostics.error(system->mark, "RB018", fmt::format("required key `{}` is missing", key));
  }
}

}  // namespace

StackSpec parse_stack(const std::string& text, const std::string& file) {
  Diagnostics diagnostics;
  Scope scope{diagnostics};
  const YamlNode root = read_yaml(text, file, {"a stack", "components"}, diagnostics);
  if (root.entries.empty()) diagnostics.throw_if_any();
  StackSpec stack;
  stack.text = text;
  stack.mark = root.mark;
  read_fields<StackSpec>(stack, root, kStackFields, scope);
  check_section(stack, root, scope);
  check_identity(stack, root, scope);
  diagnostics.throw_if_any();
  return stack;
}

StackSpec load_stack(const std::string& path) { return parse_stack(read_yaml_file(path), path); }

void StackFiles::require_readable(const std::string& name) const {
  const auto found = broken.find(name);
  if (found != broken.end()) throw SpecError(found->second);
}

StackFiles read_stack_files(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".yaml") paths.push_back(entry.path());
  }
  if (error) throw_spec_error({folder, 0, 0}, "RB027", "cannot be read: " + error.message());
  std::sort(paths.begin(), paths.end());

  StackFiles files;
  for (const std::filesystem::path& path : paths) {
    try {
      StackSpec stack = load_stack(path.string());
      const auto [first, is_new] = files.stacks.emplace(stack.name, stack);
      if (is_new) continue;
      files.broken.emplace(
          stack.name,
          SpecError(
              {{stack.mark, "RB008",
                fmt::format("stack `{}` is defined twice; first in {}", stack.name, first->second.mark.file), ""}}));
    } catch (const SpecError& broken) {
      files.broken.emplace(path.stem().string(), broken);
    }
  }
  // Which of two files is meant, nobody can say.
  for (const auto& [name, broken] : files.broken) files.stacks.erase(name);
  return files;
}

std::map<std::string, StackSpec> load_stacks(const std::string& folder) {
  StackFiles files = read_stack_files(folder);
  Diagnostics diagnostics;
  for (const auto& [name, broken] : files.broken) diagnostics.add(broken);
  diagnostics.throw_if_any();
  return std::move(files.stacks);
}

std::vector<KeyTable> stack_keys() {
  return {key_table<StackSpec>("Stack files", kStackFields), key_table<StackSpec>("`components`", kComponentFields),
          key_table<StackSpec>("`wheel`", kWheelFields),     key_table<StackSpec>("`system`", kSystemFields),
          key_table<StackSpec>("`image`", kImageFields),     key_table<StackSpec>("`hybrid`", kHybridFields)};
}

}  // namespace reprobench
