#include "matrix/provision/lock_file.hpp"

#include <set>

#include "ci/catch.hpp"
#include "matrix/provision/provision_fixture.hpp"
#include "matrix/spec/stack_spec.hpp"

using namespace reprobench;
using namespace reprobench::test;

namespace {

const std::string kHash(64, 'a');
const std::string kLine = "torch==2.9.0 --hash=sha256:" + kHash + "  # torch-2.9.0-cp312-cp312-any.whl 899738273 bytes";

std::string problem_of(const std::string& text) {
  return message_of<SpecError>([&] { parse_lock(text, "t.lock"); });
}

}  // namespace

TEST_CASE("a lock line gives distribution, version, hash, file and size", "[provision]") {
  const auto wheels = parse_lock("# a comment\n\n" + kLine + "\n", "t.lock");
  REQUIRE(wheels.size() == 1);
  CHECK(wheels[0].distribution == "torch");
  CHECK(wheels[0].version == "2.9.0");
  CHECK(wheels[0].sha256 == kHash);
  CHECK(wheels[0].file == "torch-2.9.0-cp312-cp312-any.whl");
  CHECK(wheels[0].size_bytes == 899738273);
  CHECK(requirement_line(wheels[0]) == "torch==2.9.0 --hash=sha256:" + kHash);
}

TEST_CASE("a damaged lock line is refused at its line and column", "[provision]") {
  CHECK_THAT(problem_of("# x\ntorch>=2.9\n"), ContainsSubstring("t.lock:2:6: error[RB079]: `==` expected"));
  CHECK_THAT(problem_of("torch==2.9.0\n"), ContainsSubstring("t.lock:1:13: error[RB079]: ` --hash=sha256:` expected"));
  CHECK_THAT(problem_of("torch==2.9.0 --hash=sha256:abc  # f.whl 1 bytes"), ContainsSubstring("3 of 64 hex digits"));
  CHECK_THAT(problem_of("torch==2.9.0 --hash=sha256:" + kHash + "  # f.zip 1 bytes"),
             ContainsSubstring("no name of a wheel"));
  CHECK_THAT(problem_of("torch==2.9.0 --hash=sha256:" + kHash + "  # f.whl many bytes"),
             ContainsSubstring("size expected"));
  CHECK_THAT(problem_of("torch==2.9.0 --hash=sha256:" + kHash + "  # ../f.whl 1 bytes"),
             ContainsSubstring("no name of a wheel"));
  CHECK_THAT(problem_of(""), ContainsSubstring("names no wheel"));
}

TEST_CASE("each part of a lock line is missed at its own column", "[provision]") {
  const auto [line, expected] = GENERATE(table<std::string, std::string>({
      {"==1", "t.lock:1:1: error[RB079]: name of a distribution expected"},
      {"a==", "t.lock:1:4: error[RB079]: version expected"},
      {"a==1!2.0+x_y-z --hash=sha256:" + std::string(63, 'f'),
       "t.lock:1:93: error[RB079]: SHA-256 has 63 of 64 hex digits"},
      {"a==1 --hash=sha256:" + std::string(63, 'f') + "G",
       "t.lock:1:83: error[RB079]: SHA-256 has 63 of 64 hex digits"},
      {"a==1 --hash=sha256:" + kHash + " # f.whl 1 bytes",
       "t.lock:1:84: error[RB079]: `  # FILE.whl SIZE bytes` expected"},
      {"a==1 --hash=sha256:" + kHash + "  # f.whl", "t.lock:1:93: error[RB079]: size expected"},
      {"a==1 --hash=sha256:" + kHash + "  # f.whl  bytes", "t.lock:1:94: error[RB079]: size expected"},
      {"a==1 --hash=sha256:" + kHash + "  # f.whl 1234567890123456 bytes", "t.lock:1:110: error[RB079]: size expected"},
      {"a==1 --hash=sha256:" + kHash + "  # f.whl 1 byte", "t.lock:1:95: error[RB079]: line must end with `bytes`"},
      {"a==1 --hash=sha256:" + kHash + "  # f.whl 1 bytes ", "t.lock:1:101: error[RB079]: line must end with `bytes`"},
  }));
  CHECK_THAT(problem_of(line), Catch::Matchers::StartsWith(expected));
}

