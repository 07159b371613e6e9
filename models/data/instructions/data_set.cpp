#include "models/data/instructions/instructions.hpp"
#include "models/model_spec.hpp"

namespace reprobench::data::instructions {

std::unique_ptr<DataSet> open(const std::filesystem::path& data_folder, const ModelPreset& preset);
std::unique_ptr<DataSet> open(const std::filesystem::path& data_folder, const ModelPreset& preset) {
  return instruction_samples(load_instructions(data_folder / "instructions" / "instructions.json"),
                             preset.context_length);
}

}  // namespace reprobench::data::instructions
