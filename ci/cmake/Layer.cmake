# reprobench_compile_fast(TARGET): for what waits for processes and files, or writes for people. An optimiser would take a quarter of the
# compiler's time on it in each build, and give back nothing.
function(reprobench_compile_fast target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-Og>)
endfunction()

# reprobench_of_workers(TARGET): workers link it too, so its command line may not differ between the two (Language.cmake).
function(reprobench_of_workers target)
  set_target_properties(${target} PROPERTIES REPROBENCH_IS_OF_WORKERS ON)
endfunction()

# reprobench_layer(NAME DEPENDS ... LINKS ... BESIDE ... [COMPILED_FAST] [THREADS] [TESTED_OPTIMISED] [OF_WORKERS NOT_OF_WORKERS ...]):
# the folder this is called from is one layer.
#
# The file name decides what a source is: `*_test.cpp` goes into the layer's Catch2 binary `NAME_test`, `*_bench.cpp` into its
# Google Benchmark binary `NAME_bench`, every `X_fuzz.cpp` is a program of its own, `main.cpp` is left to the folder, and
# the rest is the static library `reprobench_NAME`. DEPENDS names other layers, LINKS outside libraries. The tests of the
# files in BESIDE run as a test of their own, so that one long program does not keep a core waiting for the other.
# COMPILED_FAST: see above. THREADS: it starts threads or is run by several, so the thread sanitizer looks at it (ci/layers.sh holds
# that against its headers). TESTED_OPTIMISED: it takes values that other layers have read and checked, or its tests start many
# processes. They run in the optimised build; one with sanitizers has them only where they are asked for (`ci/test.sh --all`).
# OF_WORKERS: see above; a worker has no use for the files in NOT_OF_WORKERS, or not the library that they need.
function(reprobench_layer name)
  cmake_parse_arguments(ARG "COMPILED_FAST;THREADS;TESTED_OPTIMISED;OF_WORKERS" "" "DEPENDS;LINKS;BESIDE;NOT_OF_WORKERS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp" "${CMAKE_CURRENT_SOURCE_DIR}/*/*.cpp")
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  set(benchmarks ${sources})
  list(FILTER benchmarks INCLUDE REGEX "_bench\\.cpp$")
  set(fuzzers ${sources})
  list(FILTER fuzzers INCLUDE REGEX "_fuzz\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "(_test|_bench|/main|_fuzz)\\.cpp$")
  list(TRANSFORM ARG_DEPENDS PREPEND "reprobench_")
  # By themselves, as the unit of the others has to be the same with and without them.
  list(TRANSFORM ARG_NOT_OF_WORKERS PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
  set_source_files_properties(${ARG_NOT_OF_WORKERS} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  if(REPROBENCH_IS_WORKER AND ARG_NOT_OF_WORKERS)
    list(REMOVE_ITEM sources ${ARG_NOT_OF_WORKERS})
  endif()
  set(labels unit)
  if(ARG_TESTED_OPTIMISED AND REPROBENCH_SANITIZE)
    set(labels sanitized_last)
  elseif(ARG_TESTED_OPTIMISED)
    list(APPEND labels optimised)
  endif()

  if(sources)
    add_library(reprobench_${name} STATIC ${sources})
    reprobench_unity(reprobench_${name})
    target_link_libraries(reprobench_${name} PUBLIC ${ARG_DEPENDS} ${ARG_LINKS}
      PRIVATE $<BUILD_INTERFACE:reprobench_build_interface>)
    if(ARG_COMPILED_FAST)
      reprobench_compile_fast(reprobench_${name})
    endif()
    if(ARG_OF_WORKERS)
      reprobench_of_workers(reprobench_${name})
    endif()
    set_target_properties(reprobench_${name} PROPERTIES REPROBENCH_HAS_THREADS "${ARG_THREADS}")
    target_include_directories(reprobench_${name} PUBLIC "${REPROBENCH_INCLUDE_DIR}")
  else()
    add_library(reprobench_${name} INTERFACE)
    target_link_libraries(reprobench_${name} INTERFACE ${ARG_DEPENDS} ${ARG_LINKS})
    target_include_directories(reprobench_${name} INTERFACE "${REPROBENCH_INCLUDE_DIR}")
  endif()

  if(REPROBENCH_BUILD_TESTS AND tests)
    add_executable(${name}_test ${tests})
    reprobench_unity(${name}_test)
    set_target_properties(${name}_test PROPERTIES REPROBENCH_IS_TEST ON REPROBENCH_HAS_THREADS "${ARG_THREADS}")
    if("sanitized_last" IN_LIST labels)
      set_target_properties(${name}_test reprobench_${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    elseif(ARG_TESTED_OPTIMISED)
      # It runs once, so to optimise it takes longer than it gives back. What it tests is optimised.
      target_compile_options(${name}_test PRIVATE $<$<CONFIG:Release>:-O0>)
    endif()
    target_link_libraries(${name}_test PRIVATE reprobench_${name} reprobench_catch_main reprobench_build_interface)
    target_compile_definitions(${name}_test PRIVATE REPROBENCH_SOURCE_ROOT="${REPROBENCH_ROOT}"
      REPROBENCH_BINARY_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
    # Naming what is left out would bring hidden tests in, so they are named too.
    set(selection "~[.]")
    set(beside "")
    foreach(file IN LISTS ARG_BESIDE)
      string(PREPEND selection "~[#${file}]")
      list(APPEND beside "[#${file}]~[.]")
    endforeach()
    if(REPROBENCH_SANITIZE)
      # A merge reads every trace of two runs, which is slow under sanitizers: one of them stands for all.
      set(selection "~[merge]${selection},merging two runs makes*")
    endif()
    add_test(NAME ${name} COMMAND ${name}_test -\# "${selection}")
    set_tests_properties(${name} PROPERTIES LABELS "${labels}")
    if(beside)
      list(JOIN beside "," beside)
      add_test(NAME ${name}_beside COMMAND ${name}_test -\# "${beside}")
      set_tests_properties(${name}_beside PROPERTIES LABELS "${labels}")
    endif()
  endif()
  if(REPROBENCH_BUILD_FUZZERS)
    foreach(source IN LISTS fuzzers)
      get_filename_component(fuzzer "${source}" NAME_WE)
      add_executable(${fuzzer} "${source}")
      target_link_libraries(${fuzzer} PRIVATE reprobench_${name} reprobench_fuzz_main reprobench_build_interface)
      if("sanitized_last" IN_LIST labels AND TARGET ${name}_test)  # they come with the layer's sanitized tests
        set_target_properties(${fuzzer} PROPERTIES EXCLUDE_FROM_ALL ON)
        add_dependencies(${name}_test ${fuzzer})
      endif()
    endforeach()
  endif()
  if(REPROBENCH_BUILD_BENCHMARKS AND benchmarks)
    add_executable(${name}_bench ${benchmarks})
    target_link_libraries(${name}_bench PRIVATE reprobench_${name} benchmark::benchmark_main reprobench_build_interface)
    target_compile_definitions(${name}_bench PRIVATE REPROBENCH_SOURCE_ROOT="${REPROBENCH_ROOT}"
      REPROBENCH_BINARY_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
  endif()
endfunction()
