# Sanitizers, fuzzers and output folders: what every target of the coordinator shares beside Language.cmake.
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
include(Language)
# A layer that workers link has no -Werror, so that its command line is theirs; ci/test.sh looks for its warnings. Where it is
# sanitized it has another one anyway.
if(REPROBENCH_WERROR)
  set(warned 1)
  if(NOT REPROBENCH_SANITIZE)
    set(warned $<NOT:$<BOOL:$<TARGET_PROPERTY:REPROBENCH_IS_OF_WORKERS>>>)
  endif()
  target_compile_options(reprobench_build_interface INTERFACE $<${warned}:-Werror>)
endif()

if(REPROBENCH_BUILD_FUZZERS)
  # Clang brings an engine; elsewhere ci/fuzz_main.cpp mutates the seeds.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    add_library(reprobench_fuzz_main INTERFACE)
    target_link_options(reprobench_fuzz_main INTERFACE -fsanitize=fuzzer)
    target_compile_options(reprobench_build_interface INTERFACE -fsanitize=fuzzer-no-link)
  else()
    add_library(reprobench_fuzz_main STATIC "${PROJECT_SOURCE_DIR}/ci/fuzz_main.cpp")
  endif()
  # What ci/fuzz.sh must find before its silence about the parsers counts.
  add_executable(planted_bug_fuzz "${PROJECT_SOURCE_DIR}/ci/planted_bug_fuzz.cpp")
  target_link_libraries(planted_bug_fuzz PRIVATE reprobench_fuzz_main reprobench_build_interface)
endif()
# The thread sanitizer is for targets with REPROBENCH_HAS_THREADS. All others have the flags of the preset `ci`, whose objects the
# compiler's cache then has. A function that both kinds have inline is taken from the first on the linker's line, which is of the former.
set(sanitized 1)
if(REPROBENCH_SANITIZE STREQUAL "thread")
  set(sanitized $<BOOL:$<TARGET_PROPERTY:REPROBENCH_HAS_THREADS>>)
endif()
if(REPROBENCH_SANITIZE)
  set(not_checked "")
  if(REPROBENCH_SANITIZE STREQUAL "address,undefined")
    # What leads out of an object, or to none, is seen by the address sanitizer where it is followed. To look at every pointer
    # beforehand as well takes the compiler a fifth of its time. No source makes a pointer to something wider of one to bytes, so
    # alignment, which takes another seventh, is not looked at.
    set(not_checked -fno-sanitize=pointer-overflow -fno-sanitize=null -fno-sanitize=object-size -fno-sanitize=alignment)
  endif()
  target_compile_options(reprobench_build_interface INTERFACE
    "$<${sanitized}:-fsanitize=${REPROBENCH_SANITIZE};-fno-omit-frame-pointer;-fno-sanitize-recover=all;-g1;${not_checked}>"
    # What a test itself computes is checked by the test; without these the compiler takes two thirds of the time on it.
    # Nor is it optimised: it runs once.
    $<$<BOOL:$<TARGET_PROPERTY:REPROBENCH_IS_TEST>>:-fno-sanitize=undefined>
    $<$<BOOL:$<TARGET_PROPERTY:REPROBENCH_IS_TEST>>:-O0>)
  target_link_options(reprobench_build_interface INTERFACE $<${sanitized}:-fsanitize=${REPROBENCH_SANITIZE}>)
endif()
