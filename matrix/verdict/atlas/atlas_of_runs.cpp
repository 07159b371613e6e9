// Operator calls of two runs: which column is held against which, what forbids it, and what changed between them.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "matrix/evidence/cell_partner.hpp"
#include "matrix/verdict/atlas/atlas_source.hpp"

namespace reprobench {
namespace {

constexpr const char* kNoPartner = "no cell of the other run is its partner";

std::vector<AtlasSource> sources_of(const AtlasSide& side) {
  std::vector<AtlasSource> sources = atlas_sources(side.run);
  if (!side.cell.empty()) {
    std::erase_if(sources, [&](const AtlasSource& source) { return !is_called(*source.cell, side.cell); });
    if (sources.size() > 1) sources.resize(1);
  }
  for (AtlasSource& source : sources) source.column.run = source.run->info.run_id;
  return sources;
}

std::vector<PairingPoint> points_of(const std::vector<AtlasSource>& sources) {
  std::vector<PairingPoint> points;
  for (const AtlasSource& source : sources) points.push_back(pairing_point(*source.cell));
  return points;
}

bool is_cpu(const Cell& cell) { return cell.request.device == "cpu"; }

// Whether one request asked for the same work as the other, so that their workers have to name it by one digest.
bool is_same_work(const Cell& ours, const Cell& theirs) {
  const WorkloadRequest& a = ours.request.workload;
  const WorkloadRequest& b = theirs.request.workload;
  return a.calls == b.calls && a.preset == b.preset && a.samples == b.samples && is_cpu(ours) == is_cpu(theirs);
}

std::string other_digest(const AtlasSource& ours, const AtlasSource& theirs) {
  for (const CellResult* our : ours.results) {
    for (const CellResult* their : theirs.results) {
      if (our->workload_digest == their->workload_digest) continue;
      return fmt::format("the workload digests differ: {} against {}; the workers do not make the same calls",
                         our->workload_digest, their->workload_digest);
    }
  }
  return "";
}

bool share_a_process(const AtlasSource& ours, const AtlasSource& theirs) {
  return std::ranges::any_of(ours.results, [&](const CellResult* our) {
    return std::ranges::any_of(theirs.results, [&](const CellResult* their) { return our->nonce == their->nonce; });
  });
}

// What a person needs of a SHA-256 to tell files apart.
std::string short_digest(const std::string& sha256) { return sha256.empty() ? "none" : sha256.substr(0, 8); }

// Why no call of the one may be held against the other's; empty: nothing. Lists may differ: their common calls are the
// same calls, and the others are unknown.
std::string not_comparable_because(const AtlasSource& ours, const AtlasSource& theirs) {
  if (share_a_process(ours, theirs)) return "both are what one and the same process left: that says nothing";
  const CellRequest& a = ours.cell->request;
  const CellRequest& b = theirs.cell->request;
  std::vector<std::string> fields;
  const auto differ = [&](const char* field, const auto& x, const auto& y) {
    if (x != y) fields.push_back(fmt::format("{} {} against {}", field, x, y));
  };
  if (a.workload.tensors_sha256 != b.workload.tensors_sha256) {
    fields.push_back(fmt::format("tensors {} against {}", short_digest(a.workload.tensors_sha256),
                                 short_digest(b.workload.tensors_sha256)));
  }
  differ("world_size", a.world_size, b.world_size);
  const KnobValues our_knobs = with_defaults(a.knobs);
  const KnobValues their_knobs = with_defaults(b.knobs);
  for (const Knob& knob : knobs()) {
    if (!knob.must_agree) continue;
    const std::string name(knob.name);
    differ(name.c_str(), our_knobs.at(name), their_knobs.at(name));
  }
  if (!fields.empty()) return fmt::format("the workloads differ: {}", fmt::join(fields, ", "));
  return is_same_work(*ours.cell, *theirs.cell) ? other_digest(ours, theirs) : "";
}

// "142 calls, 2 of them here alone"
std::string list_text(const AtlasSource& source, const AtlasSource& other) {
  const std::vector<std::string>& calls = source.cell->request.workload.calls;
  const std::vector<std::string>& others = other.cell->request.workload.calls;
  const std::set<std::string> known(others.begin(), others.end());
  const auto alone = std::ranges::count_if(calls, [&](const std::string& call) { return !known.contains(call); });
  return fmt::format("{} calls, {} of them here alone", calls.size(), alone);
}

// Of a merged run the host that the cell ran on.
const HostFacts& host_of(const AtlasSource& source) {
  const auto label = source.cell->coordinates.find("host");
  for (const PlanHost& host : source.run->plan.hosts) {
    if (label != source.cell->coordinates.end() && host.label == label->second) return host.facts;
  }
  return source.run->plan.host;
}

// Builds are named only where every version is the same: else each library is another one.
std::vector<SideDifference> changes(const AtlasSource& ours, const AtlasSource& theirs) {
  std::vector<SideDifference> changed;
  const auto add = [&](const std::string& what, const std::string& x, const std::string& y) {
    if (x != y) changed.push_back({what, x, y});
  };
  if (ours.cell->request.workload.calls != theirs.cell->request.workload.calls) {
    changed.push_back({"list", list_text(ours, theirs), list_text(theirs, ours)});
  }
  add("reprobench", ours.run->info.reprobench_version, theirs.run->info.reprobench_version);
  const HostFacts& our_host = host_of(ours);
  const HostFacts& their_host = host_of(theirs);
  add("host", our_host.host_name, their_host.host_name);
  add("glibc", our_host.glibc, their_host.glibc);
  if (!is_cpu(*ours.cell) || !is_cpu(*theirs.cell)) add("driver", our_host.driver, their_host.driver);
  const KnobValues our_knobs = with_defaults(ours.cell->request.knobs);
  for (const auto& [name, value] : with_defaults(theirs.cell->request.knobs)) {
    add("knob " + name, our_knobs.at(name), value);
  }
  if (ours.results.empty() || theirs.results.empty()) return changed;
  const auto differences =
      fingerprint_differences(ours.results.front()->fingerprint, theirs.results.front()->fingerprint);
  const bool has_other_versions = std::ranges::any_of(differences, [](const FingerprintDifference& difference) {
    return difference.part == FingerprintPart::component;
  });
  for (const auto& [part, difference] : differences) {
    if (part != FingerprintPart::build || !has_other_versions) changed.push_back(difference);
  }
  return changed;
}

// By the column of `ours`: its partner among `theirs`. Of one cell that was named the other's is taken that was.
std::vector<std::optional<std::size_t>> partners_of(const std::vector<AtlasSource>& ours,
                                                    const std::vector<AtlasSource>& theirs, bool is_by_hand) {
  const std::vector<PairingPoint> points = points_of(theirs);
  std::vector<std::optional<std::size_t>> partners;
  for (const AtlasSource& source : ours) {
    const auto nearest = partner_of(pairing_point(*source.cell), points);
    partners.push_back(is_by_hand && !theirs.empty() ? std::optional<std::size_t>(0) : nearest);
  }
  return partners;
}

// `theirs` will stand behind `ours` among the columns.
void pair_up(const std::vector<std::optional<std::size_t>>& partners, std::vector<AtlasSource>& ours,
             std::vector<AtlasSource>& theirs) {
  for (AtlasSource& source : theirs) source.column.not_compared = kNoPartner;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    AtlasColumn& column = ours[i].column;
    if (!partners[i]) {
      column.not_compared = kNoPartner;
      continue;
    }
    AtlasSource& partner = theirs[*partners[i]];
    partner.column.not_compared = "";
    column.against = ours.size() + *partners[i];
    column.changed = changes(ours[i], partner);
    column.not_compared = not_comparable_because(ours[i], partner);
  }
}

}  // namespace

