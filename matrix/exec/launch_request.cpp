#include "matrix/exec/launch_request.hpp"

#include <cerrno>
#include <span>
#include <stdexcept>
#include <system_error>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "matrix/base/file_descriptor.hpp"
#include "matrix/contract/rank_request.hpp"
#include "matrix/exec/attempt_environment.hpp"

namespace reprobench {
namespace {

// A port of this host that nobody listens on now. Who meets at MASTER_PORT takes it (knob `rendezvous`, or a library);
// if somebody else was faster, the attempt ends as `launch` and the next one is given another.
int free_port() {
  const FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* const name = reinterpret_cast<sockaddr*>(&address);
  if (bind(socket.get(), name, length) != 0 || getsockname(socket.get(), name, &length) != 0) {
    throw std::system_error(errno, std::generic_category(), "a free port");
  }
  return ntohs(address.sin_port);
}

RankLaunch rank_launch(const CellRequest& request, const std::filesystem::path& folder, const WorkerCommand& worker,
                       const std::vector<GpuFacts>& gpus, const MeetingPoint& meeting) {
  RankLaunch rank;
  rank.request = request;
  rank.folder = folder;
  rank.command = worker.command;
  rank.command.insert(rank.command.end(), {"run", (folder / "request.json").string()});
  rank.command.insert(rank.command.end(), worker.arguments.begin(), worker.arguments.end());
  rank.environment = attempt_environment(request, folder, worker, gpus);
  rank.environment.merge(rank_environment(request, meeting));
  rank.enclosure = worker.enclosure;
  if (rank.enclosure && gpus.empty()) rank.enclosure->gpu = {};
  return rank;
}

}  // namespace

LaunchRequest launch_request(const CellRequest& request, const std::filesystem::path& attempt_folder,
                             const WorkerCommand& worker, const std::vector<GpuFacts>& gpus,
                             std::chrono::milliseconds grace, const MeetingPoint& meeting) {
  const auto each = gpus.empty() ? 0 : static_cast<std::size_t>(gpus_of_rank(request));
  if (gpus.size() < each * static_cast<std::size_t>(request.world_size)) {
    throw std::invalid_argument("an attempt is launched with fewer GPUs than its ranks take");
  }
  LaunchRequest launch;
  launch.grace = grace;
  MeetingPoint point = meeting;
  if (request.world_size > 1 && point.port == 0) point.port = free_port();
  for (int rank = 0; rank < request.world_size; ++rank) {
    const auto own = std::span(gpus).subspan(static_cast<std::size_t>(rank) * each, each);
    launch.ranks.push_back(rank_launch(request_of_rank(request, rank), attempt_folder / rank_folder_name(rank), worker,
                                       {own.begin(), own.end()}, point));
  }
  return launch;
}

}  // namespace reprobench
