#include "matrix/exec/gpu_desk.hpp"

namespace reprobench {
namespace {

constexpr std::int64_t kPeriod_ns = 100'000'000;

bool needs_gpu(const Cell& cell) { return cell.request.device != "cpu"; }

}  // namespace

std::optional<AttemptGpus> GpuDesk::try_take(const Cell& cell) {
  if (!needs_gpu(cell)) return AttemptGpus{};
  auto lease = pool_.try_lease(cell.request.device, cell.request.world_size, cell.exclusive);
  if (!lease) return std::nullopt;
  return AttemptGpus{std::move(*lease), nullptr};
}

std::string GpuDesk::hopeless_because(const Cell& cell) const {
  return needs_gpu(cell) ? pool_.hopeless_because(cell.request.device, cell.request.world_size) : "";
}

void GpuDesk::watch(AttemptGpus& gpus, const CellRequest& request, const std::filesystem::path& folder) const {
  if (telemetry_ == nullptr || gpus.lease.gpus().empty()) return;
  TelemetryHeader header{request.cell_id, request.nonce, kPeriod_ns, {}};
  for (const GpuFacts& gpu : gpus.lease.gpus()) header.gpus.push_back({gpu.uuid, gpu.pci_bus_id, gpu.name});
  gpus.telemetry = telemetry_->start(header, folder);
}

void GpuDesk::stop_watching(AttemptGpus& gpus) const {
  if (gpus.telemetry) gpus.telemetry->stop();
  gpus.telemetry.reset();
}

void GpuDesk::quarantine(const AttemptGpus& gpus, const std::string& reason) {
  for (const GpuFacts& gpu : gpus.lease.gpus()) pool_.quarantine(gpu.uuid, reason);
}

void GpuDesk::note(const Cell& cell, const AttemptRecord& attempt) {
  faults_.add(cell.request.stack, attempt);
  if (!attempt.telemetry) return;
  for (const GpuFault& fault : faults_of(*attempt.telemetry)) {
    if (fault.is_device) pool_.quarantine(fault.uuid, fault.sentence);
  }
}

bool GpuDesk::is_worth_retrying(const Cell& cell, const AttemptRecord& attempt) const {
  if (side_of(attempt.end) == Side::infra) {
    return !faults_.is_of_stack(cell.request.stack, attempt) && hopeless_because(cell).empty();
  }
  return attempt.end == AttemptEnd::completed && cell.exclusive && attempt.telemetry &&
         !attempt.telemetry->invalid_reason.empty();
}

}  // namespace reprobench
