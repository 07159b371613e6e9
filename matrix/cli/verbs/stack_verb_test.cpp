// `stack` and `doctor` on a small project with stacks that are installed by a stroke of the pen.
#include <sys/stat.h>

#include "ci/catch.hpp"
#include "ci/thrown.hpp"
#include "matrix/cli/doctor/preflight.hpp"
#include "matrix/cli/verbs/verb_fixture.hpp"
#include "matrix/exec/python.hpp"
#include "matrix/exec/subprocess.hpp"
#include "matrix/host/cpu_limits.hpp"
#include "matrix/host/detect_host.hpp"

namespace reprobench {
namespace {

using Catch::Contains;
using nlohmann::json;
using Texts = std::vector<std::string>;

Said stack(const SmallProject& project, const Texts& words) { return said_by(&declare_stack, project.store(), words); }

const char* const kNowhere =
    "schema: 1\nname: nowhere\nsummary: s\nsource: system\ncomponents: {torch: \"1.0\"}\ncxx11_abi: 1\n"
    "cxx_standard: 17\nsystem: {package: libno, package_version: \"1.0\", include_dirs: [/no], library_dirs: [/no]}\n";
constexpr const char* kNoPackage = "libno 1.0 is not installed; no torch/version.h in /no";

TEST_CASE("stacks are listed with their state, and why one cannot be had", "[cli]") {
  const SmallProject project;
  project.add_stack("nowhere", kNowhere);
  project.add_stack("third", small_stack("third", "2.7.0"));
  project.install("new", small_capability());
  project.install("old", small_capability(), /*with_worker=*/false);
  const Said said = stack(project, {"list"});
  CHECK(said.code == ExitCode::passed);
  CHECK(said.err.empty());
  CHECK(said.out ==
        "new                      installed        cuda 12.8 torch 2.9.0+cu128\n"
        "nowhere                  unavailable      torch 1.0\n"
        "                         libno 1.0 is not installed; no torch/version.h in /no\n"
        "old                      worker not built cuda 12.8 torch 2.8.0+cu128\n"
        "third                    not installed    cuda 12.8 torch 2.7.0+cu128\n");
  const json listed = json::parse(stack(project, {"list", "--json"}).out).at("stacks");
  REQUIRE(listed.size() == 4);
  CHECK(listed.at(0).at("state") == "installed");
  CHECK(listed.at(0).at("size_bytes") > 1000);  // its worker is a file, too
  CHECK(listed.at(1).at("problem") == kNoPackage);
  CHECK(listed.at(2).at("size_bytes") == 1000);
  CHECK(listed.at(3).at("size_bytes") == 0);
  CHECK(listed.at(3).at("digest").get<std::string>().size() == 12);
}

TEST_CASE("a stack file that cannot be read is left out of the list, by name", "[cli]") {
  const SmallProject project;
  project.add_stack("bad", "schema: [");
  const Said said = stack(project, {"list"});
  CHECK_THAT(said.err, Catch::StartsWith("bad: left out: ") && Contains("bad.yaml"));
  CHECK_THAT(said.out, !Contains("bad"));
  CHECK_THROWS_AS(stack(project, {"show", "bad"}), SpecError);
  CHECK_THROWS_AS(stack(project, {"verify", "--all"}), SpecError);
}

TEST_CASE("#41: a stack whose lock is gone, or is no file, is left out by name and stops no other", "[cli]") {
  const SmallProject project;
  const auto lock = project.root() / "matrix/stacks/old.lock";
  std::filesystem::remove(lock);
  const std::string matrix = written_file(
      project / "one.yaml", "schema: 1\nname: one\nsuites: [short]\naxes: {stack: [new], device: [cpu]}\n");
  SECTION("gone") {}
  SECTION("a pipe") { REQUIRE(mkfifo(lock.c_str(), 0600) == 0); }
  SECTION("far too large") {
    written_file(lock, "");
    std::filesystem::resize_file(lock, std::uintmax_t{10} << 30);
  }
  const Said said = stack(project, {"list"});
  CHECK_THAT(said.err, Catch::StartsWith("old: left out: ") && Contains("old.lock cannot be read: "));
  CHECK_THAT(said.out, Contains("new ") && !Contains("old "));
  CHECK(said_by(&declare_plan, project.store(), {"--matrix", matrix}).code == ExitCode::passed);
  CHECK_THROWS_WITH(stack(project, {"install", "old"}), Contains("old.lock cannot be read: "));
}

TEST_CASE("#41: a stack whose manifest is damaged counts as not installed and stops no other", "[cli]") {
  const SmallProject project;
  project.install("new", small_capability());
  const InstalledStack old = project.install("old", small_capability());
  const std::string depth(100'000, '[');
  const std::string damage = GENERATE_COPY(std::string("{"), std::string(""), depth);
  written_file(old.folder / "stack.json", damage);
  const Said said = stack(project, {"list"});
  CHECK(said.code == ExitCode::passed);
  CHECK_THAT(said.out,
             Contains("new                      installed") && Contains("old                      not installed"));
}

TEST_CASE("#41: libraries of a folder that a stack file names are loaded only where one says so", "[cli]") {
  const SmallProject project;
  const std::string folder = (project / "theirs").string();
  written_file(project / "theirs/torch/version.h",
               "#define TORCH_VERSION_MAJOR 1\n#define TORCH_VERSION_MINOR 0\n#define TORCH_VERSION_PATCH 0\n");
  for (const char* library : {"libtorch_cpu.so", "libc10.so", "libtorch.so"}) {
    written_file(project / "theirs" / library, "");
  }
  project.add_stack("theirs", fmt::format("schema: 1\nname: theirs\nsource: system\ncomponents: {{torch: \"1.0.0\"}}\n"
                                          "cxx11_abi: 1\ncxx_standard: 17\nsystem: {{package: libno, package_version: "
                                          "\"1.0.0\", include_dirs: [{0}], library_dirs: [{0}]}}\n",
                                          folder));
  CHECK_THROWS_WITH(stack(project, {"install", "theirs"}),
                    Contains("not installed: ") && Contains("names " + folder + ", whose libraries would run") &&
                        Contains("--trust"));
}

TEST_CASE("an installed stack is shown by what its worker loads, as text and as a document", "[cli]") {
  const SmallProject project;
  const InstalledStack installed = project.install("new", small_capability());
  CHECK(stack(project, {"show", "new"}).out ==
        "new  " + installed.folder.string() +
            "\n  component  declared         compiled         loaded                 from\n"
            "  torch      2.9.0+cu128      2.9.0+cu128      2.9.0                  /stack/libtorch.so\n"
            "  BLAS mkl, CPU capability AVX2, C++ ABI 1, worker built by g++ 12\n");
  CHECK(json::parse(stack(project, {"show", "new", "--json"}).out) == to_json(small_capability()));
  CHECK_THROWS_WITH(stack(project, {"show", "new", "old", "--json"}), "--json shows one stack: name one");
  CHECK_THROWS_WITH(stack(project, {"show", "old"}), "old is not installed; run `reprobench stack install old`");
  project.install("old", small_capability(), /*with_worker=*/false);
  CHECK_THROWS_WITH(stack(project, {"show", "old"}), "old is not installed; run `reprobench stack install old`");
}

TEST_CASE("stacks are named one by one, by a matrix, or all of them", "[cli]") {
  const SmallProject project;
  for (const char* name : {"new", "old"}) project.install(name, small_capability(name[0] == 'n' ? "2.9.0" : "2.8.0"));
  const auto removed = [&](const Texts& words) {
    Texts all{"verify"};
    all.insert(all.end(), words.begin(), words.end());
    return stack(project, all).out;
  };
  CHECK(removed({"old"}) == "old: OK\n");
  CHECK(removed({"old", "new"}) == "old: OK\nnew: OK\n");
  CHECK(removed({"--matrix", project.matrix()}) == "new: OK\nold: OK\n");
  CHECK(removed({"--all"}) == "new: OK\nold: OK\n");
  CHECK_THROWS_WITH(removed({}),
                    "name at least one stack, or --matrix FILE, or --all; `reprobench stack list` shows them");
  CHECK_THROWS_WITH(removed({"nwe"}), "there is no stack `nwe`; did you mean `new`?");
}

TEST_CASE("a stack that is not as declared does not verify, and the others are told all the same", "[cli]") {
  const SmallProject project;
  project.install("new", small_capability("2.6.0"));
  project.install("old", small_capability("2.8.0"));
  const Said said = stack(project, {"verify", "new", "old"});
  CHECK(said.code == ExitCode::failed);
  CHECK_THAT(said.out, Catch::StartsWith("new: FAIL torch: declared 2.9.0+cu128") && Catch::EndsWith("\nold: OK\n") &&
                           !Contains("new: OK"));
  CHECK(stack(project, {"verify", "old"}).code == ExitCode::passed);
  CHECK(stack(project, {"verify", "old", "new"}).code == ExitCode::failed);
}

TEST_CASE("a stack that is not installed does not verify, and is left out of all", "[cli]") {
  const SmallProject project;
  project.install("new", small_capability());
  CHECK_THROWS_WITH(stack(project, {"verify", "old"}), "old is not installed; run `reprobench stack install old`");
  const Said said = stack(project, {"verify", "--all"});
  CHECK(said.out == "new: OK\nold: not installed\n");
  CHECK(said.code == ExitCode::passed);
}

TEST_CASE("a stack that is removed is gone", "[cli]") {
  const SmallProject project;
  const InstalledStack installed = project.install("new", small_capability());
  CHECK(stack(project, {"remove", "new"}).out == "new: removed\n");
  CHECK_FALSE(std::filesystem::exists(installed.folder));
  CHECK(stack(project, {"remove", "new"}).out == "new: not installed, nothing to remove\n");
  CHECK_THAT(stack(project, {"list"}).out, Catch::StartsWith("new                      not installed "));
}

TEST_CASE("what is installed is not installed again, and what cannot be had here is left out", "[cli]") {
  const SmallProject project;
  project.add_stack("nowhere", kNowhere);
  project.install("new", small_capability());
  const Said said = stack(project, {"install", "nowhere", "new"});
  CHECK(said.code == ExitCode::passed);
  CHECK_THAT(said.out, Contains(std::string("nowhere: left out: ") + kNoPackage + "\n"));
  CHECK_THAT(said.out, Catch::Matches("[\\s\\S]*new: installed, 0\\.00 GB, [0-9.]+s\n[\\s\\S]*"));
}

TEST_CASE("installations that fail are named together, after those that could be had", "[cli]") {
  const SmallProject project;
  project.install("new", small_capability());
  project.add_stack("third", small_stack("third", "2.7.0"));
  for (const char* name : {"old", "third"}) project.install(name, small_capability(), /*with_worker=*/false);
  const TemporaryVariable no_compiler("CXX", "/no/compiler");
  CHECK(message_of<ProvisionError>([&] {
          stack(project, {"install", "third", "old", "new"});
        }) ==
        "third: no C++ compiler was found to build the worker; install g++ or set CXX\n"
        "old: no C++ compiler was found to build the worker; install g++ or set CXX");
}

// A project beside a `python3` that has every module, which is asked at once.
struct PreflightPlace : SmallProject {
  std::string python = written_file(*this / "bin/python3", "#!/bin/sh\n", /*is_program=*/true).string();
  TemporaryVariable setting{"REPROBENCH_PYTHON", python};
};

std::string line_of(const PreflightLines& lines, const std::string& check) {
  for (const PreflightLine& line : lines) {
    if (line.check == check) return fmt::format("{}: {} -> {}", to_string(line.finding), line.detail, line.remedy);
  }
  return "no such line";
}

TEST_CASE("a preflight says of each stack whether its cells run, and what to do if not", "[cli]") {
  const PreflightPlace project;
  const auto look = [&](const std::string& check) { return line_of(preflight(project.project()), check); };
  project.add_stack("nowhere", kNowhere);
  CHECK(look("nowhere") == std::string("WARN: ") + kNoPackage + " -> its cells will be skipped");
  CHECK(look("new") == "WARN: not installed -> reprobench stack install new");
  project.install("new", small_capability(), /*with_worker=*/false);
  CHECK(look("new") == "WARN: worker not built for these sources -> reprobench stack install new");
  project.install("new", small_capability());
  CHECK(look("new") == "OK: torch 2.9.0, BLAS mkl -> ");
  Capability other = small_capability();
  other.fingerprint.cxx11_abi = 0;
  project.install("new", other);
  CHECK(look("new") == "FAIL: C++ ABI: declared 1, the worker was compiled with 0 -> reprobench stack verify new");
  other.fingerprint.cxx11_abi = 1;
  other.fingerprint.blas_provider = "netlib";
  project.install("new", other);
  CHECK(
      look("new") ==
      "WARN: its BLAS is netlib's reference code, 30 to 60 times slower than an optimised one -> install libopenblas0; "
      "until then its throughput is not judged");
  project.add_stack("bad", "schema: [");
  CHECK_THAT(look("bad"),
             Catch::StartsWith("FAIL: ") && Catch::EndsWith(" -> repair the file; only what names this stack stops"));
}

std::string text_of(const PreflightLine& line) { return line_of({line}, line.check); }

TEST_CASE("a preflight looks at host, memory, store and tools", "[cli]") {
  const PreflightPlace project;
  const PreflightLines lines = preflight(project.project());
  const HostFacts host = detect_host();
  CHECK(lines.front().check == "cpu");
  CHECK(text_of(lines.front()) == text_of(cpu_line(host, set_cpu_limits())));
  CHECK(line_of(lines, "host") ==
        fmt::format("OK: {}, kernel {}, glibc {}, {} cores -> ", host.os, host.kernel, host.glibc, host.cores));
  CHECK_THAT(line_of(lines, "memory"),
             Contains(fmt::format("{:.1f} GB", static_cast<double>(host.memory_bytes) / 1e9)));
  CHECK_THAT(line_of(lines, "store"), Contains(project.store().string() + ", ") && Contains(" GB free"));
  for (const char* tool : {"c++", "cmake", "ninja"}) {
    CHECK(line_of(lines, tool) == "OK: " + find_in_path(tool) + " -> ");
  }
  for (const char* module : {"python pip", "python jinja2"}) {
    CHECK(line_of(lines, module) == "OK: " + project.python + " -> ");
  }
}

TEST_CASE("the CPU's line names it and its vector instructions, and warns of what caps them", "[cli]") {
  HostFacts host;
  host.cpu_model = "Some CPU";
  CHECK(text_of(cpu_line(host, {})) == "OK: Some CPU: no avx2 -> ");
  host.cpu_revision = "family 6, model 143, microcode 0x2b";
  host.cpu_isa = {"avx2", "avx512"};
  CHECK(text_of(cpu_line(host, {})) == "OK: Some CPU (family 6, model 143, microcode 0x2b): avx2 avx512 -> ");
  CHECK(text_of(cpu_line(host, {{"ATEN_CPU_CAPABILITY", "avx2"}, {"MKL_ENABLE_INSTRUCTIONS", "AVX2"}})) ==
        "WARN: Some CPU (family 6, model 143, microcode 0x2b): avx2 avx512; "
        "ATEN_CPU_CAPABILITY=avx2 MKL_ENABLE_INSTRUCTIONS=AVX2 reaches no worker -> "
        "the knob cpu_isa caps a training, ci/cpu_classes.sh a whole host");
  host.cpu_isa = {"avx2"};
  host.cpu_limits = {{"ATEN_CPU_CAPABILITY", "avx2"}, {kCpuClass, "avx2"}};
  CHECK(text_of(cpu_line(host, {{"ATEN_CPU_CAPABILITY", "avx2"}})) ==
        "WARN: Some CPU (family 6, model 143, microcode 0x2b): avx2; workers are held to that by "
        "ATEN_CPU_CAPABILITY=avx2 REPROBENCH_CPU_CLASS=avx2 -> "
        "unset REPROBENCH_CPU_CLASS to measure what this CPU does");
}

TEST_CASE("little memory or room and a governor that changes the clock are warned of", "[cli]") {
  CHECK(text_of(memory_line(3'999'999'999)) == "WARN: 4.0 GB -> building a worker needs about 3 GB");
  CHECK(text_of(memory_line(4'000'000'000)) == "OK: 4.0 GB -> ");
  CHECK(text_of(store_line("/s", 7'900'000'000)) ==
        "WARN: /s, 8 GB free -> the stacks of matrix/v2.9.yaml take about 7 GB with their wheels");
  CHECK(text_of(store_line("/s", 8'000'000'000)) == "OK: /s, 8 GB free -> ");
  CHECK(text_of(governor_line("performance")) == "OK: governor performance -> ");
  CHECK(text_of(governor_line("powersave")) ==
        "WARN: governor powersave -> timings are noisier; the governor `performance` steadies them");
}

TEST_CASE("tools that are missing fail, with the remedy", "[cli]") {
  const SmallProject project;
  const TemporaryVariable path("PATH", (project / "nothing").string());
  const TemporaryVariable python("REPROBENCH_PYTHON", "/no/python");
  const PreflightLines lines = preflight(project.project());
  for (const char* tool : {"c++", "cmake", "ninja"}) {
    CHECK(line_of(lines, tool) ==
          "FAIL: not on PATH -> stacks cannot be installed without it; ci/quickstart.sh installs it");
  }
  if (find_python_with("pip").empty()) {
    CHECK(line_of(lines, "python pip") == "FAIL: no python3 has it -> install python3-pip, or set REPROBENCH_PYTHON");
  }
}

TEST_CASE("doctor is the preflight in columns, and fails where a line of it does", "[cli]") {
  const PreflightPlace project;
  const auto doctor = [&](const Texts& words) { return said_by(&declare_doctor, project.store(), words); };
  const Said as_json = doctor({"--json"});
  const json lines = json::parse(as_json.out).at("lines");
  const bool fails =
      std::any_of(lines.begin(), lines.end(), [](const json& line) { return line.at("finding") == "FAIL"; });
  CHECK(as_json.code == (fails ? ExitCode::failed : ExitCode::passed));
  CHECK_THAT(doctor({}).out, Contains("\nWARN new                    not installed\n"
                                      "                            reprobench stack install new\n"));
  project.add_stack("bad", "schema: [");
  CHECK(doctor({"--json"}).code == ExitCode::failed);
  CHECK(doctor({}).code == ExitCode::failed);
  CHECK_THAT(doctor({}).out, Contains("\nFAIL bad                    "));
}

}  // namespace
}  // namespace reprobench
