#include "matrix/provision/worker_build.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

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

TEST_CASE("whatever a worker's sources include is in the digest of its sources", "[provision]") {
  const std::filesystem::path root = REPROBENCH_SOURCE_ROOT;
  const std::vector<std::string> folders = worker_source_folders();
  int seen = 0;
  for (const std::string& folder : folders) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      const std::string extension = entry.path().extension();
      const std::string stem = entry.path().stem();
      if ((extension != ".cpp" && extension != ".hpp") || stem.ends_with("_test") || stem.ends_with("_bench") ||
          stem.ends_with("_fuzz") || stem.ends_with("_fixture")) {
        continue;
      }
      std::ifstream source(entry.path());
      for (std::string line; std::getline(source, line);) {
        if (!line.starts_with("#include \"")) continue;
        const std::string included = line.substr(10, line.rfind('"') - 10);
        if (!std::filesystem::exists(root / included)) continue;  // it is generated
        INFO(entry.path() << " includes " << included);
        CHECK(std::any_of(folders.begin(), folders.end(),
                          [&](const std::string& one) { return included.starts_with(one + "/"); }));
        ++seen;
      }
    }
  }
  CHECK(seen > 500);
}

TEST_CASE("a compiler that links its own C++ runtime into programs is named, with what to do", "[provision]") {
  const TemporaryFolder folder;
  const Compiler compiler{.path = "/opt/gcc/bin/g++", .version = "g++ 99"};
  const std::filesystem::path source = folder.path / "main.cpp";
  write_file(source, "#include <string>\n#include <iostream>\nint main() { std::string line; std::cin >> line; }\n");
  const auto linked = [&](const std::string& name, const std::string& option) {
    const std::filesystem::path program = folder.path / name;
    const std::string command = fmt::format("c++ {} {} -o {}", option, source.string(), program.string());
    REQUIRE(std::system(command.c_str()) == 0);
    return program;
  };
  CHECK(find_runtime_problem(linked("shared", ""), compiler).empty());
  CHECK_THAT(find_runtime_problem(linked("static", "-static-libstdc++"), compiler),
             StartsWith("/opt/gcc/bin/g++ (g++ 99) links a C++ runtime of its own into programs") &&
                 ContainsSubstring("set CXX to a compiler"));
}

TEST_CASE("without a compiler or cmake the build says what to install", "[provision]") {
  const TemporaryFolder folder;
  WorkerBuild build;
  build.build_folder = folder.path / "build";
  build.log_file = folder.path / "log";
  CHECK_THAT(message_of<ProvisionError>([&] { build_worker(build, [](const std::string&, double) {}); }),
             ContainsSubstring("no C++ compiler was found") && ContainsSubstring("install g++"));
  build.compiler = {.path = "/usr/bin/c++", .version = "any"};
  const TemporaryVariable empty_path("PATH", folder.path.string());
  CHECK_THAT(message_of<ProvisionError>([&] { build_worker(build, [](const std::string&, double) {}); }),
             ContainsSubstring("cmake was not found"));
  CHECK(find_compiler().path.empty());
}

namespace {

// A cmake that writes down how it was called, prints numbered lines and makes the program, or not.
class ScriptedCmake {
 public:
  // `fails`: "-S", "--build" or none; `makes`: the program.
  explicit ScriptedCmake(const std::string& fails = "", bool makes = true, bool has_ninja = false) {
    const std::string at = folder_.path.string();
    make_tool(
        "cmake",
        fmt::format(
            "for word in \"$@\"; do echo \"$word\"; done >>{0}/called$1\n"
            "i=1; while [ $i -le 25 ]; do echo \"[$i/25] step $i\"; i=$((i+1)); done; printf 'not whole'\n"
            "[ \"$1\" = '{1}' ] && exit 7\n"
            "[ \"$1\" = --build ] && {2} && {{ /bin/mkdir -p \"$2/bin\"; : >\"$2/bin/reprobench-worker\"; }}\nexit 0\n",
            at, fails, makes ? "true" : "false"));
    if (has_ninja) make_tool("ninja", "exit 0\n");
    path_.emplace("PATH", at);
    build.stack = "torch-x";
    build.source_root = "/source";
    build.build_folder = folder_.path / "build";
    build.log_file = folder_.path / "logs" / "log";
    build.include_dirs = {"/i1", "/i2"};
    build.library_dirs = {"/l1", "/l2"};
    build.compiler = {.path = "/usr/bin/c++", .version = "any"};
    build.shepherd = kShepherd;
  }
  std::string run() {
    return message_of<ProvisionError>([&] {
      program = build_worker(build, [&](const std::string& phase, double fraction) {
        reports.push_back(fmt::format("{} {:.2f}", phase, fraction));
      });
    });
  }
  std::string text_of(const std::string& file) const { return read_file(folder_.path / file); }
  std::string at() const { return folder_.path.string(); }

