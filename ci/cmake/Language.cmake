# Language level, the compiler's cache, warnings: what the coordinator and every worker compile with. The layers that both link
# (base, contract, orders, kernels, models) are compiled with one command line in both, so the cache has them for each worker.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
# What has to be faster asks for more (`kernels`), what may be slower for less (`COMPILED_FAST`).
set(CMAKE_CXX_FLAGS_RELEASE "-O1 -DNDEBUG")
get_filename_component(REPROBENCH_ROOT "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
# Sources are included from here. It is not written as the root, because ccache 4.7 takes a folder above CCACHE_BASEDIR for one
# inside. Then the way from the build folder would be part of the key.
set(REPROBENCH_INCLUDE_DIR "${REPROBENCH_ROOT}/matrix/..")

find_program(REPROBENCH_CCACHE ccache)
if(REPROBENCH_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Unity sources lie in the build folder. With its path left out of the key, one build finds what another one compiled. The
  # variable counts when a build is made: read anew at each configuration, it would change every command line.
  set(REPROBENCH_CCACHE_BASEDIR "$ENV{CCACHE_BASEDIR}" CACHE PATH "The folder that ccache leaves out of paths; empty: the build's")
  set(base "${REPROBENCH_CCACHE_BASEDIR}")
  if(base STREQUAL "")
    set(base "${CMAKE_BINARY_DIR}")
  endif()
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${base}" "${REPROBENCH_CCACHE}")
endif()

# Private to a build: carries warnings, never exported.
add_library(reprobench_build_interface INTERFACE)
target_include_directories(reprobench_build_interface INTERFACE "${REPROBENCH_INCLUDE_DIR}")
# An index beyond a vector, an optional without a value or a list without a first element ends the program. Otherwise it could
# become a wrong verdict.
target_compile_definitions(reprobench_build_interface INTERFACE _GLIBCXX_ASSERTIONS)
target_compile_options(reprobench_build_interface INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor
  # GCC 12 sees overlaps and uninitialised parts in std::string's own members (GCC bugs 105651, 105562).
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-maybe-uninitialized>
  # Collects its garbage less often: about a fifteenth of the compiler's time for a quarter more memory.
  $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=262144>
  $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-expand=400>)

# reprobench_unity(TARGET [UNITS]): compiles its sources together. A unit spends half of its time on headers and on what they
# instantiate, so on two cores a target is one unit, or UNITS. More cores have a share each, of no fewer than 12 files.
cmake_host_system_information(RESULT REPROBENCH_CORES QUERY NUMBER_OF_LOGICAL_CORES)
function(reprobench_unity target)
  set(units 1)
  if(ARGC GREATER 1)
    set(units ${ARGV1})
  endif()
  get_target_property(sources ${target} SOURCES)
  list(LENGTH sources count)
  math(EXPR size "(${count} + ${units} - 1) / ${units}")
  if(REPROBENCH_CORES GREATER 2)
    math(EXPR share "(2 * ${count} + ${REPROBENCH_CORES} - 1) / ${REPROBENCH_CORES}")
    if(share LESS 12)
      set(share 12)
    endif()
    if(share LESS size)
      set(size ${share})
    endif()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE ${size})
endfunction()
