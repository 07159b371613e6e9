// plan.json: every cell of a matrix on this host, each runnable or skipped with rule and reason. All later stages read
// this and never the YAML again.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "matrix/contract/device/host_facts.hpp"
#include "matrix/contract/installed_libraries.hpp"
#include "matrix/plan/cell.hpp"
#include "matrix/spec/stack_spec.hpp"

namespace reprobench {

// A machine whose runs are in a merged run.
struct PlanHost {
  std::string label;              // coordinate `host` of the cells that ran there
  std::vector<std::string> runs;  // ids of the runs made on it
  HostFacts facts;
};

// The image that a stack is, as it was inspected before the run.
struct PlanImage {
  std::string name;               // as it was given
  std::string digest;             // of its manifest, or "root-sha256:..." of an unpacked root
  std::string inspection;         // kInspectionWords
  std::string summary;            // of the inspection
  std::string inspection_sha256;  // of inputs/inspection-STACK.json
  bool operator==(const PlanImage&) const = default;
};
inline constexpr std::string_view kInspectionWords[] = {"refused", "undecided", "warned", "clean"};

// What the command line asked for beside the matrix file. A run of less than the matrix, or of something else, gives no
// verdict on the matrix.
struct PlanRequest {
  std::vector<std::string> selected_by;  // "--stack torch-2.8.0-cu128": other cells are kDeselected
  std::vector<std::string> changed_by;   // "--repeat 1", where the matrix asks for more
  std::vector<std::string> overrides;    // "--repeat 1", "--inject kind=...": part of every reproduce line
  bool names_cells = false;              // by --cell: the exit code speaks of these cells alone
  bool operator==(const PlanRequest&) const = default;
};

struct Plan {
  std::string matrix;       // name
  std::string matrix_file;  // as given on the command line: part of every reproduce line
  PlanRequest request;
  HostFacts host;               // in a merged run the first of `hosts`
  std::vector<PlanHost> hosts;  // in a merged run; empty: all ran on `host`
  std::map<std::string, std::map<std::string, std::string>>
      declared;  // stack -> component -> version, of the stacks named
  // By stack; in a merged run by its name_on_host(). Only installed stacks are in it. Empty: a plan of an older build.
  std::map<std::string, InstalledLibraries> installed;
  std::map<std::string, PlanImage> images;    // by stack; only in a run of `qualify`
  std::map<std::string, std::string> suites;  // name -> SHA-256 of what it asks; only in a run of `qualify`
  std::vector<PlannedCell> cells;
  std::int64_t excluded = 0;  // points of the axes that `exclude` took away
};

inline constexpr std::string_view kHostLabelLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
inline constexpr std::size_t kMostHostLabelLetters = 64;

template <>
struct Description<PlanHost> {
  static constexpr About about = About::part("plan_host");
  static void fields(auto& field, PlanHost& host) {
    field("label", host.label, rule::letters_of(kHostLabelLetters, kMostHostLabelLetters));
    field("runs", host.runs, rule::not_empty_list);
    field("facts", host.facts);
  }
};

template <>
struct Description<PlanImage> {
  static constexpr About about = About::part("plan_image", "The image that a stack is, as it was inspected.");
  static void fields(auto& field, PlanImage& image) {
    field("name", image.name, rule::not_empty);
    field("digest", image.digest, rule::not_empty.says("Of its manifest, or over what lies in an unpacked root."));
    field("inspection", image.inspection, rule::one_of(kInspectionWords));
    field("summary", image.summary);
    field("inspection_sha256", image.inspection_sha256, rule::hex(64).says("Of inputs/inspection-STACK.json."));
  }
};

template <>
struct Description<PlanRequest> {
  static constexpr About about = About::part("plan_request", "What the command line asked for beside the matrix file.");
  static void fields(auto& field, PlanRequest& request) {
    field("selected_by", request.selected_by,
          "Options that left cells out; those are skipped by the rule `deselected`.");
    field("changed_by", request.changed_by,
          "Options by which the cells are asked for something else than the matrix says.");
    field("overrides", request.overrides, "Options that are part of every reproduce line.");
    field("names_cells", request.names_cells, "By --cell.");
  }
};

struct PlanTotals {
  std::int64_t planned = 0;
  std::int64_t runnable = 0;
  std::int64_t skipped = 0;
};
PlanTotals totals_of(const Plan& plan);
template <>
struct Description<PlanTotals> {
  static constexpr About about = About::part("totals");
  static void fields(auto& field, PlanTotals& totals) {
    field("planned", totals.planned, rule::at_least(0));
    field("runnable", totals.runnable, rule::at_least(0));
    field("skipped", totals.skipped, rule::at_least(0));
  }
};

template <>
struct Description<Plan> {
  static constexpr About about = About::document(
      "plan", "plan.json: every cell of a matrix on this host, runnable or skipped with rule and reason");
  static void fields_before_cells(auto& field, Plan& plan) {
    field("matrix", plan.matrix);
    field("matrix_file", plan.matrix_file);
    field.optional("request", plan.request, "Absent: the command line asked for nothing beside the matrix file.");
    field("host", plan.host);
    field.optional("hosts", plan.hosts, rule::not_empty_list.says("Of a merged run: the machines its cells ran on."));
    field("declared", plan.declared, "Stack, component, version.");
    field.optional("excluded", plan.excluded, rule::at_least(1).says("Points of the axes that `exclude` took away."));
    field.optional("installed", plan.installed, "Of the stacks that are installed what their workers have to load.");
    field.optional("images", plan.images, "Of the stacks that are images which those are.");
    field.optional("suites", plan.suites, "Of a comparison of two images: SHA-256 of each suite's file and calls.");
    field.as(
        "totals", [&] { return totals_of(plan); }, [](const PlanTotals&) {});
  }
  static void fields(auto& field, Plan& plan) {
    fields_before_cells(field, plan);
    field("cells", plan.cells);
  }
};

// Writes plan.json, one cell to a line, in parts of about 64 KiB. So a plan of 100,000 cells is never in memory as
// JSON.
void write_plan(const Plan& plan, const std::function<void(std::string_view)>& sink);

// Throws ContractError.
Plan plan_from_json(const nlohmann::json& json);

// Axes times suites, minus exclude, plus include, in fixed order, with cell ids, thresholds, references and required
// marks. Pure. Throws SpecError: unknown suite, two cells with one id (B25), more than 100,000 cells (B17), rules that
// select nothing (B24, B40). Skips and notes are not known yet. `excluded` becomes the number of cells that `exclude`
// took away.
std::vector<PlannedCell> expand(const MatrixSpec& matrix, const std::map<std::string, SuiteSpec>& suites,
                                std::int64_t* excluded = nullptr);

// "3f9c1e0a7b52": the first 12 hex digits of the SHA-256 of the canonical request.
std::string cell_id_of(const CellRequest& request);

// A cell that ran on several hosts of a merged run is planned once for each host: "3f9c1e0a7b52@gpu-a". Its worker was
// given, and echoes, the part before the `@`. The same holds for slugs.
std::string name_on_host(const std::string& name, const std::string& host);
std::string name_without_host(const std::string& name);

}  // namespace reprobench
