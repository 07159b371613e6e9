#include "matrix/exec/ranks/outer_launcher.hpp"

#include <map>

#include "ci/catch.hpp"
#include "matrix/base/usage_error.hpp"

namespace reprobench {
namespace {

using Variables = std::map<std::string, std::string>;

OuterRank read_outer(const Variables& variables, OuterLauncher launcher = OuterLauncher::either) {
  return outer_rank(launcher, [&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

Variables with(Variables variables, const Variables& changed) {
  for (const auto& [name, value] : changed) variables[name] = value;
  return variables;
}

const Variables kTorchrun = {{"RANK", "2"},
                             {"LOCAL_RANK", "2"},
                             {"WORLD_SIZE", "4"},
                             {"LOCAL_WORLD_SIZE", "4"},
                             {"MASTER_ADDR", "localhost"},
                             {"MASTER_PORT", "29500"},
                             {"TORCHELASTIC_RUN_ID", "job 7"},
                             {"TORCHELASTIC_RESTART_COUNT", "1"}};
const Variables kSlurm = {{"SLURM_PROCID", "3"},         {"SLURM_LOCALID", "3"}, {"SLURM_STEP_NUM_TASKS", "4"},
                          {"SLURM_STEP_NUM_NODES", "1"}, {"SLURM_JOB_ID", "17"}, {"SLURM_STEP_ID", "0"},
                          {"SLURM_NTASKS", "8"}};  // of the job, of which this step has half

TEST_CASE("torchrun's variables say rank, number of ranks, launch and meeting point", "[exec]") {
  const OuterRank outer = read_outer(kTorchrun);
  CHECK(outer.launcher == "torchrun");
  CHECK(outer.rank == 2);
  CHECK(outer.local_rank == 2);
  CHECK(outer.ranks == 4);
  CHECK(outer.launch == "torchrun job 7 localhost:29500 1");
  CHECK(outer.meeting == MeetingPoint{"localhost", 29'500, false});
  CHECK(read_outer(with(kTorchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "True"}})).meeting.is_open_already);
  CHECK_FALSE(read_outer(with(kTorchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "False"}})).meeting.is_open_already);
}

TEST_CASE("srun's variables are those of the step, not of the job", "[exec]") {
  const OuterRank outer = read_outer(kSlurm);
  CHECK(outer.launcher == "slurm");
  CHECK(outer.rank == 3);
  CHECK(outer.ranks == 4);
  CHECK(outer.launch == "slurm  17.0 0");
  CHECK(outer.meeting == MeetingPoint{});
}

TEST_CASE("a launch has another name in another job, step, restart or at another port", "[exec]") {
  const auto launch = [](const Variables& base, const char* name, const char* value) {
    return read_outer(with(base, {{name, value}})).launch;
  };
  for (const char* name : {"TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "MASTER_PORT", "MASTER_ADDR"}) {
    CHECK(launch(kTorchrun, name, "9") != read_outer(kTorchrun).launch);
  }
  for (const char* name : {"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT", "SLURM_WORKING_CLUSTER"}) {
    CHECK(launch(kSlurm, name, "9") != read_outer(kSlurm).launch);
  }
  CHECK(launch(kTorchrun, "RANK", "1") == read_outer(kTorchrun).launch);
  CHECK(launch(kSlurm, "SLURM_PROCID", "1") == read_outer(kSlurm).launch);
}

TEST_CASE("variables that are missing, no numbers or out of range are refused by name", "[exec]") {
  const auto [base, name, value, words] = GENERATE(table<Variables, std::string, std::string, std::string>({
      {kTorchrun, "WORLD_SIZE", "", "--join torchrun: WORLD_SIZE is not set, so this process was not started by it"},
      {kTorchrun, "RANK", "4", "--join torchrun: RANK=`4` is no whole number from 0 to 3"},
      {kTorchrun, "RANK", "-1", "--join torchrun: RANK=`-1` is no whole number from 0 to 3"},
      {kTorchrun, "RANK", "1x", "--join torchrun: RANK=`1x` is no whole number from 0 to 3"},
      {kTorchrun, "WORLD_SIZE", "0", "--join torchrun: WORLD_SIZE=`0` is no whole number from 1 to 1024"},
      {kTorchrun, "MASTER_PORT", "65536", "--join torchrun: MASTER_PORT=`65536` is no whole number from 1 to 65535"},
      {kTorchrun, "MASTER_ADDR", "", "--join torchrun: MASTER_ADDR is not set, so this process was not started by it"},
      {kTorchrun, "LOCAL_WORLD_SIZE", "2",
       "--join torchrun: LOCAL_WORLD_SIZE=2 of WORLD_SIZE=4: ranks on several hosts cannot be joined yet, since they "
       "share no clock"},
      {kSlurm, "SLURM_STEP_NUM_NODES", "2",
       "--join slurm: SLURM_STEP_NUM_NODES=2: ranks on several hosts cannot be joined yet, since they share no clock"},
      {kSlurm, "SLURM_PROCID", "4", "--join slurm: SLURM_PROCID=`4` is no whole number from 0 to 3"},
      {kSlurm, "SLURM_JOB_ID", "", "--join slurm: SLURM_JOB_ID is not set, so this process was not started by it"},
  }));
  CHECK_THROWS_AS(read_outer(with(base, {{name, value}})), UsageError);
  CHECK_THROWS_WITH(read_outer(with(base, {{name, value}})), words);
}

TEST_CASE("without a launcher, and in a batch script that srun did not start, there is nothing to join", "[exec]") {
  CHECK_THROWS_WITH(read_outer({}), Catch::Contains("has started this process"));
  Variables batch = kSlurm;
  batch.erase("SLURM_STEP_ID");
  CHECK_THROWS_WITH(read_outer(batch), Catch::Contains("has started this process"));
  CHECK_THROWS_WITH(read_outer(batch, OuterLauncher::slurm),
                    Catch::StartsWith("--join slurm: SLURM_STEP_ID is not set"));
}

TEST_CASE("two launchers that disagree are refused until one is chosen", "[exec]") {
  Variables both = with(kTorchrun, kSlurm);
  CHECK_THROWS_WITH(read_outer(both),
                    "--join: RANK=2 of WORLD_SIZE=4 says torchrun, SLURM_PROCID=3 of SLURM_STEP_NUM_TASKS=4 says "
                    "Slurm; choose with `--join torchrun` or `--join slurm`");
  CHECK(read_outer(both, OuterLauncher::torchrun).rank == 2);
  CHECK(read_outer(both, OuterLauncher::slurm).rank == 3);
  both["SLURM_PROCID"] = "2";
  CHECK(read_outer(both).launcher == "torchrun");
  both["SLURM_STEP_NUM_TASKS"] = "5";
  CHECK_THROWS_WITH(read_outer(both), Catch::Contains("SLURM_PROCID=2 of SLURM_STEP_NUM_TASKS=5"));
}

}  // namespace
}  // namespace reprobench
