#include "matrix/evidence/run_merge.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "matrix/base/number.hpp"
#include "matrix/contract/trace.hpp"
#include "matrix/plan/plan_json.hpp"

namespace reprobench {
namespace {

constexpr const char* kHostCoordinate = "host";

std::string base_id(const Cell& cell) { return name_without_host(cell.request.cell_id); }

// The planned cell as its own host planned it before any merge.
PlannedCell as_planned(PlannedCell planned) {
  Cell& cell = planned.cell;
  cell.request.cell_id = base_id(cell);
  cell.slug = name_without_host(cell.slug);
  if (cell.reference_cell_id) cell.reference_cell_id = name_without_host(*cell.reference_cell_id);
  cell.coordinates.erase(kHostCoordinate);
  cell.run.clear();
  return planned;
}

// What the plans of two hosts must agree on. Skips, notes and planted faults are each host's own, as are the data sheet
// of its GPU and the memory that is predicted for cells that run there. A bound's place names a file of the host's, and
// so do the sentences that speak of it.
nlohmann::json what_must_agree(const PlannedCell& planned) {
  PlannedCell bare = as_planned(planned);
  bare.skip.reset();
  bare.notes.clear();
  bare.cell.injections.clear();
  bare.cell.memory_bytes = 0;
  bare.cell.request.peaks.reset();
  std::vector<CellThreshold> thresholds = bare.cell.thresholds.items();
  for (CellThreshold& threshold : thresholds) {
    threshold.mark = threshold.gate_mark = {};
    threshold.loosens = threshold.loosens.substr(0, threshold.loosens.rfind(" ("));
  }
  for (Gap& gap : bare.cell.gaps) gap.sentence.clear();
  bare.cell.thresholds = std::move(thresholds);
  return to_json(bare);
}

std::string first_difference(const nlohmann::json& ours, const nlohmann::json& theirs) {
  for (const auto& [key, value] : ours.items()) {
    if (theirs.value(key, nlohmann::json()) != value) return key;
  }
  for (const auto& [key, value] : theirs.items()) {
    if (!ours.contains(key)) return key;
  }
  return "";
}

// One cell as one source has it.
struct Contribution {
  std::size_t source = 0;
  std::size_t cell = 0;  // index into that source's plan and cells
  std::size_t host = 0;  // index into the merged plan's hosts
  bool has_run = false;
};

class Merge {
 public:
  explicit Merge(const std::vector<MergeSource>& sources) : sources_(sources) {}

  RunMerge run() {
    check_sources();
    add_info();
    for (std::size_t source = 0; source < sources_.size(); ++source) add_hosts(source);
    for (std::size_t source = 0; source < sources_.size(); ++source) collect(source);
    for (const std::string& id : order_) add_cell(contributions_.at(id));
    for (PlannedCell& planned : merged_.plan.cells) link_reference(planned);
    for (const auto& [c, index] : ran_) add_diagnosis(c, merged_.plan.cells[index].cell);
    add_request();
    return std::move(merged_);
  }

 private:
  const Plan& plan_of(const Contribution& c) const { return sources_[c.source].run.plan; }
  const PlannedCell& planned(const Contribution& c) const { return plan_of(c).cells[c.cell]; }
  const std::string& label_of(const Contribution& c) const { return merged_.plan.hosts[c.host].label; }

  void check_sources() const {
    if (sources_.size() < 2) throw MergeRefused("a merge needs at least two runs");
    std::set<std::string> seen;
    for (const MergeSource& source : sources_) {
      const RunInfo& info = source.run.info;
      std::vector<std::string> ids{info.run_id};
      for (const RunSource& inner : info.sources) ids.push_back(inner.run_id);
      for (const std::string& id : ids) {
        if (!seen.insert(id).second) throw MergeRefused(fmt::format("run {} is given twice", id));
      }
      check_source(source);
    }
  }

  void check_source(const MergeSource& source) const {
    const RunRecord& first = sources_.front().run;
    const RunInfo& expected = first.info;
    const RunInfo& info = source.run.info;
    if (info.ended_utc.empty()) {
      throw MergeRefused(fmt::format("run {} never ended: its coordinator died first", info.run_id));
    }
    if (info.matrix_digest != expected.matrix_digest) {
      throw MergeRefused(fmt::format("the runs are of different matrices: {} of {} (sha256 {}), {} of {} (sha256 {})",
                                     expected.run_id, first.plan.matrix, expected.matrix_digest.substr(0, 12),
                                     info.run_id, source.run.plan.matrix, info.matrix_digest.substr(0, 12)));
    }
    if (info.reprobench_version != expected.reprobench_version) {
      throw MergeRefused(fmt::format("the runs were made by different versions: {} by reprobench {}, {} by {}",
                                     expected.run_id, expected.reprobench_version, info.run_id,
                                     info.reprobench_version));
    }
    if (!source.run.plan.images.empty()) {
      throw MergeRefused(fmt::format("run {} compares two images, and each host has inspected its own", info.run_id));
    }
    if (!source.label.empty() && !source.run.plan.hosts.empty()) {
      throw MergeRefused(fmt::format("run {} is a merged one and brings its host labels along", info.run_id));
    }
  }

