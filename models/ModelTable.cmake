# reprobench_model_table(OUTPUT SOURCES): writes OUTPUT, the table of all models, from the folders that hold a model.cpp, and
# sets SOURCES to those files. Folder NAME must define `const Model& NAME_model()`; one that does not is a link error.
function(reprobench_model_table output sources)
  set(root "${CMAKE_CURRENT_FUNCTION_LIST_DIR}")
  file(GLOB files CONFIGURE_DEPENDS "${root}/*/model.cpp")
  set(declarations "")
  set(rows "")
  foreach(file IN LISTS files)
    get_filename_component(folder "${file}" DIRECTORY)
    get_filename_component(name "${folder}" NAME)
    string(APPEND declarations "const Model& ${name}_model();\n")
    string(APPEND rows "      &${name}_model(),\n")
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
