# Folders become tables. A folder without the function its file must define is a link error.
#
# reprobench_model_table(OUTPUT SOURCES): writes OUTPUT, the table of all models, from the folders models/NAME/ that hold a
# model.cpp, and sets SOURCES to those files. Each must define `const Model& instance()` in `reprobench::model::NAME`.
#
# reprobench_data_set_table(OUTPUT): the same of the folders models/data/NAME/ that hold a data_set.cpp. Each must define
# `std::unique_ptr<DataSet> open(const std::filesystem::path& data_folder, const ModelPreset& preset)` in
# `reprobench::data::NAME`. One with an own_data.cpp takes files of the user's, by
# `open_own(std::string_view text, const ModelPreset& preset)`.
#
# A folder's namespace is its own, so two models may use the same names though one unit holds them both.
set(REPROBENCH_MODELS_ROOT "${CMAKE_CURRENT_LIST_DIR}")

# Sets FILES and NAMES to those of the folders that PATTERN finds files in.
function(reprobench_scan_folders pattern files names)
  file(GLOB found CONFIGURE_DEPENDS "${REPROBENCH_MODELS_ROOT}/${pattern}")
  set(found_names "")
  foreach(file IN LISTS found)
    get_filename_component(folder "${file}" DIRECTORY)
    get_filename_component(name "${folder}" NAME)
    list(APPEND found_names "${name}")
  endforeach()
  set(${files} ${found} PARENT_SCOPE)
  set(${names} ${found_names} PARENT_SCOPE)
endfunction()

function(reprobench_model_table output sources)
  reprobench_scan_folders("*/model.cpp" files names)
  set(declarations "")
  set(rows "")
  foreach(name IN LISTS names)
    string(APPEND declarations "namespace model::${name} { const Model& instance(); }\n")
    string(APPEND rows "      &model::${name}::instance(),\n")
  endforeach()
  file(CONFIGURE OUTPUT "${output}" CONTENT
"// Written by models/ModelTable.cmake from the folders of models/.
#include \"models/model_spec.hpp\"

namespace reprobench {

@declarations@
std::span<const Model* const> models() {
  static const Model* const kModels[] = {
@rows@  };
  return kModels;
}

}  // namespace reprobench
" @ONLY)
  set(${sources} ${files} PARENT_SCOPE)
endfunction()

function(reprobench_data_set_table output)
  reprobench_scan_folders("data/*/data_set.cpp" files names)
  set(declarations "")
  set(rows "")
  foreach(name IN LISTS names)
    string(APPEND declarations "namespace data::${name} {\n"
      "std::unique_ptr<DataSet> open(const std::filesystem::path& data_folder, const ModelPreset& preset);\n")
    set(own "nullptr")
    if(EXISTS "${REPROBENCH_MODELS_ROOT}/data/${name}/own_data.cpp")
      set(own "&data::${name}::open_own")
      string(APPEND declarations "std::unique_ptr<DataSet> open_own(std::string_view text, const ModelPreset& preset);\n")
    endif()
    string(APPEND declarations "}\n")
    string(APPEND rows "      {\"${name}\", &data::${name}::open, ${own}},\n")
  endforeach()
  file(CONFIGURE OUTPUT "${output}" CONTENT
"// Written by models/ModelTable.cmake from the folders of models/data/.
#include \"models/data_set.hpp\"

namespace reprobench {

@declarations@
std::span<const DataSetRow> data_sets() {
  static constexpr DataSetRow kDataSets[] = {
@rows@  };
  return kDataSets;
}

}  // namespace reprobench
" @ONLY)
endfunction()