  void add_info() {
    RunInfo& info = merged_.info;
    const RunRecord& first = sources_.front().run;
    info = first.info;
    info.command_line.clear();
    info.program_sha256.clear();  // each source was run by its own
    info.interrupted = false;     // what a source left unfinished shows in its cells
    info.duration_ns = 0;
    std::string newest_id = info.run_id;
    std::string identity;
    for (const MergeSource& source : sources_) {
      const RunInfo& of_source = source.run.info;
      info.started_utc = std::min(info.started_utc, of_source.started_utc);
      info.ended_utc = std::max(info.ended_utc, of_source.ended_utc);
      info.duration_ns += of_source.duration_ns;
      newest_id = std::max(newest_id, of_source.run_id);
      identity += of_source.run_id + "\n" + source.label + "\n";
    }
    // "r-20261121-101502-7f3a" gives "r-20261121-101502-m0a1b2c3d", which sorts right after it.
    info.run_id = newest_id.substr(0, newest_id.rfind('-')) + "-m" + hex32(crc32c(identity));
    info.sources.clear();
    merged_.plan.matrix = first.plan.matrix;
    merged_.plan.matrix_file = first.plan.matrix_file;
    merged_.plan.host = first.plan.host;
    merged_.plan.excluded = first.plan.excluded;
  }

  // The hosts of a source: its own machine, or those it was merged from.
  void add_hosts(std::size_t index) {
    const MergeSource& source = sources_[index];
    const RunInfo& info = source.run.info;
    std::vector<PlanHost> hosts = source.run.plan.hosts;
    if (hosts.empty()) {
      const std::string name = source.label.empty() ? host_label(source.run.plan.host.host_name) : source.label;
      hosts.push_back({name, {info.run_id}, source.run.plan.host});
    }
    std::vector<RunSource> runs = info.sources;
    if (runs.empty()) {
      runs.push_back(
          {info.run_id, hosts.front().label, info.started_utc, info.ended_utc, info.duration_ns, info.interrupted});
    }
    for (PlanHost& host : hosts) {
      const std::string wanted = host.label;
      const std::size_t at = add_host(std::move(host), ids_run_on(index, wanted));
      host_of_[{index, wanted}] = at;
    }
    for (RunSource& run : runs) {
      run.host = merged_.plan.hosts[host_of_.at({index, run.host})].label;
      merged_.info.sources.push_back(std::move(run));
    }
  }

  std::set<std::string> ids_run_on(std::size_t index, const std::string& label) const {
    const RunRecord& run = sources_[index].run;
    std::set<std::string> ids;
    for (std::size_t i = 0; i < run.cells.size(); ++i) {
      if (run.cells[i].attempts.empty()) continue;
      const Cell& cell = run.plan.cells[i].cell;
      const auto host = cell.coordinates.find(kHostCoordinate);
      if (host == cell.coordinates.end() || host->second == label) ids.insert(base_id(cell));
    }
    return ids;
  }

  // Shards of one host are one host. A host that ran a cell already is another one: cells are told apart by it.
  std::size_t add_host(PlanHost host, const std::set<std::string>& ran) {
    std::vector<PlanHost>& hosts = merged_.plan.hosts;
    const std::string wanted = host.label;
    for (int number = 1;; ++number) {
      host.label = number == 1 ? wanted : fmt::format("{}-{}", wanted, number);
      const auto found =
          std::find_if(hosts.begin(), hosts.end(), [&](const PlanHost& known) { return known.label == host.label; });
      if (found == hosts.end()) break;
      const auto at = static_cast<std::size_t>(found - hosts.begin());
      const bool same_machine = to_json(found->facts) == to_json(host.facts);
      const bool is_new =
          std::none_of(ran.begin(), ran.end(), [&](const auto& id) { return ran_on_[at].count(id) > 0; });
      if (!same_machine || !is_new) continue;
      found->runs.insert(found->runs.end(), host.runs.begin(), host.runs.end());
      ran_on_[at].insert(ran.begin(), ran.end());
      return at;
    }
    hosts.push_back(std::move(host));
    ran_on_.push_back(ran);
    return hosts.size() - 1;
  }

