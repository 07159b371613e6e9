#include "matrix/exec/attempt_environment.hpp"

#include "matrix/exec/driver_path.hpp"
#include "matrix/exec/gpu/gpu_pool.hpp"
#include "matrix/host/cpu_limits.hpp"

namespace reprobench {

std::map<std::string, std::string> attempt_environment(const CellRequest& request, const std::filesystem::path& folder,
                                                       const WorkerCommand& worker, const std::vector<GpuFacts>& gpus) {
  std::map<std::string, std::string> environment = {{"PATH", "/usr/local/bin:/usr/bin:/bin"},
                                                    {"LANG", "C.UTF-8"},
                                                    {"TZ", "UTC"},
                                                    {"HOME", folder.string()},
                                                    {"TMPDIR", folder.string()}};
  environment.merge(cpu_limits());
  for (const auto& [name, value] : worker.environment) environment[name] = value;
  for (const auto& [name, value] : knob_environment(knobs_of_rank(request))) environment[name] = value;
  // glibc fills memory it hands out with the complement of this byte, 0x5a, and freed memory with 0xa5.
  if (request.poison_allocator) environment["MALLOC_PERTURB_"] = "165";
  if (!gpus.empty()) {
    environment["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID";
    environment["CUDA_VISIBLE_DEVICES"] = visible_devices(gpus);
    add_driver_path(environment, worker.enclosure);
  }
  return environment;
}

std::map<std::string, std::string> rank_environment(const CellRequest& request, const MeetingPoint& meeting) {
  if (request.world_size <= 1) return {};
  std::map<std::string, std::string> environment = {{"RANK", std::to_string(request.rank)},
                                                    {"LOCAL_RANK", std::to_string(request.rank)},
                                                    {"WORLD_SIZE", std::to_string(request.world_size)},
                                                    {"LOCAL_WORLD_SIZE", std::to_string(request.world_size)},
                                                    {"MASTER_ADDR", meeting.address},
                                                    {"MASTER_PORT", std::to_string(meeting.port)}};
  if (meeting.is_open_already) environment["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  return environment;
}

}  // namespace reprobench
