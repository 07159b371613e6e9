#include "matrix/verdict/loaded_libraries.hpp"

#include "ci/catch.hpp"
#include "matrix/verdict/judge.hpp"
#include "matrix/verdict/sample_run.hpp"

namespace reprobench {
namespace {

using Texts = std::vector<std::string>;

const InstalledLibraries kInstalled{{{"site/torch/lib/libtorch_cpu.so", "29", ""},
                                     {"site/torch/lib/libc10.so", "c1", ""},
                                     {"site/nvidia/cuda_cupti/lib/libpcsamplingutil.so", "", "hash"}},
                                    {}};

Fingerprint loaded(std::vector<MappedLibrary> more = {}, const std::string& torch = "29") {
  Fingerprint fingerprint;
  fingerprint.libraries = {{"site/torch/lib/libtorch_cpu.so", torch}, {"/usr/lib/x86_64-linux-gnu/libc.so.6", "cc"}};
  fingerprint.libraries.insert(fingerprint.libraries.end(), more.begin(), more.end());
  return fingerprint;
}

Texts wrong(std::vector<MappedLibrary> more) { return wrong_libraries(kInstalled, loaded(std::move(more))); }

TEST_CASE("what is installed, of the host or of the driver may be loaded", "[verdict]") {
  CHECK(wrong({}).empty());
  CHECK(wrong({{"site/torch/lib/libc10.so", "c1"},
               {"site/nvidia/cuda_cupti/lib/libpcsamplingutil.so", ""},
               {"/usr/lib/x86_64-linux-gnu/openblas-pthread/libblas.so.3", "b"},
               {"/lib64/libm.so.6", ""},
               {"/opt/driver/libcuda.so.570.1", "d"},
               {"/opt/driver/libnvidia-ptxjitcompiler.so.570.1", "d"}})
            .empty());
}

TEST_CASE("a library with another build id is named with both", "[verdict]") {
  CHECK(wrong({{"site/torch/lib/libc10.so", "c2"}}) ==
        Texts{"site/torch/lib/libc10.so was loaded with build id c2, installed is one with build id c1"});
  CHECK(wrong({{"site/torch/lib/libc10.so", ""}}) ==
        Texts{"site/torch/lib/libc10.so was loaded without a build id, installed is one with build id c1"});
  CHECK(wrong({{"site/nvidia/cuda_cupti/lib/libpcsamplingutil.so", "d"}}).size() == 1);
}

TEST_CASE("a library from elsewhere is named with the one that is installed, equal or not", "[verdict]") {
  CHECK(wrong({{"/old/site/torch/lib/libc10.so", "c1"}}) ==
        Texts{"/old/site/torch/lib/libc10.so was loaded with build id c1; site/torch/lib/libc10.so with build id c1 is "
              "installed"});
  CHECK(wrong({{"/usr/lib/x86_64-linux-gnu/libcudnn.so.9", "9"}}) ==
        Texts{"/usr/lib/x86_64-linux-gnu/libcudnn.so.9 was loaded with build id 9; the stack has no such library"});
  CHECK(wrong({{"site/torch/lib/libadded.so", ""}}).size() == 1);
  CHECK(wrong({{"/tmp/slow.so", "5"}}) ==
        Texts{"/tmp/slow.so was loaded with build id 5; the stack has no such library"});
  CHECK(wrong({{"site/torch/lib/libc10.so (deleted)", "c1"}}).size() == 1);
}

TEST_CASE("a stack of the system may load from its folders, and its torch by its name alone", "[verdict]") {
  const InstalledLibraries adopted{{{"libtorch_cpu.so", "29", ""}}, {"/opt/venv/torch/lib", "/opt/mkl/"}};
  const auto of = [&](std::vector<MappedLibrary> libraries) {
    Fingerprint fingerprint;
    fingerprint.libraries = std::move(libraries);
    return wrong_libraries(adopted, fingerprint);
  };
  const MappedLibrary torch{"/opt/venv/torch/lib/libtorch_cpu.so", "29"};
  CHECK(of({torch, {"/opt/venv/torch/lib/libgomp.so.1", "6"}, {"/opt/mkl/libiomp5.so", "7"}}).empty());
  CHECK(of({torch, {"/opt/venv/torch/library/libgomp.so.1", "6"}}).size() == 1);
  CHECK(of({{"/opt/venv/torch/lib/libtorch_cpu.so", "28"}}).size() == 1);
}

TEST_CASE("a preloaded library and an auditor are named, wherever they lie", "[verdict]") {
  Fingerprint fingerprint = loaded();
  fingerprint.environment["LD_PRELOAD"] = "/usr/lib/libmine.so";
  CHECK(wrong_libraries(kInstalled, fingerprint) ==
        Texts{"LD_PRELOAD brought /usr/lib/libmine.so into the worker, which is not of its stack"});
  fingerprint.environment = {{"/etc/ld.so.preload", "/usr/lib/slow.so"}};
  CHECK(wrong_libraries(kInstalled, fingerprint) ==
        Texts{"/etc/ld.so.preload brought /usr/lib/slow.so into the worker, which is not of its stack"});
  fingerprint.environment = {{"LD_AUDIT", "/usr/lib/audit.so"}, {"LD_PRELOAD", ""}};
  CHECK(wrong_libraries(kInstalled, fingerprint).size() == 1);
}

TEST_CASE("of several the torch is told first", "[verdict]") {
  Fingerprint fingerprint = loaded({}, "28");
  fingerprint.libraries.insert(fingerprint.libraries.begin(), {"site/torch/lib/libc10.so", "c2"});
  const Texts sentences = wrong_libraries(kInstalled, fingerprint);
  REQUIRE(sentences.size() == 2);
  CHECK(sentences[0].starts_with("site/torch/lib/libtorch_cpu.so was loaded with build id 28"));
}

TEST_CASE("a worker that does not tell its torch is not known", "[verdict]") {
  CHECK(wrong_libraries(kInstalled, Fingerprint{}) == Texts{"not known which libtorch_cpu.so was loaded"});
}

// Both cells pass, and their stacks are installed with the libraries that they loaded.
RunRecord installed_run() {
  RunRecord run = sample::run(
      2, 1.0, {sample::threshold("numerics.repeat_mismatches", Bound::Kind::max, 0, /*vs_reference=*/false)});
  run.plan.cells[0].cell.thresholds = run.plan.cells[1].cell.thresholds;
  run.plan.declared = {{"stack-a", {{"torch", "2.8.0"}}}, {"stack-b", {{"torch", "2.9.0"}}}};
  run.plan.installed = {{"stack-a", {{{"site/torch/lib/libtorch_cpu.so", "28", ""}}, {}}}, {"stack-b", kInstalled}};
  for (std::size_t cell = 0; cell < 2; ++cell) {
    for (AttemptRecord& attempt : run.cells[cell].attempts) {
      attempt.lead().result->fingerprint = loaded({}, cell == 0 ? "28" : "29");
      attempt.lead().result->fingerprint.components = {{"torch", "", cell == 0 ? "2.8.0" : "2.9.0", ""}};
    }
  }
  return run;
}

Fingerprint& last_loaded(RunRecord& run) { return sample::candidate(run).attempts.back().lead().result->fingerprint; }

TEST_CASE("stacks that loaded what is installed of them qualify", "[verdict]") {
  const RunVerdict verdict = judge(installed_run());
  CHECK(verdict.word == "passed");
  for (const StackEnvironment& environment : verdict.environments) CHECK(environment.findings.empty());
}

TEST_CASE("one attempt that loaded another library leaves the run undecided, and says so as a finding", "[verdict]") {
  RunRecord run = installed_run();
  last_loaded(run).libraries[0].build_id = "28";
  const RunVerdict verdict = judge(run);
  const std::string sentence =
      "site/torch/lib/libtorch_cpu.so was loaded with build id 28, installed is one with build id 29";
  CHECK(sample::candidate(verdict).outcome == Outcome::inconclusive);
  CHECK(sample::candidate(verdict).reason == "wrong_libraries");
  CHECK(sample::candidate(verdict).sentence == sentence);
  CHECK(verdict.exit_code == ExitCode::undecided);
  CHECK(verdict.environments.at(1).findings == Texts{sentence});
  CHECK(verdict.environments.at(0).findings.empty());
}

TEST_CASE("a rank or a later process that loaded another library counts as the first does", "[verdict]") {
  RunRecord run = installed_run();
  AttemptRecord& attempt = sample::candidate(run).attempts.front();
  RankRecord other = attempt.lead();
  other.result->fingerprint.libraries[0].build_id = "30";
  attempt.segments.push_back({AttemptSegment::resumed, {other}});
  CHECK(sample::candidate(judge(run)).reason == "wrong_libraries");
}

TEST_CASE("a check that fails stays failed, whatever was loaded", "[verdict]") {
  RunRecord run = installed_run();
  last_loaded(run).libraries.clear();
  CHECK(sample::candidate(judge(run)).sentence == "not known which libtorch_cpu.so was loaded");
  auto& broken = sample::candidate(run).attempts.back();
  const Fingerprint kept = broken.lead().result->fingerprint;
  broken = sample::attempt(broken.repeat, 300'000, "other");
  broken.lead().result->fingerprint = kept;
  CHECK(sample::candidate(judge(run)).outcome == Outcome::failed);
}

TEST_CASE("nothing is asked of a stack that was not installed where the run was made", "[verdict]") {
  RunRecord run = installed_run();
  run.plan.installed.clear();
  last_loaded(run).libraries.clear();
  CHECK(judge(run).word == "passed");
}

TEST_CASE("in a merged run a cell is held against what its own host had", "[verdict]") {
  RunRecord run = installed_run();
  for (PlannedCell& planned : run.plan.cells) planned.cell.coordinates["host"] = "b";
  run.plan.installed = {{"stack-a@b", run.plan.installed["stack-a"]},
                        {"stack-b@a", run.plan.installed["stack-a"]},
                        {"stack-b@b", kInstalled}};
  CHECK(judge(run).word == "passed");
  run.plan.installed["stack-b@b"].libraries[0].build_id = "31";
  CHECK(sample::candidate(judge(run)).reason == "wrong_libraries");
}

TEST_CASE("two stacks that loaded one torch are not compared with each other", "[verdict]") {
  RunRecord run = installed_run();
  run.plan.installed.clear();
  for (AttemptRecord& attempt : sample::candidate(run).attempts) {
    attempt.lead().result->fingerprint.libraries[0].build_id = "28";
  }
  SECTION("of two releases") {
    for (AttemptRecord& attempt : sample::candidate(run).attempts) {
      attempt.lead().result->fingerprint.libraries.push_back({"site/nvidia/cudnn/lib/libcudnn.so.9", "9"});
    }
    const RunVerdict verdict = judge(run);
    CHECK(sample::candidate(verdict).reason == "same_libraries");
    CHECK(sample::candidate(verdict).sentence ==
          "both stacks loaded the same libtorch_cpu.so, build id 28: one torch is compared with itself");
    CHECK(verdict.cells[0].outcome == Outcome::passed);
    CHECK(verdict.exit_code == ExitCode::undecided);
  }
  SECTION("of one release, under two names") {
    run.plan.declared["stack-b"] = run.plan.declared["stack-a"];
    CHECK(sample::candidate(judge(run)).reason == "same_libraries");
  }
  SECTION("of one release, with another cuDNN beside it") {
    run.plan.declared["stack-b"] = run.plan.declared["stack-a"];
    for (AttemptRecord& attempt : sample::candidate(run).attempts) {
      attempt.lead().result->fingerprint.libraries.push_back({"site/nvidia/cudnn/lib/libcudnn.so.9", "9"});
    }
    CHECK(sample::candidate(judge(run)).outcome == Outcome::passed);
  }
  SECTION("a reference of the same stack, as on another device, is the same torch by intent") {
    run.plan.cells[0].cell.request.stack = "stack-b";
    CHECK(sample::candidate(judge(run)).outcome == Outcome::passed);
  }
}

}  // namespace
}  // namespace reprobench