  WorkerBuild build;
  std::filesystem::path program;
  std::vector<std::string> reports;

 private:
  void make_tool(const std::string& name, const std::string& body) {
    write_file(folder_.path / name, "#!/bin/sh\n" + body);
    std::filesystem::permissions(folder_.path / name, std::filesystem::perms::owner_all);
  }
  TemporaryFolder folder_;
  std::optional<TemporaryVariable> path_;
};

// "[6/25] step 6\n...[25/25] step 25": the last twenty whole lines.
std::string last_twenty_lines() {
  std::string text;
  for (int i = 6; i <= 25; ++i) text += fmt::format("[{}/25] step {}\n", i, i);
  return text;
}

}  // namespace

TEST_CASE("a worker is configured for its stack's folders and compiler, and built", "[provision]") {
  ScriptedCmake cmake;
  cmake.build.cxx11_abi = 0;
  CHECK(cmake.run() == "nothing was thrown");
  CHECK(cmake.program == cmake.at() + "/build/bin/reprobench-worker");
  CHECK(cmake.text_of("called-S") ==
        "-S\n/source/suites/worker\n-B\n" + cmake.at() +
            "/build\n-DCMAKE_BUILD_TYPE=Release\n-DCMAKE_CXX_COMPILER=/usr/bin/c++\n"
            "-DCMAKE_RUNTIME_OUTPUT_DIRECTORY=" +
            cmake.at() +
            "/build/bin\n"
            "-DREPROBENCH_TORCH_INCLUDE_DIRS=/i1;/i2\n-DREPROBENCH_TORCH_LIBRARY_DIRS=/l1;/l2\n"
            "-DREPROBENCH_CXX11_ABI=0\n-DREPROBENCH_WITH_CUDA=OFF\n");
  // Nothing of a stack first, unless another build is at that.
  const std::string built = cmake.text_of("called--build");
  const std::string jobs = built.substr(built.rfind('\n', built.size() - 2) + 1);
  const std::string folder = "--build\n" + cmake.at() + "/build\n--target\n";
  CHECK(built == folder + "worker_layers\n--parallel\n" + jobs + folder + "reprobench-worker\n--parallel\n" + jobs);
  CHECK(std::stoi(jobs) >= 1);
  CHECK(std::stoi(jobs) <= static_cast<int>(std::thread::hardware_concurrency()));
  REQUIRE(cmake.reports.size() == 75);  // a line that is not whole takes the next one along
  CHECK(cmake.reports[0] == "configure worker -1.00");
  CHECK(cmake.reports[1] == "configure worker 0.04");
  CHECK(cmake.reports[26] == "build worker -1.00");
  CHECK(cmake.reports[50] == "build worker 0.50");
  CHECK(cmake.reports[51] == "build worker 0.54");
  CHECK(cmake.reports[74] == "build worker 1.00");
  CHECK_THAT(cmake.text_of("logs/log"),
             Catch::Matchers::StartsWith("[1/25] step 1\n") && ContainsSubstring("not whole[1/25]"));
}

