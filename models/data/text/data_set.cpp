#include "models/data/text/text.hpp"
#include "models/model_spec.hpp"

namespace reprobench::data::text {

std::unique_ptr<DataSet> open(const std::filesystem::path& data_folder, const ModelPreset& preset);
std::unique_ptr<DataSet> open(const std::filesystem::path& data_folder, const ModelPreset& preset) {
  return text_windows(data_folder, preset.context_length);
}

}  // namespace reprobench::data::text
