#include "matrix/contract/leg.hpp"

namespace reprobench {

std::span<const Leg> legs_of(const CellRequest& attempt) {
  static constexpr std::array kLegs = {Leg::whole, Leg::stopped, Leg::resumed};
  const bool has_parts = attempt.workload.resume_after > 0 && !attempt.replay;
  return std::span(kLegs).first(has_parts ? kLegs.size() : 1);
}

std::filesystem::path leg_folder(const std::filesystem::path& attempt_folder, Leg leg) {
  return leg == Leg::whole ? attempt_folder : attempt_folder / to_string(leg);
}

CellRequest request_of_leg(const CellRequest& attempt, Leg leg, const std::filesystem::path& attempt_folder) {
  CellRequest request = attempt;
  if (request.inject && is_of_resuming(*request.inject) && leg != Leg::resumed) request.inject.reset();
  if (leg == Leg::whole) return request;
  request.nonce += "." + std::string(to_string(leg));
  request.turn_steps = 0;  // nobody times it
  Checkpointing& checkpoint = request.checkpoint.emplace();
  checkpoint.folder = leg_folder(attempt_folder, Leg::stopped) / "checkpoints";
  if (leg == Leg::stopped) checkpoint.stop_after = attempt.workload.resume_after;
  if (leg == Leg::resumed) checkpoint.resume = true, checkpoint.resume_after = attempt.workload.resume_after;
  return request;
}

}  // namespace reprobench