  void collect(std::size_t index) {
    const RunRecord& run = sources_[index].run;
    for (const auto& [stack, components] : run.plan.declared) {
      const auto [known, is_new] = merged_.plan.declared.emplace(stack, components);
      if (is_new || known->second == components) continue;
      throw MergeRefused(fmt::format("stack {} is declared with other components in run {}", stack, run.info.run_id));
    }
    for (const auto& [stack, libraries] : run.plan.installed) add_installed(index, stack, libraries);
    for (std::size_t i = 0; i < run.plan.cells.size(); ++i) {
      const Cell& cell = run.plan.cells[i].cell;
      const auto host = cell.coordinates.find(kHostCoordinate);
      const bool has_run = !run.cells[i].attempts.empty();
      // A cell that no host of a merged run could run has no host; any of them will do for its reason.
      const auto at = host == cell.coordinates.end() ? host_of_.lower_bound({index, ""})->second
                                                     : host_of_.at({index, host->second});
      std::vector<Contribution>& known = contributions_[base_id(cell)];
      if (known.empty()) order_.push_back(base_id(cell));
      known.push_back({index, i, at, has_run});
      check_agreement(known.front(), known.back());
    }
  }

  // Hosts have copies of their own. A run that was merged before names the host of each.
  void add_installed(std::size_t index, const std::string& name, const InstalledLibraries& libraries) {
    for (const auto& [source, at] : host_of_) {
      if (source.first != index) continue;
      const std::string stack = name_without_host(name);
      if (stack != name && name != name_on_host(stack, source.second)) continue;
      const std::string merged = name_on_host(stack, merged_.plan.hosts[at].label);
      const auto [known, is_new] = merged_.plan.installed.emplace(merged, libraries);
      if (is_new || written(known->second) == written(libraries)) continue;
      throw MergeRefused(fmt::format("stack {} has other libraries in run {}, on the same host", stack,
                                     sources_[index].run.info.run_id));
    }
  }

  void check_agreement(const Contribution& first, const Contribution& other) const {
    if (first.source == other.source) return;
    const std::string field = first_difference(what_must_agree(planned(first)), what_must_agree(planned(other)));
    if (field.empty()) return;
    throw MergeRefused(fmt::format("cell {} was planned differently in run {} and in run {}: `{}` differs",
                                   base_id(planned(first).cell), sources_[first.source].run.info.run_id,
                                   sources_[other.source].run.info.run_id, field));
  }

  void add_cell(const std::vector<Contribution>& known) {
    const auto runs = std::count_if(known.begin(), known.end(), [](const Contribution& c) { return c.has_run; });
    if (runs == 0) return add_not_run(known);
    for (const Contribution& c : known) {
      if (c.has_run) add_run(c, /*is_alone=*/runs == 1);
    }
  }

  void add_run(const Contribution& c, bool is_alone) {
    PlannedCell cell = as_planned(planned(c));
    ids_on_[cell.cell.request.cell_id].push_back(c.host);
    cell.cell.coordinates[kHostCoordinate] = label_of(c);
    cell.cell.run = planned(c).cell.run.empty() ? sources_[c.source].run.info.run_id : planned(c).cell.run;
    if (!is_alone) {
      cell.cell.request.cell_id = name_on_host(cell.cell.request.cell_id, label_of(c));
      cell.cell.slug = name_on_host(cell.cell.slug, label_of(c));
    }
    for (const AttemptRecord& record : sources_[c.source].run.cells[c.cell].attempts) {
      MergedAttempt attempt{c.source, cell.cell.request, &record};
      attempt.request.repeat = record.repeat;
      attempt.request.attempt = record.attempt;
      attempt.request.nonce = record.nonce;
      merged_.attempts.push_back(std::move(attempt));
    }
    ran_.emplace_back(c, merged_.plan.cells.size());
    merged_.plan.cells.push_back(std::move(cell));
  }

  // A run diagnoses against a reference that it ran itself, so on the host of the cell.
  void add_diagnosis(const Contribution& c, const Cell& cell) {
    const auto& diagnoses = sources_[c.source].run.diagnoses;
    const auto found = diagnoses.find(planned(c).cell.request.cell_id);
    if (found == diagnoses.end() || !cell.reference_cell_id) return;
    const auto reference = ids_on_.find(name_without_host(found->second.reference_cell_id));
    if (reference == ids_on_.end() || std::ranges::find(reference->second, c.host) == reference->second.end()) return;
    if (name_without_host(*cell.reference_cell_id) != reference->first) return;
    merged_.diagnoses.push_back(
        {cell.request.cell_id, *cell.reference_cell_id, found->second.word, found->second.sentence});
  }

