#include "matrix/exec/placement.hpp"

#include <fmt/format.h>

#include "matrix/contract/attempt_segment.hpp"
#include "matrix/contract/device/device_class.hpp"

namespace reprobench {
namespace {

constexpr std::int64_t kPeriod_ns = 100'000'000;

bool needs_gpu(const Cell& cell) { return DeviceClass::parse(cell.request.device) != kCpu; }

}  // namespace

std::optional<GpuLease> Placement::try_take(const Cell& cell) {
  if (!needs_gpu(cell)) return GpuLease{};
  return pool_.try_lease(cell.request.device, gpus_of(cell.request), cell.exclusive);
}

std::optional<Hopeless> Placement::hopeless_because(const Cell& cell) const {
  if (cell.exclusive && !host_disturbed_by_.empty()) {
    return Hopeless{AttemptEnd::launch,
                    fmt::format("nothing can be timed on this host any more: {}", host_disturbed_by_)};
  }
  if (!needs_gpu(cell)) return std::nullopt;
  std::string reason = pool_.hopeless_because(cell.request.device, gpus_of(cell.request));
  if (reason.empty()) return std::nullopt;
  return Hopeless{AttemptEnd::gpu_hw, std::move(reason)};
}

std::optional<LinkPeak> Placement::link_peak(const GpuLease& lease) const {
  if (!topology_) return std::nullopt;
  std::vector<std::string> addresses;
  for (const GpuFacts& gpu : lease.gpus()) addresses.push_back(pci_address(gpu.pci_bus_id));
  return slowest_link(*topology_, addresses);
}

std::unique_ptr<TelemetryRecording> Placement::watch(const GpuLease& lease, const CellRequest& request,
                                                     const std::filesystem::path& folder) const {
  if (telemetry_ == nullptr || lease.gpus().empty()) return nullptr;
  TelemetryHeader header{request.cell_id, request.nonce, kPeriod_ns, {}};
  for (const GpuFacts& gpu : lease.gpus()) header.gpus.push_back({gpu.uuid, gpu.pci_bus_id, gpu.name});
  return telemetry_->start(header, folder);
}

void Placement::leave_behind(const GpuLease& lease, const Cell& cell) {
  for (const GpuFacts& gpu : lease.gpus()) pool_.quarantine(gpu.uuid, "a process on it survived 8 KILLs");
  if (lease.gpus().empty()) host_disturbed_by_ = fmt::format("a process of {} survived 8 KILLs", cell.slug);
}

void Placement::note(const Cell& cell, const AttemptRecord& attempt) {
  faults_.add(cell.request.stack, attempt);
  if (!attempt.telemetry) return;
  for (const GpuFault& fault : faults_of(*attempt.telemetry)) {
    if (fault.is_device) pool_.quarantine(fault.uuid, fault.sentence);
  }
}

bool Placement::is_worth_retrying(const Cell& cell, const AttemptRecord& attempt) const {
  if (side_of(attempt.end) == Side::infra) {
    return !faults_.is_of_stack(cell.request.stack, attempt) && !hopeless_because(cell);
  }
  return attempt.end == AttemptEnd::completed && cell.exclusive && attempt.telemetry &&
         !attempt.telemetry->invalid_reason.empty();
}

}  // namespace reprobench
