#include "matrix/provision/worker_build.hpp"

#include "ci/catch.hpp"
#include "matrix/provision/provision_error.hpp"
#include "matrix/provision/provision_fixture.hpp"

using namespace reprobench;
using namespace reprobench::test;

TEST_CASE("the share of a build is read from Ninja's and Make's lines", "[provision]") {
  CHECK(build_fraction("[3/12] Building CXX object x.o") == Approx(0.25));
  CHECK(build_fraction("[ 41%] Building CXX object x.o") == Approx(0.41));
  CHECK(build_fraction("[100%] Built target x") == Approx(1.0));
  CHECK(build_fraction("main.cpp:3:1: error: [x]") < 0);
  CHECK(build_fraction("[") < 0);
  CHECK(build_fraction("[7") < 0);
  CHECK(build_fraction("[7/0] x") < 0);
}

TEST_CASE("without a compiler or cmake the build says what to install", "[provision]") {
  const TemporaryFolder folder;
  WorkerBuild build;
  build.build_folder = folder.path() / "build";
  build.log_file = folder.path() / "log";
  CHECK_THAT(message_of<ProvisionError>([&] { build_worker(build, [](const std::string&, double) {}); }),
             ContainsSubstring("no C++ compiler was found") && ContainsSubstring("install g++"));
  build.compiler = {.path = "/usr/bin/c++", .version = "any"};
  const ScopedVariable empty_path("PATH", folder.path().string());
  CHECK_THAT(message_of<ProvisionError>([&] { build_worker(build, [](const std::string&, double) {}); }),
             ContainsSubstring("cmake was not found"));
  CHECK(find_compiler().path.empty());
}
