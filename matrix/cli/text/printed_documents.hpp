// The documents that only the command line writes, when a verb is called with --json.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "matrix/cli/doctor/preflight_line.hpp"
#include "matrix/contract/document/description.hpp"
#include "matrix/contract/document/words.hpp"
#include "matrix/contract/version.hpp"
#include "matrix/spec/stack_spec.hpp"
#include "matrix/verdict/verdict.hpp"

namespace reprobench {

struct VersionDocument {
  std::string reprobench = kProjectVersion;
  std::string compiler;
};
template <>
struct Description<VersionDocument> {
  static constexpr About about = About::document("version", "reprobench version --json");
  static void fields(auto& field, VersionDocument& version) {
    field("reprobench", version.reprobench);
    field("compiler", version.compiler);
  }
};

struct ListedEntry {
  std::string name;
  std::string summary;
};
template <>
struct Description<ListedEntry> {
  static constexpr About about = About::part("entry");
  static void fields(auto& field, ListedEntry& entry) {
    field("name", entry.name);
    field("summary", entry.summary);
  }
};

struct ListDocument {
  std::string kind;
  std::vector<ListedEntry> entries;
};
template <>
struct Description<ListDocument> {
  static constexpr About about = About::document("list", "reprobench list KIND --json");
  static void fields(auto& field, ListDocument& list) {
    field("kind", list.kind);
    field("entries", list.entries);
  }
};

template <>
struct Description<PreflightLine> {
  static constexpr About about = About::part("line");
  static void fields(auto& field, PreflightLine& line) {
    field("finding", line.finding);
    field("check", line.check);
    field("detail", line.detail);
    field("remedy", line.remedy);
  }
};

struct DoctorDocument {
  PreflightLines lines;
};
template <>
struct Description<DoctorDocument> {
  static constexpr About about = About::document("doctor", "reprobench doctor --json");
  static void fields(auto& field, DoctorDocument& doctor) { field("lines", doctor.lines); }
};

inline constexpr std::string_view kStackStates[] = {"installed", "worker not built", "not installed", "unavailable"};

struct ListedStack {
  std::string name;
  std::string summary;
  StackSource source = StackSource::wheel;
  std::map<std::string, std::string> components;
  std::string state;  // kStackStates
  std::string problem;
  std::string digest;
  std::int64_t size_bytes = 0;
};
template <>
struct Description<ListedStack> {
  static constexpr About about = About::part("stack");
  static void fields(auto& field, ListedStack& stack) {
    field("name", stack.name);
    field("summary", stack.summary);
    field("source", stack.source);
    field("components", stack.components);
    field("state", stack.state, rule::one_of(kStackStates));
    field("problem", stack.problem);
    field("digest", stack.digest);
    field("size_bytes", stack.size_bytes, rule::at_least(0));
  }
};

struct StacksDocument {
  std::vector<ListedStack> stacks;
};
template <>
struct Description<StacksDocument> {
  static constexpr About about = About::document("stacks", "reprobench stack list --json");
  static void fields(auto& field, StacksDocument& document) { field("stacks", document.stacks); }
};

struct ExplainDocument {
  std::string run;
  CellVerdict cell;  // its checks narrowed to the one asked for
};
template <>
struct Description<ExplainDocument> {
  static constexpr About about = About::document("explain", "reprobench explain CELL [CHECK] --json");
  static void fields(auto& field, ExplainDocument& document) {
    field("run", document.run);
    field("cell", document.cell, "As in verdict.json, its checks narrowed to the one asked for.");
  }
};

}  // namespace reprobench
