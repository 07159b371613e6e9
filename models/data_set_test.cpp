#include "models/data_set.hpp"

#include <algorithm>
#include <set>

#include "ci/catch.hpp"
#include "models/model_spec.hpp"

namespace reprobench {
namespace {

const std::filesystem::path kDataFolder = std::filesystem::path(REPROBENCH_SOURCE_ROOT) / "models" / "data";

std::unique_ptr<DataSet> opened(std::string_view name) {
  const auto row = std::ranges::find(data_sets(), name, &DataSetRow::name);
  REQUIRE(row != data_sets().end());
  ModelPreset preset;
  preset.context_length = 64;
  return row->open(kDataFolder, preset);
}

TEST_CASE("every folder of models/data with a data_set.cpp is a data set, by its name", "[models]") {
  std::set<std::string> folders;
  for (const auto& entry : std::filesystem::directory_iterator(kDataFolder)) {
    if (std::filesystem::exists(entry.path() / "data_set.cpp")) folders.insert(entry.path().filename().string());
  }
  std::set<std::string> names;
  for (const DataSetRow& row : data_sets()) CHECK(names.emplace(row.name).second);
  CHECK(names == folders);
  CHECK(names.count("digits") + names.count("text") == 2);
}

TEST_CASE("every data set has samples, and fields with names of their own", "[models]") {
  for (const DataSetRow& row : data_sets()) {
    INFO(row.name);
    const auto data = opened(row.name);
    CHECK(data->size() > 0);
    std::set<std::string> names;
    for (const FieldSpec& field : data->fields()) CHECK(names.insert(field.name).second);
    CHECK_FALSE(names.empty());
    CHECK(data->digest() == opened(row.name)->digest());
  }
}

TEST_CASE("digits are images with a class, text is tokens with the tokens that follow", "[models]") {
  const auto digits = opened("digits");
  CHECK(digits->size() == 1797);
  const auto images = digits->fields();
  REQUIRE(images.size() == 2);
  CHECK(images[0].name == "input");
  CHECK(images[0].shape == std::vector<std::int64_t>{784});
  CHECK(images[1].name == "target");
  CHECK(images[1].type == ElementType::int64);
  CHECK(images[1].shape.empty());
  CHECK(opened("text")->fields()[0].shape == std::vector<std::int64_t>{64});
}

}  // namespace
}  // namespace reprobench
