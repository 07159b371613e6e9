# reprobench_kernel_table(OUTPUT MODULES): writes OUTPUT, the table of device/kernel_source.hpp, from the folders that hold a `.cu`
# file: its text, the text of every project header that it includes, directly or not, and the names of its kernels (its
# RB_CHECK_KERNEL lines). Adding a kernel is adding a folder.
#
# Sets MODULES in the caller to the list of `.cu` files, for what else is made from them.

function(reprobench_literal file result)
  file(READ "${file}" text)
  string(LENGTH "${text}" length)
  if(length GREATER 65000)
    message(FATAL_ERROR "${file} is longer than a string literal may be")
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
  set(${result} "R\"source(${text})source\"" PARENT_SCOPE)
endfunction()

# Project headers of `file` and of its headers, each once, in the order found.
function(reprobench_headers_of root file result)
  set(found "")
  set(waiting "${file}")
  while(waiting)
    list(POP_FRONT waiting next)
    file(STRINGS "${next}" lines REGEX "^#include \"kernels/")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^#include \"([^\"]+)\".*" "\\1" header "${line}")
      if(NOT header IN_LIST found)
        list(APPEND found "${header}")
        list(APPEND waiting "${root}/${header}")
      endif()
    endforeach()
  endwhile()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

function(reprobench_kernel_table output modules)
  set(kernels_root "${CMAKE_CURRENT_FUNCTION_LIST_DIR}")
  get_filename_component(root "${kernels_root}" DIRECTORY)
  file(GLOB files CONFIGURE_DEPENDS "${kernels_root}/*/*.cu")
  set(texts "")
  set(rows "")
  foreach(file IN LISTS files)
    get_filename_component(folder "${file}" DIRECTORY)
    get_filename_component(module "${folder}" NAME)
    reprobench_literal("${file}" text)
    reprobench_headers_of("${root}" "${file}" headers)
    string(APPEND texts "constexpr KernelHeader k_${module}_headers[] = {\n")
    foreach(header IN LISTS headers)
      reprobench_literal("${root}/${header}" header_text)
      string(APPEND texts "    {\"${header}\", ${header_text}},\n")
    endforeach()
    file(STRINGS "${file}" checks REGEX "^RB_CHECK_KERNEL\\(")
    string(APPEND texts "};\nconstexpr std::string_view k_${module}_kernels[] = {")
    foreach(check IN LISTS checks)
      string(REGEX REPLACE "^RB_CHECK_KERNEL\\(([a-z0-9_]+),.*" "\"\\1\", " name "${check}")
      string(APPEND texts "${name}")
    endforeach()
    string(APPEND texts "};\n")
    string(APPEND rows "    {\"${module}\", ${text}, k_${module}_headers, k_${module}_kernels},\n")
  endforeach()
  set(content "// Written by kernels/KernelTable.cmake from the .cu files of kernels/.
#include \"kernels/device/kernel_source.hpp\"

namespace reprobench {
namespace {

${texts}
constexpr KernelSource kSources[] = {
${rows}};

}  // namespace

std::span<const KernelSource> kernel_sources() { return kSources; }

}  // namespace reprobench
")
  file(CONFIGURE OUTPUT "${output}" CONTENT "@content@" @ONLY)
  set(${modules} ${files} PARENT_SCOPE)
endfunction()