std::optional<OperatorAtlas> operator_atlas(const AtlasSide& measured, const AtlasSide& expected) {
  std::vector<AtlasSource> sources = sources_of(measured);
  std::vector<AtlasSource> theirs = sources_of(expected);
  if (sources.empty() && theirs.empty()) return std::nullopt;
  auto partners = partners_of(sources, theirs, !measured.cell.empty() && !expected.cell.empty());
  // Beside one cell that was named, the other run's further cells are in no question.
  if (!measured.cell.empty() && !sources.empty()) {
    theirs = partners.front() ? std::vector{theirs[*partners.front()]} : std::vector<AtlasSource>{};
    if (partners.front()) partners.front() = 0;
  }
  pair_up(partners, sources, theirs);
  sources.insert(sources.end(), theirs.begin(), theirs.end());
  name_columns(sources);
  OperatorAtlas atlas;
  atlas.run = measured.run.info.run_id;
  atlas.expected_run = expected.run.info.run_id;
  for (const AtlasSide* side : {&measured, &expected}) {
    for (const std::string& fault : planted_in(side->run)) {
      atlas.planted.push_back(fmt::format("{} of run {}", fault, side->run.info.run_id));
    }
  }
  fill_atlas(sources, atlas);
  return atlas;
}

}  // namespace reprobench
