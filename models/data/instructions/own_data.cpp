#include "models/data/instructions/instructions.hpp"
#include "models/model_spec.hpp"

namespace reprobench::data::instructions {

std::unique_ptr<DataSet> open_own(std::string_view text, const ModelPreset& preset);
std::unique_ptr<DataSet> open_own(std::string_view text, const ModelPreset& preset) {
  return instruction_samples(instructions_in(text, "the user's file"), preset.context_length);
}

}  // namespace reprobench::data::instructions