  // Skipped on every host, or runnable and not begun on one. What one run left out another may have asked for: then its
  // reasons are those of the runs that asked.
  void add_not_run(const std::vector<Contribution>& known) {
    const auto is_left_out = [&](const Contribution& c) {
      return planned(c).skip && planned(c).skip->rule == kDeselected;
    };
    const auto open = std::find_if(known.begin(), known.end(), [&](const auto& c) { return !planned(c).skip; });
    const auto asked = std::find_if_not(known.begin(), known.end(), is_left_out);
    PlannedCell cell = as_planned(planned(open != known.end() ? *open : asked != known.end() ? *asked : known.front()));
    if (open == known.end()) {
      std::string reasons;
      std::set<std::string> said;
      for (const Contribution& c : known) {
        if (asked != known.end() && is_left_out(c)) continue;
        const bool is_said_by_host = plan_of(c).hosts.empty();
        const std::string reason =
            is_said_by_host ? fmt::format("{}: {}", label_of(c), planned(c).skip->reason) : planned(c).skip->reason;
        if (said.insert(reason).second) reasons += (reasons.empty() ? "" : "; ") + reason;
      }
      cell.skip->reason = reasons;
    }
    merged_.plan.cells.push_back(std::move(cell));
  }

  // Selections that together ran every cell leave none out; what was asked otherwise than the matrix says stays so.
  void add_request() {
    PlanRequest& merged = merged_.plan.request;
    const auto& cells = merged_.plan.cells;
    const bool leaves_out = std::any_of(cells.begin(), cells.end(), [](const PlannedCell& planned) {
      return planned.skip && planned.skip->rule == kDeselected;
    });
    merged.names_cells = leaves_out;
    for (const MergeSource& source : sources_) {
      const PlanRequest& request = source.run.plan.request;
      if (leaves_out) append_new(request.selected_by, merged.selected_by);
      append_new(request.changed_by, merged.changed_by);
      append_new(request.overrides, merged.overrides);
      merged.names_cells = merged.names_cells && request.names_cells;
    }
  }

  static void append_new(const std::vector<std::string>& words, std::vector<std::string>& known) {
    for (const std::string& word : words) {
      if (std::find(known.begin(), known.end(), word) == known.end()) known.push_back(word);
    }
  }

  void link_reference(PlannedCell& planned) const {
    Cell& cell = planned.cell;
    if (!cell.reference_cell_id) return;
    const auto found = ids_on_.find(*cell.reference_cell_id);
    if (found == ids_on_.end()) return;  // it ran nowhere, and the judge says so
    const auto& hosts = merged_.plan.hosts;
    const std::string own = cell.coordinates.count(kHostCoordinate) > 0 ? cell.coordinates.at(kHostCoordinate) : "";
    const auto same = std::find_if(found->second.begin(), found->second.end(),
                                   [&](std::size_t host) { return hosts[host].label == own; });
    const std::string& label = hosts[same == found->second.end() ? found->second.front() : *same].label;
    if (found->second.size() > 1) cell.reference_cell_id = name_on_host(*cell.reference_cell_id, label);
    if (!own.empty() && label != own) planned.notes.push_back(fmt::format("its reference ran on host {}", label));
  }

  const std::vector<MergeSource>& sources_;
  RunMerge merged_;
  std::vector<std::set<std::string>> ran_on_;                                 // by merged host
  std::map<std::pair<std::size_t, std::string>, std::size_t> host_of_;        // source and its label -> merged host
  std::vector<std::string> order_;                                            // of the ids below
  std::unordered_map<std::string, std::vector<Contribution>> contributions_;  // by id without host
  std::unordered_map<std::string, std::vector<std::size_t>> ids_on_;          // id without host -> hosts it ran on
  std::vector<std::pair<Contribution, std::size_t>> ran_;                     // and its index in the merged plan
};

}  // namespace

bool is_host_label(const std::string& text) {
  return !text.empty() && text.size() <= kMostHostLabelLetters &&
         text.find_first_not_of(kHostLabelLetters) == std::string::npos;
}

std::string host_label(const std::string& host_name) {
  std::string label = host_name.substr(0, kMostHostLabelLetters);
  for (char& c : label) {
    if (!is_host_label(std::string(1, c))) c = '-';
  }
  return label.empty() ? "host" : label;
}

RunMerge merge_runs(const std::vector<MergeSource>& sources) { return Merge(sources).run(); }

}  // namespace reprobench
