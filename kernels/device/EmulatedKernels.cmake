# reprobench_emulated_kernels(OUTPUT_VARIABLE FILES...): writes, for each `.cu` file, a C++ source that compiles it for the
# emulation of device/simt, and the table of device/simt/emulated_kernel.hpp; sets OUTPUT_VARIABLE to the written files.
function(reprobench_emulated_kernels written)
  set(sources "")
  set(declarations "")
  set(rows "")
  foreach(file IN LISTS ARGN)
    file(RELATIVE_PATH path "${PROJECT_SOURCE_DIR}" "${file}")
    get_filename_component(module "${file}" NAME_WE)
    file(STRINGS "${file}" checks REGEX "^RB_CHECK_KERNEL\\(")
    set(module_rows "")
    foreach(check IN LISTS checks)
      string(REGEX REPLACE "^RB_CHECK_KERNEL\\(([a-z0-9_]+),.*" "\\1" name "${check}")
      string(APPEND declarations "void call_${name}(void** arguments);\n")
      string(APPEND module_rows "void call_${name}(void** arguments) { call_with<&reprobench::${name}>(arguments); }\n")
      string(APPEND rows "    {\"${name}\", &call_${name}},\n")
    endforeach()
    set(source "${CMAKE_CURRENT_BINARY_DIR}/emulated/${module}.cpp")
    set(content "// Written by kernels/device/EmulatedKernels.cmake.
#include \"kernels/device/simt/simt.hpp\"

#include \"${path}\"
#include \"kernels/device/simt/emulated_kernel.hpp\"

namespace reprobench::simt {
${module_rows}}  // namespace reprobench::simt
")
    file(CONFIGURE OUTPUT "${source}" CONTENT "@content@" @ONLY)
    list(APPEND sources "${source}")
  endforeach()
  set(content "// Written by kernels/device/EmulatedKernels.cmake.
#include \"kernels/device/simt/emulated_kernel.hpp\"

namespace reprobench::simt {
${declarations}
std::span<const EmulatedKernel> emulated_kernels() {
  static constexpr EmulatedKernel kKernels[] = {
${rows}};
  return kKernels;
}
}  // namespace reprobench::simt
")
  file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/emulated/table.cpp" CONTENT "@content@" @ONLY)
  list(APPEND sources "${CMAKE_CURRENT_BINARY_DIR}/emulated/table.cpp")
  set(${written} ${sources} PARENT_SCOPE)
endfunction()
