#include "matrix/exec/launch_request.hpp"

#include "matrix/exec/attempt_environment.hpp"

namespace reprobench {
namespace {

RankLaunch rank_launch(const CellRequest& request, const std::filesystem::path& folder, const WorkerCommand& worker,
                       const std::vector<GpuFacts>& gpus) {
  RankLaunch rank;
  rank.request = request;
  rank.folder = folder;
  rank.command = worker.command;
  rank.command.insert(rank.command.end(), {"run", (folder / "request.json").string()});
  rank.command.insert(rank.command.end(), worker.arguments.begin(), worker.arguments.end());
  rank.environment = attempt_environment(request, folder, worker.environment, gpus);
  return rank;
}

}  // namespace

LaunchRequest launch_request(const CellRequest& request, const std::filesystem::path& attempt_folder,
                             const WorkerCommand& worker, const std::vector<GpuFacts>& gpus,
                             std::chrono::milliseconds grace) {
  LaunchRequest launch;
  launch.grace = grace;
  for (CellRequest of_rank = request; of_rank.rank < request.world_size; ++of_rank.rank) {
    std::vector<GpuFacts> own;
    if (!gpus.empty()) own.push_back(gpus.at(static_cast<std::size_t>(of_rank.rank)));
    launch.ranks.push_back(rank_launch(of_rank, attempt_folder / rank_folder_name(of_rank.rank), worker, own));
  }
  return launch;
}

}  // namespace reprobench
