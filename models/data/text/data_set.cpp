#include "models/data/text/text.hpp"
#include "models/model_spec.hpp"

namespace reprobench {

std::unique_ptr<DataSet> open_text(const std::filesystem::path& data_folder, const ModelPreset& preset);
std::unique_ptr<DataSet> open_text(const std::filesystem::path& data_folder, const ModelPreset& preset) {
  return text_windows(data_folder, preset.context_length);
}

}  // namespace reprobench
