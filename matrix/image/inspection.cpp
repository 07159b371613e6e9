#include "matrix/image/inspection.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "matrix/image/image_variables.hpp"
#include "matrix/image/promises.hpp"
#include "matrix/plan/known_defects.hpp"
#include "matrix/spec/version_agreement.hpp"

namespace reprobench {
namespace {

template <class Items, class Is>
std::ptrdiff_t count_of(const Items& items, Is is) {
  return std::count_if(items.begin(), items.end(), is);
}

void add_components(const ImageSoftware& software, Inspection& inspection) {
  for (const auto& [component, found] : software.components) {
    inspection.components.push_back({component, found.version, found.evidence, ""});
  }
}

// The worst finding first.
void conclude(Inspection& inspection) {
  std::stable_sort(inspection.findings.begin(), inspection.findings.end(),
                   [](const ImageFinding& a, const ImageFinding& b) { return a.severity < b.severity; });
  const auto has = [&](FindingSeverity severity) {
    return count_of(inspection.findings, [&](const ImageFinding& finding) { return finding.severity == severity; });
  };
  const auto contradicted =
      count_of(inspection.claims, [](const JudgedClaim& claim) { return claim.word == ClaimWord::contradicted; });
  const auto unread =
      count_of(inspection.claims, [](const JudgedClaim& claim) { return claim.word == ClaimWord::unread; }) +
      has(FindingSeverity::unread);
  const auto fails = has(FindingSeverity::fail);
  const auto warnings = has(FindingSeverity::warn);
  inspection.word = contradicted + fails > 0 ? InspectionWord::refused
                    : unread > 0             ? InspectionWord::undecided
                    : warnings > 0           ? InspectionWord::warned
                                             : InspectionWord::clean;
  inspection.summary =
      fmt::format("{}: {} of {} claims contradicted, {} failures, {} warnings, {} not judged",
                  to_string(inspection.word), contradicted, inspection.claims.size(), fails, warnings, unread);
}

}  // namespace

Inspection inspect_image(const Image& image, const std::vector<ClaimsFile>& files, const CompatFacts& facts) {
  ImageSoftware software = find_software(image);
  std::vector<ImageClaim> claims = claims_of_image(image);
  for (const ClaimsFile& file : files) claims.insert(claims.end(), file.claims.begin(), file.claims.end());

  Inspection inspection;
  inspection.image = image.name;
  inspection.form = image.form;
  inspection.digest = image.digest;
  inspection.tags = image.tags;
  inspection.user = image.config.user;
  inspection.entries = static_cast<std::int64_t>(image.tree.entries().size());
  inspection.layers = image.layers;
  for (const std::string& folder : software.torches) inspection.torches.push_back("/" + folder);
  add_components(software, inspection);
  inspection.claims = judge_claims(claims, image, software, facts);
  inspection.findings = software.findings;
  inspection.libraries = std::move(software.libraries);
  const auto take = [&](std::vector<ImageFinding> findings) {
    for (ImageFinding& finding : findings) inspection.findings.push_back(std::move(finding));
  };
  take(find_ways_in(image));
  take(find_changing_variables(image));
  take(find_known_defects(software, facts));
  for (const std::string& tag : image.tags) take(find_never_released("tag " + tag, claims_of_tag(tag), facts));
  for (const ClaimsFile& file : files) take(find_never_released("claims " + file.name, file.claims, facts));
  for (const std::string& folder : image.unreadable) {
    inspection.findings.push_back({FindingSeverity::unread, "unreadable", "", "cannot be read: " + folder});
  }
  conclude(inspection);
  return inspection;
}

void add_loaded(const Fingerprint& loaded, Inspection& inspection) {
  for (const auto& [component, version] : loaded_versions(loaded)) {
    auto row = std::ranges::find(inspection.components, component, &ComponentRow::component);
    if (row == inspection.components.end()) {
      row = inspection.components.insert(row, {component, "", "", ""});
    }
    row->loaded = version;
    for (JudgedClaim& claim : inspection.claims) {
      if (claim.component == component) claim.loaded = version;
    }
    // A library may tell fewer numbers of its version than its package, or more.
    const bool is_found = !row->version.empty();
    if (!is_found || agrees_with(row->version, version) || agrees_with(version, row->version)) continue;
    inspection.findings.push_back({FindingSeverity::fail, "loaded-otherwise", "",
                                   fmt::format("{} is {}, by {}, and a worker inside had loaded {}", component,
                                               row->version, row->evidence, version)});
  }
  conclude(inspection);
}

bool is_evidence(std::string_view path, std::int64_t size_bytes) {
  return is_software_evidence(path, size_bytes) || is_security_evidence(path, size_bytes);
}

}  // namespace reprobench
