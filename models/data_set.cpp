#include "models/data_set.hpp"

#include "models/data/digits/digits.hpp"
#include "models/data/text/text.hpp"

namespace reprobench {
namespace {

struct Row {
  std::string_view name;  // of the folder
  std::unique_ptr<DataSet> (*open)(const std::filesystem::path& data_folder, std::int64_t context_length);
};

constexpr Row kDataSets[] = {
    {"digits", &open_digits},
    {"text", &open_text},
};

}  // namespace

std::unique_ptr<DataSet> open_data_set(std::string_view name, const std::filesystem::path& data_folder,
                                       std::int64_t context_length) {
  for (const Row& row : kDataSets) {
    if (row.name == name) return row.open(data_folder, context_length);
  }
  return nullptr;
}

}  // namespace reprobench
