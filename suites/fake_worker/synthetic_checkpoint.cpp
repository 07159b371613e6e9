#include "suites/fake_worker/synthetic_checkpoint.hpp"

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "kernels/digest/digest.hpp"

namespace reprobench {
namespace {

std::string file_name(std::int64_t step) { return "checkpoint-" + std::to_string(step) + ".json"; }

// As a real worker makes it: over the tensors of the final state.
std::string state_of(const SyntheticTraining& training) {
  DigestBuilder root;
  for (const TensorRecord& tensor : training.final_state().tensors) {
    append_tensor(root, tensor.name, to_string(tensor.role), tensor.digest);
  }
  return to_hex(root.finish());
}

std::string checksum_of(const nlohmann::json& content) {
  return to_hex(DigestBuilder().append(content.dump()).finish());
}

}  // namespace

void write_synthetic_checkpoint(const CellRequest& request, const SyntheticTraining& training, CellResult& result) {
  if (!request.checkpoint) return;
  if (!result.checkpoints) result.checkpoints.emplace();
  if (request.checkpoint->stop_after == 0) return;
  if (request.rank > 0) return;  // the ranks have one together
  const std::int64_t step = training.step();
  // Every rank of a synthetic training has the same chain.
  const std::vector<Digest> chains(static_cast<std::size_t>(request.world_size),
                                   digest_from_hex(training.chain()).value());
  const nlohmann::json content{
      {"step", step}, {"chain", to_hex(chain_of_ranks(chains))}, {"written_by", request.nonce}};
  const std::filesystem::path folder = request.checkpoint->folder;
  std::filesystem::create_directories(folder);
  std::ofstream(folder / file_name(step)) << content.dump();
  result.checkpoints->written.push_back({step, file_name(step), checksum_of(content)});
}

std::optional<ResumedFrom> resume_synthetic(const CellRequest& request, const Behaviour& behaviour,
                                            SyntheticTraining& training, CellResult& result) {
  if (!request.checkpoint || !request.checkpoint->resume) return std::nullopt;
  const std::int64_t step = request.checkpoint->resume_after;
  const std::filesystem::path path = std::filesystem::path(request.checkpoint->folder) / file_name(step);
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path.string() + " is missing");
  const nlohmann::json content = nlohmann::json::parse(file);
  // Trained again from the start, though it says otherwise.
  if (behaviour.does("retrain")) {
    while (training.step() < step) training.advance();
    return std::nullopt;
  }
  training.go_on_after(step, content.at("chain"));
  ResumedFrom resumed{
      step, file_name(step), checksum_of(content), content.at("written_by"), content.at("chain"), state_of(training)};
  if (behaviour.does("other_checkpoint")) resumed.checksum = std::string(32, '0');
  result.checkpoints.emplace().resumed = resumed;
  return resumed;
}

}  // namespace reprobench
