#include "matrix/evidence/cell_partner.hpp"

namespace reprobench {
namespace {

// What a comparison may change: the stack, the device, or the host that a merged run's cells name.
bool is_compared_across(const std::string& coordinate) {
  return coordinate == "stack" || coordinate == "device" || coordinate == "host";
}

// How far two cells with one key are from being the same cell; nothing if both stack and device differ.
std::optional<int> distance(const PairingPoint& ours, const PairingPoint& theirs) {
  const bool other_stack = ours.stack != theirs.stack;
  const bool other_device = ours.device != theirs.device;
  if (other_stack && other_device) return std::nullopt;
  return (other_device ? 4 : 0) + (other_stack ? 2 : 0) + (ours.host != theirs.host ? 1 : 0);
}

}  // namespace

PairingPoint pairing_point(const Cell& cell) {
  const CellRequest& request = cell.request;
  std::string key = request.suite + "/" + request.workload.model + "/" + request.workload.preset;
  for (const auto& [name, value] : cell.coordinates) {
    if (!is_compared_across(name)) key += "/" + name + "=" + value;
  }
  const auto host = cell.coordinates.find("host");
  return {key, request.stack, request.device, host == cell.coordinates.end() ? "" : host->second};
}

std::optional<std::size_t> partner_of(const PairingPoint& ours, const std::vector<PairingPoint>& theirs) {
  std::optional<std::size_t> found;
  int nearest = 0;
  int candidates = 0;
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    if (theirs[i].key != ours.key) continue;
    const auto away = distance(ours, theirs[i]);
    if (!away || (found && *away > nearest)) continue;
    if (found && *away == nearest) {
      ++candidates;
      continue;
    }
    found = i;
    nearest = *away;
    candidates = 1;
  }
  return nearest < 2 || candidates == 1 ? found : std::nullopt;
}

bool is_called(const Cell& cell, const std::string& name) {
  return cell.slug == name || (name.size() >= 4 && cell.request.cell_id.rfind(name, 0) == 0);
}

}  // namespace reprobench