TEST_CASE("a lock's sizes have up to fifteen digits", "[provision]") {
  const auto wheels =
      parse_lock("a_b-c==1!2.0+x_y --hash=sha256:" + kHash + "  # f+g.whl 999999999999999 bytes", "t.lock");
  CHECK(wheels.at(0).size_bytes == 999'999'999'999'999);
  CHECK(wheels[0].distribution == "a_b-c");
  CHECK(wheels[0].version == "1!2.0+x_y");
  CHECK(wheels[0].file == "f+g.whl");
}

TEST_CASE("all damaged lines of a lock are reported, and a distribution may appear once", "[provision]") {
  const std::string text = problem_of("==1\n" + kLine + "\n" + kLine + "\n");
  CHECK_THAT(text, ContainsSubstring("t.lock:1:1"));
  CHECK_THAT(text, ContainsSubstring("t.lock:3:1: error[RB079]: `torch` appears twice; first in line 2"));
}

TEST_CASE("the CPU part of a lock is the wheels the stack names, and a name without a wheel is an error",
          "[provision]") {
  const auto lock =
      parse_lock(kLine + "\nnvidia-nccl-cu12==2.27.5 --hash=sha256:" + kHash + "  # n.whl 5 bytes\n", "t.lock");
  const auto wheels = select_wheels(lock, {"torch"}, {"s.yaml", 3, 4});
  REQUIRE(wheels.size() == 1);
  CHECK(wheels[0].distribution == "torch");
  CHECK_THAT(message_of<SpecError>([&] {
               select_wheels(lock, {"nvidia-cudnn"}, {"s.yaml", 3, 4});
             }),
             ContainsSubstring("s.yaml:3:4: error[RB079]: the lock has no wheel of `nvidia-cudnn`"));
}

// The headers of CUDA's runtime include crt/host_defines.h, which comes with the compiler of the same release as NVRTC,
// and nv/target, which comes with CCCL.
TEST_CASE("a lock with CUDA has what the headers of its runtime include", "[provision]") {
  for (const auto& [name, spec] : load_stacks(REPROBENCH_SOURCE_ROOT "/matrix/stacks")) {
    INFO(name);
    if (spec.source != StackSource::wheel) continue;
    std::string nvrtc;
    std::string compiler;
    std::string cccl;
    for (const LockedWheel& wheel : parse_lock(read_file(spec.lock_path), spec.lock_path)) {
      const auto is = [&](const char* part) {
        return wheel.distribution.starts_with(std::string("nvidia-cuda-") + part);
      };
      if (is("nvrtc")) nvrtc = wheel.version;
      if (is("crt") || is("nvcc")) compiler = wheel.version;
      if (is("cccl")) cccl = wheel.version;
    }
    CHECK_FALSE(nvrtc.empty());
    CHECK(compiler ==
          (nvrtc == "12.4.127" ? "12.4.131" : nvrtc));  // that NVRTC alone was repaired, no compiler with it
    CHECK_FALSE(cccl.empty());
  }
}

TEST_CASE("the shipped stacks have locks that agree with them", "[provision]") {
  int wheel_stacks = 0;
  for (const auto& [name, spec] : load_stacks(REPROBENCH_SOURCE_ROOT "/matrix/stacks")) {
    INFO(name);
    if (spec.source != StackSource::wheel) continue;
    ++wheel_stacks;
    const auto lock = parse_lock(read_file(spec.lock_path), spec.lock_path);
    CHECK(select_wheels(lock, spec.cpu_wheels, spec.mark).size() == spec.cpu_wheels.size());
    std::set<std::string> pinned;
    for (const LockedWheel& wheel : lock) {
      if (wheel.distribution == "torch") CHECK(spec.components.at("torch").starts_with(wheel.version + "+"));
      for (const char* component : {"cudnn", "nccl"}) {
        if (!wheel.distribution.starts_with(std::string("nvidia-") + component + "-")) continue;
        CHECK_THAT(wheel.version + ".", Catch::Matchers::StartsWith(spec.components.at(component) + "."));
        pinned.insert(component);
      }
    }
    CHECK(pinned.size() == 2);
  }
  CHECK(wheel_stacks >= 4);
}
