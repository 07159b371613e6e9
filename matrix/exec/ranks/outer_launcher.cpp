#include "matrix/exec/ranks/outer_launcher.hpp"

#include <charconv>
#include <string_view>

#include <fmt/format.h>

#include "matrix/base/usage_error.hpp"

namespace reprobench {
namespace {

constexpr int kMostRanks = 1024;
constexpr int kLargestPort = 65'535;

// The variables of one launcher, read with what is wrong with them in words.
class Variables {
 public:
  Variables(std::string_view launcher, const Environment& environment)
      : launcher_(launcher), environment_(environment) {}

  std::string text(const char* name, const char* otherwise) const {
    const char* value = environment_(name);
    return value == nullptr ? otherwise : value;
  }

  std::string text(const char* name) const {
    const char* value = environment_(name);
    if (value == nullptr || *value == '\0') {
      throw UsageError(fmt::format("--join {}: {} is not set, so this process was not started by it", launcher_, name));
    }
    return value;
  }

  int number(const char* name, int least, int most) const {
    const std::string value = text(name);
    int number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error == std::errc() && end == value.data() + value.size() && number >= least && number <= most) return number;
    throw UsageError(
        fmt::format("--join {}: {}=`{}` is no whole number from {} to {}", launcher_, name, value, least, most));
  }

 private:
  std::string_view launcher_;
  const Environment& environment_;
};

void require_one_host(std::string_view launcher, const std::string& what, int here, int all) {
  if (here == all) return;
  throw UsageError(fmt::format("--join {}: {}: ranks on several hosts cannot be joined yet, since they share no clock",
                               launcher, what));
}

OuterRank rank_of_torchrun(const Environment& environment) {
  const Variables variables("torchrun", environment);
  OuterRank outer{"torchrun", "", 0, 0, variables.number("WORLD_SIZE", 1, kMostRanks), {}};
  outer.rank = variables.number("RANK", 0, outer.ranks - 1);
  outer.local_rank = variables.number("LOCAL_RANK", 0, outer.ranks - 1);
  const int here = variables.number("LOCAL_WORLD_SIZE", 1, outer.ranks);
  require_one_host("torchrun", fmt::format("LOCAL_WORLD_SIZE={} of WORLD_SIZE={}", here, outer.ranks), here,
                   outer.ranks);
  outer.meeting.address = variables.text("MASTER_ADDR");
  outer.meeting.port = variables.number("MASTER_PORT", 1, kLargestPort);
  outer.meeting.is_open_already = variables.text("TORCHELASTIC_USE_AGENT_STORE", "") == "True";
  outer.launch = fmt::format("torchrun {} {}:{} {}", variables.text("TORCHELASTIC_RUN_ID", ""), outer.meeting.address,
                             outer.meeting.port, variables.text("TORCHELASTIC_RESTART_COUNT", "0"));
  return outer;
}

OuterRank rank_of_slurm(const Environment& environment) {
  const Variables variables("slurm", environment);
  // A batch script has a rank of its own, and no step: what it starts without srun is one process.
  const std::string step = variables.text("SLURM_STEP_ID");
  OuterRank outer{"slurm", "", 0, 0, variables.number("SLURM_STEP_NUM_TASKS", 1, kMostRanks), {}};
  outer.rank = variables.number("SLURM_PROCID", 0, outer.ranks - 1);
  outer.local_rank = variables.number("SLURM_LOCALID", 0, outer.ranks - 1);
  const int hosts = variables.number("SLURM_STEP_NUM_NODES", 1, kMostRanks);
  require_one_host("slurm", fmt::format("SLURM_STEP_NUM_NODES={}", hosts), 1, hosts);
  outer.launch = fmt::format("slurm {} {}.{} {}", variables.text("SLURM_WORKING_CLUSTER", ""),
                             variables.text("SLURM_JOB_ID"), step, variables.text("SLURM_RESTART_COUNT", "0"));
  return outer;
}

bool is_set(const Environment& environment, const char* name) { return environment(name) != nullptr; }

}  // namespace

OuterRank outer_rank(OuterLauncher launcher, const Environment& environment) {
  if (launcher == OuterLauncher::torchrun) return rank_of_torchrun(environment);
  if (launcher == OuterLauncher::slurm) return rank_of_slurm(environment);
  const bool has_torchrun = is_set(environment, "RANK") || is_set(environment, "WORLD_SIZE");
  const bool has_slurm = is_set(environment, "SLURM_STEP_ID");
  if (!has_torchrun && !has_slurm) {
    throw UsageError(
        "--join: neither torchrun (RANK, WORLD_SIZE) nor srun (SLURM_STEP_ID, SLURM_PROCID) has started this process");
  }
  if (!has_torchrun) return rank_of_slurm(environment);
  OuterRank outer = rank_of_torchrun(environment);
  if (!has_slurm) return outer;
  const OuterRank slurm = rank_of_slurm(environment);
  if (slurm.rank != outer.rank || slurm.ranks != outer.ranks) {
    throw UsageError(
        fmt::format("--join: RANK={} of WORLD_SIZE={} says torchrun, SLURM_PROCID={} of SLURM_STEP_NUM_TASKS={} says "
                    "Slurm; choose with `--join torchrun` or `--join slurm`",
                    outer.rank, outer.ranks, slurm.rank, slurm.ranks));
  }
  return outer;
}

}  // namespace reprobench
