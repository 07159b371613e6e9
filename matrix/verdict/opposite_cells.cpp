#include "matrix/verdict/opposite_cells.hpp"

#include <utility>

#include <fmt/format.h>

#include "matrix/verdict/metrics/bitwise.hpp"

namespace reprobench {
namespace {

// Cells that ask for the same numbers to be made: knobs change how they are computed with, and some of them what.
std::string workload_key(const CellRequest& request) {
  const WorkloadRequest& workload = request.workload;
  std::string key = fmt::format("{}/{}/{}/{}/{}/{}", workload.model, workload.preset, workload.steps,
                                workload.batch_size, workload.probe, workload.samples);
  for (const OwnFileField& own : kOwnFiles) {
    if (!(workload.*own.sha256).empty()) key += fmt::format("/{}={}", own.name, workload.*own.sha256);
  }
  if (request.world_size > 1) key += fmt::format("/{} ranks", request.world_size);  // each has its share of a batch
  for (const auto& [name, value] : request.knobs) key += fmt::format("/{}={}", name, value);
  return key;
}

ReferenceEvidence none(std::string why) { return {nullptr, "no_reference", std::move(why)}; }

}  // namespace

ReferenceEvidence OppositeCells::reference(const Cell& cell, const std::string& workload_digest) {
  if (!cell.reference_cell_id) return none("no cell of this plan is its reference");
  const auto found = cells_.reference_of(cell);
  if (!found) return none(fmt::format("its reference {} did not run", *cell.reference_cell_id));
  if (found->planned.skip) return none(fmt::format("its reference {} was skipped", found->planned.cell.slug));
  return evidence_of(found->planned, workload_digest, reference_);
}

std::optional<ReferenceEvidence> OppositeCells::of(Against against, const Cell& cell,
                                                   const std::string& workload_digest) {
  switch (against) {
    case Against::nothing:
      return ReferenceEvidence{};
    case Against::reference:
      return reference(cell, workload_digest);
    case Against::other_host:
      if (const PlannedCell* other = cells_.on_other_host(cell)) {
        return evidence_of(*other, workload_digest, other_host_);
      }
      return std::nullopt;
    case Against::one_rank:
      if (!CellFamilies::is_another_layout(cell)) return std::nullopt;
      return on_one_rank(cell, workload_digest);
    case Against::one_share:
      if (cell.request.world_size <= 1) return std::nullopt;
      return of_one_share(cell);
    case Against::seeds:
      if (const auto& cells = families_.of_seeds(cell); cells.size() > 1) return ends_of_seeds(cells);
      return std::nullopt;
    case Against::on_cpu:
      if (CellFamilies::is_cpu(cell)) return std::nullopt;
      return on_cpu(cell, workload_digest);
    case Against::construction:
      return ReferenceEvidence{&constructed(cell), {}, ""};
  }
  return std::nullopt;
}

ReferenceEvidence OppositeCells::on_one_rank(const Cell& cell, const std::string& workload_digest) {
  const PlannedCell* alone = families_.on_one_rank(cell);
  if (alone == nullptr) {
    return none(
        fmt::format("no cell of this plan does its {} micro-batches on one rank", micro_batches_of(cell.request)));
  }
  return evidence_of(*alone, workload_digest, one_rank_);
}

ReferenceEvidence OppositeCells::on_cpu(const Cell& cell, const std::string& workload_digest) {
  const PlannedCell* twin = families_.on_cpu(cell);
  if (twin == nullptr) return none("no cell of this plan trains the same on the CPU");
  return evidence_of(*twin, workload_digest, on_cpu_);
}

// Of another batch, and so of another workload digest: the metric holds the work of each rank against it.
ReferenceEvidence OppositeCells::of_one_share(const Cell& cell) {
  const PlannedCell* alone = families_.of_one_share(cell);
  if (alone == nullptr) {
    return none(fmt::format("no cell of this plan trains on one rank the {} of {} samples that each of {} ranks does",
                            cell.request.workload.batch_size / cell.request.world_size,
                            cell.request.workload.batch_size, cell.request.world_size));
  }
  return evidence_of(*alone, std::nullopt, one_share_);
}

// The first repeat of each, of which the bits of its steps are dropped.
ReferenceEvidence OppositeCells::ends_of_seeds(const std::vector<const PlannedCell*>& cells) {
  const std::string name = fmt::format("{} and {} others", cells.front()->cell.slug, cells.size() - 1);
  if (seeds_.slug == name) return {&seeds_, {}, ""};
  CellEvidence all{name, cells.front()->cell.request.device, "", {}};
  for (const PlannedCell* planned : cells) {
    const std::string& slug = planned->cell.slug;
    if (planned->skip) return none(fmt::format("{} was skipped", slug));
    const CellRecord* record = cells_.record(planned->cell.request.cell_id);
    if (record == nullptr) return none(fmt::format("{} did not run", slug));
    const auto repeats = last_attempts(planned->cell, *record);
    if (const auto early = cells_.ended_early(planned->cell, repeats)) {
      return {nullptr, "reference_failed",
              fmt::format("{} is {}: {}", slug, to_string(early->outcome), early->sentence)};
    }
    CellEvidence one = cells_.read_evidence(planned->cell, {repeats.front()});
    for (RankRecord& rank : one.repeats.front().ranks) rank.trace->tensors.clear();
    all.host = one.host;
    all.repeats.push_back(std::move(one.repeats.front()));
  }
  seeds_ = std::move(all);
  return {&seeds_, {}, ""};
}

// What stands for a cell's workload, kept as the little of its trace that is made by construction.
const CellEvidence& OppositeCells::constructed(const Cell& cell) {
  if (anchors_.empty()) find_anchors();
  const std::string key = workload_key(cell.request);
  if (const auto known = constructed_.find(key); known != constructed_.end()) return known->second;
  const Cell& anchor = anchors_.at(key).planned->cell;
  CellEvidence evidence = *cells_.evidence_of(anchor);
  evidence.repeats.resize(1);
  for (RankRecord& rank : evidence.repeats.front().ranks) rank.trace = constructed_part(*rank.trace);
  return constructed_.emplace(key, std::move(evidence)).first->second;
}

// Of each workload the first cell that completed: one that digests its inputs before one that does not, references
// before others, the CPU before other devices.
void OppositeCells::find_anchors() {
  for (const PlannedCell& planned : cells_.run().plan.cells) {
    const Cell& cell = planned.cell;
    const CellRecord* record = cells_.record(cell.request.cell_id);
    if (planned.skip || record == nullptr || cells_.ended_early(cell, last_attempts(cell, *record))) continue;
    const int rank = (digests_tensors(cell.request.trace) ? 4 : 0) + (cells_.is_reference(cell) ? 2 : 0) +
                     (CellFamilies::is_cpu(cell) ? 1 : 0);
    const auto [known, is_new] = anchors_.try_emplace(workload_key(cell.request), Anchor{&planned, rank});
    if (!is_new && rank > known->second.rank) known->second = {&planned, rank};
  }
}

// A cell that another is held against, read into `kept`. Without a digest it may be any, but that of all repeats.
ReferenceEvidence OppositeCells::evidence_of(const PlannedCell& planned,
                                             const std::optional<std::string>& workload_digest, Kept& kept) {
  const Cell& reference = planned.cell;
  if (planned.skip) return none(fmt::format("{} was skipped", reference.slug));
  const CellRecord* record = cells_.record(reference.request.cell_id);
  if (record == nullptr) return none(fmt::format("{} did not run", reference.slug));
  const auto repeats = last_attempts(reference, *record);
  if (const auto early = cells_.ended_early(reference, repeats)) {
    return {nullptr, "reference_failed",
            fmt::format("its reference {} is {}: {}", reference.slug, to_string(early->outcome), early->sentence)};
  }
  const auto digest = common_workload_digest(repeats);
  if (!digest || (workload_digest && *digest != *workload_digest)) {
    return {nullptr, "not_comparable",
            fmt::format("its reference {} ran another workload: workload_digest {} there, {} here", reference.slug,
                        digest.value_or("differs between repeats"), workload_digest.value_or("another"))};
  }
  kept = cells_.evidence_of(reference);
  return {kept.get(), {}, ""};
}

}  // namespace reprobench