TEST_CASE("of two builds at a time, one leaves what both share to the end", "[provision]") {
  ScriptedCmake cmake;
  WorkerBuild other = cmake.build;
  other.build_folder = cmake.at() + "/other";
  other.log_file = cmake.at() + "/logs/other";
  bool is_begun = false;
  build_worker(cmake.build, [&](const std::string& phase, double fraction) {
    if (phase != "build worker" || fraction < 0 || std::exchange(is_begun, true)) return;
    std::async(std::launch::async, [&] { build_worker(other, [](const std::string&, double) {}); }).get();
  });
  std::istringstream words(cmake.text_of("called--build"));
  std::vector<std::string> targets;
  for (std::string word; words >> word;) {
    if (word.starts_with("reprobench") || word.starts_with("worker_")) targets.push_back(word);
  }
  CHECK(targets == std::vector<std::string>{"worker_layers", "worker_torch", "reprobench-worker", "reprobench-worker"});
}

TEST_CASE("Ninja builds a worker where it is there, and CUDA is part of it where the stack has it", "[provision]") {
  ScriptedCmake cmake("", true, true);
  cmake.build.with_cuda = true;
  CHECK(cmake.run() == "nothing was thrown");
  CHECK_THAT(cmake.text_of("called-S"),
             Catch::Matchers::EndsWith("-DREPROBENCH_CXX11_ABI=1\n-DREPROBENCH_WITH_CUDA=ON\n-G\nNinja\n"));
}

TEST_CASE("a build that fails shows its last twenty lines and where the others are", "[provision]") {
  const auto [step, phase] =
      GENERATE(table<std::string, std::string>({{"-S", "configure worker"}, {"--build", "build worker"}}));
  ScriptedCmake cmake(step);
  CHECK(cmake.run() == "the worker of torch-x could not be built (" + phase + " failed with exit code 7):\n" +
                           last_twenty_lines().substr(0, last_twenty_lines().size() - 1) + "\nfull log: " + cmake.at() +
                           "/logs/log");
}

TEST_CASE("a build that ends well and makes nothing is no success", "[provision]") {
  ScriptedCmake cmake("", false);
  CHECK(cmake.run() == cmake.at() +
                           "/build/bin/reprobench-worker: the build ended well but made no such program; full log: " +
                           cmake.at() + "/logs/log");
  ScriptedCmake no_log;
  no_log.build.log_file = no_log.at() + "/build/.";
  CHECK(no_log.run() == no_log.at() + "/build/.: the build log cannot be written");
}

TEST_CASE("the compiler is the one chosen, else c++, and says its version in one line", "[provision]") {
  const TemporaryFolder folder;
  for (const char* name : {"c++", "mine", "broken"}) {
    write_file(folder.path / name, fmt::format("#!/bin/sh\necho \"{} $1\"; echo second\n{}", name,
                                               name == std::string("broken") ? "exit 1\n" : ""));
    std::filesystem::permissions(folder.path / name, std::filesystem::perms::owner_all);
  }
  const std::string at = folder.path.string();
  const TemporaryVariable path("PATH", at);
  const auto found_with = [&](const std::optional<std::string>& chosen) {
    const TemporaryVariable variable("CXX", chosen);
    const Compiler compiler = find_compiler();
    return compiler.path + "," + compiler.version;
  };
  CHECK(found_with(std::nullopt) == at + "/c++,c++ --version");
  CHECK(found_with("") == at + "/c++,c++ --version");
  CHECK(found_with("mine") == at + "/mine,mine --version");
  CHECK(found_with(at + "/mine") == at + "/mine,mine --version");
  CHECK(found_with("broken") == ",");
  CHECK(found_with("absent") == ",");
  CHECK(found_with(at + "/absent") == ",");
}

TEST_CASE("a share is never more than all, nor of what is no number", "[provision]") {
  CHECK(build_fraction("[13/12] x") == 1.0);
  CHECK(build_fraction("[200%] x") == 1.0);
  CHECK(build_fraction("[0/12] x") == 0.0);
  CHECK(build_fraction("[  1/2] x") == 0.5);
  for (const char* line : {"3/12", "", "[   ", "[x/2]", "[3 12]", "[3/", "[3/x]", "[3/-2]"}) {
    CAPTURE(line);
    CHECK(build_fraction(line) == -1);
  }
}
