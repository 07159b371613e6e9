#include "matrix/provision/stack_store.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "ci/catch.hpp"
#include "matrix/provision/adopted_stack.hpp"
#include "matrix/provision/environment_fixture.hpp"

using namespace reprobench;
using namespace reprobench::test;

namespace {

constexpr const char* kWheelFile = "torch-9.9.9-cp312-cp312-manylinux_2_28_x86_64.whl";
const ProgressSink kNoProgress;
constexpr timespec kMoment{.tv_sec = 0, .tv_nsec = 100'000'000};

// The parts have nothing to compile: the program is one source.
const std::string kWorkerProject =
    "cmake_minimum_required(VERSION 3.24)\nproject(worker LANGUAGES CXX)\n"
    "add_executable(reprobench-worker main.cpp)\n"
    "foreach(part worker_layers worker_torch)\n  add_custom_target(${part})\nendforeach()\n";

// A complete stack in miniature: an index with one small wheel, its stack file and lock, and sources of a worker that
// prints a fixed description.
class SmallStack {
 public:
  SmallStack() : find_links_("PIP_FIND_LINKS", (folder_.path / "index").string()), no_index_("PIP_NO_INDEX", "1") {
    const std::filesystem::path wheel = folder_.path / "index" / kWheelFile;
    write_wheel(wheel, "torch", "9.9.9",
                {{"torch/lib/libtorch_cpu.so", "cpu library"},
                 {"torch/lib/libtorch_cuda.so", "cuda library"},
                 {"torch/include/torch/version.h", "#define TORCH_VERSION_MAJOR 9\n"},
                 {"torch/nn/linear.py", "not for C++"}});
    write_file(folder_.path / "stacks/small.lock",
               fmt::format("torch==9.9.9 --hash=sha256:{}  # {} {} bytes\n", sha256_of_file(wheel), kWheelFile,
                           std::filesystem::file_size(wheel)));
    spec_.name = "small";
    spec_.text = "name: small";
    spec_.components = {{"torch", "9.9.9+cpu"}};
    spec_.python = "3.12";
    spec_.lock_path = (folder_.path / "stacks/small.lock").string();
    spec_.cpu_wheels = {"torch"};
    write_file(source_root() / "suites/worker/CMakeLists.txt",
               kWorkerProject +
                   "list(TRANSFORM REPROBENCH_TORCH_LIBRARY_DIRS PREPEND -Wl,-rpath,)\n"
                   "target_link_options(reprobench-worker PRIVATE ${REPROBENCH_TORCH_LIBRARY_DIRS})\n");
    Capability capability;
    capability.torch_version = "9.9.9";
    write_worker("std::puts(R\"json(" + to_json(capability).dump() + ")json\");");
  }

  void write_worker(const std::string& statement) const {
    write_file(source_root() / "suites/worker/main.cpp",
               "#include <cstdio>\n#include <cstdlib>\nint main() { " + statement + " }\n");
  }
  std::filesystem::path home() const { return folder_.path / "home"; }
  std::filesystem::path source_root() const { return folder_.path / "source"; }
  std::filesystem::path published() const { return folder_.path / "index" / kWheelFile; }
  const StackSpec& spec() const { return spec_; }
  StackStore store() const { return StackStore(home(), source_root(), kShepherd); }

 private:
  TemporaryFolder folder_;
  TemporaryVariable find_links_;
  TemporaryVariable no_index_;
  StackSpec spec_;
};

// Everything an unfinished installation could leave that counts or takes space; downloads, locks and logs may stay.
std::vector<std::string> remains(const SmallStack& small) {
  std::vector<std::string> names = names_below(small.home() / "staging");
  if (std::filesystem::exists(small.home())) {
    for (const auto& entry : std::filesystem::directory_iterator(small.home())) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("small-")) names.push_back(name);
    }
  }
  return names;
}

// Whether a process of this host has these two words as its command.
bool is_running(const std::string& program, const std::string& argument) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    if (read_file(entry.path() / "cmdline") == program + '\0' + argument + '\0') return true;
  }
  return false;
}

}  // namespace

TEST_CASE("a stack is installed with its CPU part and a worker that describes itself", "[provision][process]") {
  const SmallStack small;
  StackStore store = small.store();
  CHECK_FALSE(store.find(small.spec()).complete);

  const InstalledStack stack = store.install(small.spec(), false, kNoProgress);
  CHECK(stack.complete);
  CHECK(stack.folder == small.home() / ("small-" + stack.digest));
  CHECK(read_file(stack.folder / "site/torch/lib/libtorch_cpu.so") == "cpu library");
  CHECK_FALSE(std::filesystem::exists(stack.folder / "site/torch/lib/libtorch_cuda.so"));
  CHECK_FALSE(std::filesystem::exists(stack.folder / "site/torch/nn"));
  CHECK(std::filesystem::exists(stack.worker));
  CHECK(store.describe(stack).torch_version == "9.9.9");
  CHECK(store.verify(stack).empty());
  CHECK(names_below(small.home() / "staging").empty());
}

TEST_CASE("a hybrid is installed of two stacks, with the worker of the one that it has its torch of",
          "[provision][process]") {
  const SmallStack small;
  StackStore store = small.store();
  const InstalledStack base = store.install(small.spec(), false, kNoProgress);
  StackSpec other = small.spec();
  other.name = "other";
  other.text = "name: other";
  const InstalledStack of_torch = store.install(other, false, kNoProgress);
  StackSpec spec = small.spec();
  spec.name = "mixed";
  spec.text = "name: mixed";
  spec.source = StackSource::hybrid;
  spec.base = base.folder.filename();
  spec.parts = {{"torch", of_torch.folder.filename()}};
  const InstalledStack mixed = store.install(spec, false, kNoProgress);
  CHECK(mixed.complete);
  CHECK(mixed.worker.parent_path().parent_path().parent_path() == mixed.folder);
  CHECK_FALSE(std::filesystem::exists(small.home() / "logs/mixed-worker.log"));  // nothing was compiled
  CHECK(linked_site(mixed.worker) == mixed.folder / "site/torch/lib");
  CHECK(linked_site(of_torch.worker) == of_torch.folder / "site/torch/lib");  // it kept its own
  CHECK(std::filesystem::equivalent(mixed.folder / "site/torch/lib/libtorch_cpu.so",
                                    of_torch.folder / "site/torch/lib/libtorch_cpu.so"));
  CHECK(store.describe(mixed).torch_version == "9.9.9");
  CHECK(store.verify(mixed).empty());
  CHECK(store.check(mixed).installed.libraries.size() == 1);
  CHECK(store.environment(mixed).empty());
  // A hybrid outlives the stacks that it was made of.
  store.remove(of_torch);
  CHECK(store.verify(mixed).empty());
  store.remove(mixed);
  CHECK_THROWS_WITH(store.install(spec, false, kNoProgress), ContainsSubstring("no stack is installed in"));
  CHECK_FALSE(store.find(spec).complete);
}

TEST_CASE("a hybrid whose torch has no worker gets one that is built", "[provision][process]") {
  const SmallStack small;
  StackStore store = small.store();
  const InstalledStack base = store.install(small.spec(), false, kNoProgress);
  std::filesystem::remove_all(base.folder / "workers");
  StackSpec spec = small.spec();
  spec.name = "mixed";
  spec.text = "name: mixed";
  spec.source = StackSource::hybrid;
  spec.base = base.folder.filename();
  spec.parts = {{"torch", base.folder.filename()}};
  CHECK_FALSE(store.install(spec, false, kNoProgress).worker.empty());
  CHECK(std::filesystem::exists(small.home() / "logs/mixed-worker.log"));
  CHECK_THROWS_WITH(store.install(spec, /*with_gpu=*/true, kNoProgress), ContainsSubstring("without their GPU part"));
}

TEST_CASE("a lock that cannot be written or held is named with the reason", "[provision]") {
  const SmallStack small;
  const std::string digest = small.store().find(small.spec()).digest;
  const std::filesystem::path lock = small.home() / "locks" / ("small-" + digest);
  std::filesystem::create_directories(lock);  // a folder where the file belongs
  CHECK_THROWS_WITH(small.store().install(small.spec(), false, kNoProgress),
                    lock.string() + ": cannot be written: Is a directory");
}

TEST_CASE("a second installation changes nothing and needs no index", "[provision][process]") {
  const SmallStack small;
  StackStore store = small.store();
  const InstalledStack first = store.install(small.spec(), false, kNoProgress);
  const auto written = std::filesystem::last_write_time(first.worker);
  std::filesystem::remove(small.published());
  std::filesystem::remove_all(small.home() / "downloads");
  std::vector<std::string> phases;
  const InstalledStack second = store.install(
      small.spec(), false, [&](const std::string&, const std::string& phase, double) { phases.push_back(phase); });
  CHECK(second.worker == first.worker);
  CHECK(std::filesystem::last_write_time(second.worker) == written);
  CHECK(phases.empty());
}

TEST_CASE("asking for the GPU part of a CPU installation brings it", "[provision][process]") {
  const SmallStack small;
  StackStore store = small.store();
  store.install(small.spec(), false, kNoProgress);
  const InstalledStack stack = store.install(small.spec(), true, kNoProgress);
  CHECK(read_file(stack.folder / "site/torch/lib/libtorch_cuda.so") == "cuda library");
  CHECK(store.install(small.spec(), false, kNoProgress).worker == stack.worker);
  CHECK(std::filesystem::exists(stack.folder / "site/torch/lib/libtorch_cuda.so"));
}

TEST_CASE("a CPU installation stays where its GPU part does not compile", "[provision][process]") {
  const SmallStack small;
  StackStore store = small.store();
  const InstalledStack stack = store.install(small.spec(), false, kNoProgress);
  small.write_worker("none;");
  CHECK_THROWS_AS(small.store().install(small.spec(), true, kNoProgress), ProvisionError);
  const InstalledStack kept = small.store().find(small.spec());
  CHECK(kept.complete);
  CHECK(std::filesystem::exists(stack.worker));
  CHECK(read_file(stack.folder / "site/torch/lib/libtorch_cpu.so") == "cpu library");
  CHECK_FALSE(std::filesystem::exists(stack.folder / "site/torch/lib/libtorch_cuda.so"));
  CHECK(names_below(small.home() / "staging").empty());
}

TEST_CASE("changed worker sources need a new worker, and the unpacked stack stays", "[provision][process]") {
  const SmallStack small;
  StackStore store = small.store();
  const InstalledStack first = store.install(small.spec(), false, kNoProgress);
  Capability capability;
  capability.torch_version = "9.9.9+new";
  small.write_worker("std::puts(R\"json(" + to_json(capability).dump() + ")json\");");
  StackStore later = small.store();
  CHECK(later.find(small.spec()).complete);
  CHECK(later.find(small.spec()).worker.empty());
  CHECK_THAT(message_of<ProvisionError>([&] { later.describe(later.find(small.spec())); }),
             ContainsSubstring("reprobench stack install small"));
  const InstalledStack second = later.install(small.spec(), false, kNoProgress);
  CHECK(second.worker != first.worker);
  CHECK(later.describe(second).torch_version == "9.9.9+new");
}

TEST_CASE("a worker that is built is found and used without any compiler", "[provision][process]") {
  const SmallStack small;
  const InstalledStack built = small.store().install(small.spec(), false, kNoProgress);
  const TemporaryFolder folder;
  write_file(folder.path / "c++", "#!/bin/sh\ntouch \"$0.started\"\n");
  std::filesystem::permissions(folder.path / "c++", std::filesystem::perms::owner_all);
  const TemporaryVariable chosen("CXX", (folder.path / "c++").string());
  const TemporaryVariable empty_path("PATH", folder.path.string());
  StackStore store = small.store();
  CHECK(store.find(small.spec()).worker == built.worker);
  CHECK(store.describe(store.find(small.spec())).torch_version == "9.9.9");
  CHECK(store.install(small.spec(), false, kNoProgress).worker == built.worker);
  CHECK_FALSE(std::filesystem::exists(folder.path / "c++.started"));
}

TEST_CASE("a worker that describes itself is told of the driver that only LD_LIBRARY_PATH finds",
          "[provision][process]") {
  const SmallStack small;
  const TemporaryFolder driver;
  Capability capability;
  capability.torch_version = "PATH";
  const std::string text = to_json(capability).dump();
  const std::size_t place = text.find("PATH");
  small.write_worker(
      fmt::format("const char* path = std::getenv(\"LD_LIBRARY_PATH\"); std::printf(\"%s%s%s\", "
                  "R\"json({})json\", path ? path : \"none\", R\"json({})json\");",
                  text.substr(0, place), text.substr(place + 4)));
  const TemporaryVariable path("LD_LIBRARY_PATH", "/nowhere:" + driver.path.string());
  StackStore store = small.store();
  const InstalledStack stack = store.install(small.spec(), false, kNoProgress);
  CHECK(store.describe(stack).torch_version == "none");
  write_file(driver.path / "libcuda.so.1",
             "\x7f"
             "ELF\x02");
  CHECK(store.describe(stack).torch_version == driver.path.string());
  InstalledStack of_system = stack;
  of_system.spec.source = StackSource::system;
  of_system.spec.library_dirs = {"/stack/lib"};
  CHECK(store.describe(of_system).torch_version == "/stack/lib:" + driver.path.string());
}

TEST_CASE("the sources of the worker are read once for all stacks", "[provision][process]") {
  const SmallStack small;
  StackStore store = small.store();
  const InstalledStack built = store.install(small.spec(), false, kNoProgress);
  small.write_worker("return 1;");
  CHECK(store.find(small.spec()).worker == built.worker);
}

TEST_CASE("a worker that does not compile shows the compiler's words and leaves nothing", "[provision][process]") {
  const SmallStack small;
  small.write_worker("this_is_no_function();");
  StackStore store = small.store();
  const std::string message = message_of<ProvisionError>([&] { store.install(small.spec(), false, kNoProgress); });
  CHECK_THAT(message, ContainsSubstring("the worker of small could not be built"));
  CHECK_THAT(message, ContainsSubstring("this_is_no_function"));
  CHECK_THAT(message, ContainsSubstring("full log: " + (small.home() / "logs/small-worker.log").string()));
  CHECK(remains(small).empty());
}

TEST_CASE("a worker that dies or speaks nonsense when asked is not installed", "[provision][process]") {
  const SmallStack small;
  StackStore store = small.store();
  small.write_worker("std::fputs(\"libx.so: not found\", stderr); return 127;");
  CHECK_THAT(message_of<ProvisionError>([&] { store.install(small.spec(), false, kNoProgress); }),
             ContainsSubstring("describe` failed with exit code 127") && ContainsSubstring("libx.so: not found"));
  CHECK(remains(small).empty());
  // What dies although its C++ runtime is the shared one has nothing to do with the compiler's.
  small.write_worker("throw 1;");
  const std::string shared = message_of<ProvisionError>([&] { store.install(small.spec(), false, kNoProgress); });
  CHECK_THAT(shared, ContainsSubstring("failed with exit code 134"));
  CHECK_THAT(shared, !ContainsSubstring("runtime of its own"));
  small.write_worker("std::abort();");  // no runtime at all is the nearest to one of its own
  CHECK_THAT(message_of<ProvisionError>([&] { store.install(small.spec(), false, kNoProgress); }),
             ContainsSubstring("failed with exit code 134") && ContainsSubstring("links a C++ runtime of its own"));
  CHECK(remains(small).empty());
  small.write_worker("std::puts(\"hello\");");
  CHECK_THAT(message_of<ProvisionError>([&] { store.install(small.spec(), false, kNoProgress); }),
             ContainsSubstring("is no description: no JSON"));
  CHECK(remains(small).empty());
}

TEST_CASE("a hostile wheel with the right hash is refused and leaves nothing", "[provision][process]") {
  SmallStack small;
  write_wheel(small.published(), "torch", "9.9.9", {{"torch/lib/libtorch_cpu.so", "x"}, {"../../x", "evil"}});
  write_file(small.spec().lock_path,
             fmt::format("torch==9.9.9 --hash=sha256:{}  # {} {} bytes\n", sha256_of_file(small.published()),
                         kWheelFile, std::filesystem::file_size(small.published())));
  StackStore store = small.store();
  CHECK(message_of<ProvisionError>([&] { store.install(small.spec(), false, kNoProgress); }) ==
        std::string(kWheelFile) + ": error[RB073]: entry \"../../x\" leaves the target folder; nothing was extracted");
  CHECK(remains(small).empty());
}

TEST_CASE("verify finds a changed library and a changed wheel", "[provision][process]") {
  const SmallStack small;
  StackStore store = small.store();
  const InstalledStack stack = store.install(small.spec(), false, kNoProgress);
  write_file(stack.folder / "site/torch/lib/libtorch_cpu.so", "CPU library");
  write_file(small.home() / "downloads" / kWheelFile, "not the wheel");
  const auto findings = store.verify(stack);
  REQUIRE(findings.size() == 2);
  CHECK_THAT(findings[0].text, ContainsSubstring("libtorch_cpu.so: SHA-256 is"));
  CHECK_THAT(findings[1].text, Catch::Matchers::StartsWith(kWheelFile));
}

TEST_CASE("a store that was moved or copied needs workers of its own, which an installation makes",
          "[provision][process]") {
  const SmallStack small;
  StackStore store = small.store();
  const InstalledStack first = store.install(small.spec(), false, kNoProgress);
  const std::filesystem::path other = small.home().parent_path() / "other";
  SECTION("moved") { std::filesystem::rename(small.home(), other); }
  SECTION("copied") { std::filesystem::copy(small.home(), other, std::filesystem::copy_options::recursive); }
  SECTION("named by a link") {
    std::filesystem::create_directory_symlink(small.home(), other);
    CHECK_FALSE(StackStore(other, small.source_root(), kShepherd).find(small.spec()).worker.empty());
    return;
  }
  StackStore moved(other, small.source_root(), kShepherd);
  const InstalledStack found = moved.find(small.spec());
  CHECK(found.complete);
  CHECK(found.worker.empty());
  CHECK(found.moved_from == first.folder);
  const InstalledStack mended = moved.install(small.spec(), false, kNoProgress);
  CHECK(linked_site(mended.worker) == mended.folder / "site/torch/lib");
  CHECK(mended.moved_from.empty());
}

TEST_CASE("what a worker has to load is what was unpacked, of a system stack what is named or was loaded",
          "[provision][process]") {
  const SmallStack small;
  Capability capability;
  capability.torch_version = "9.9.9";
  capability.fingerprint.libraries = {{"/usr/lib/libtorch_cpu.so.9", "99"}, {"/usr/lib/libc.so.6", "cc"}};
  small.write_worker("std::puts(R\"json(" + to_json(capability).dump() + ")json\");");
  StackStore store = small.store();
  const InstalledStack stack = store.install(small.spec(), false, kNoProgress);
  const auto paths_of = [&](const InstalledStack& of) {
    std::vector<std::string> paths;
    for (const InstalledLibrary& library : store.check(of).installed.libraries) {
      paths.push_back(fmt::format("{}={}", library.path, library.build_id));
    }
    return paths;
  };
  CHECK(paths_of(stack) == std::vector<std::string>{"site/torch/lib/libtorch_cpu.so="});
  write_file(stack.folder / "site/torch/lib/libtorch_cpu.so", "CPU library");
  CHECK_THAT(store.check(stack).changed.at(0), ContainsSubstring("libtorch_cpu.so: SHA-256 is"));

  InstalledStack of_system = stack;
  of_system.spec.source = StackSource::system;
  of_system.spec.library_dirs = {"/opt/lib"};
  write_manifest(stack.folder, {});
  CHECK(paths_of(of_system) == std::vector<std::string>{"/usr/lib/libtorch_cpu.so.9=99"});
  CHECK(store.check(of_system).installed.folders == std::vector<std::string>{"/opt/lib"});
  of_system.spec.libraries = {{"libblas.so.3", "sha256:ff"}, {"libtorch_cpu.so", "98"}};
  CHECK(paths_of(of_system) == std::vector<std::string>{"libblas.so.3=", "libtorch_cpu.so=98"});
  CHECK(store.check(of_system).installed.libraries[0].sha256 == "ff");
}

TEST_CASE("an adopted stack keeps its worker while the environment stays, and is refused after a change",
          "[provision][process]") {
  const SmallStack small;
  const FakeEnvironment environment;
  Capability capability;
  capability.torch_version = "9.8.7";
  small.write_worker("std::puts(R\"json(" + to_json(capability).dump() + ")json\");");
  const auto adopt = [&] {
    return parse_stack(adopted_stack_file("mine", environment.place(), environment.survey()), "mine.yaml");
  };
  StackStore store = small.store();
  const InstalledStack stack = store.install(adopt(), false, kNoProgress);
  CHECK(store.environment(stack).at("LD_LIBRARY_PATH").starts_with((environment.torch() / "lib").string()));
  CHECK(store.verify(stack).empty());
  CHECK(store.find(adopt()).worker == stack.worker);

  link_library(environment.nvidia() / "cuda_runtime/lib/libcudart.so.12", {"libcudart.so.12", {}, "", false, "0x000d"});
  CHECK_THAT(store.system_problem(stack.spec), Catch::Matchers::StartsWith("libcudart.so.12 is another one now"));
  REQUIRE_FALSE(store.verify(stack).empty());
  CHECK_THAT(message_of<ProvisionError>([&] { store.install(stack.spec, false, kNoProgress); }),
             ContainsSubstring("`reprobench stack adopt` takes the change in"));
  CHECK(store.find(adopt()).worker.empty());
}

TEST_CASE("a removed stack is gone and can be installed again", "[provision][process]") {
  const SmallStack small;
  StackStore store = small.store();
  store.remove(store.install(small.spec(), false, kNoProgress));
  CHECK_FALSE(store.find(small.spec()).complete);
  CHECK(remains(small).empty());
  CHECK(store.install(small.spec(), false, kNoProgress).complete);
}

TEST_CASE("an installation killed at any moment counts for nothing, and the next one ends well",
          "[provision][process]") {
  const SmallStack small;
  StackStore store = small.store();
  int killed = 0;
  for (int delay_ms = 20; delay_ms <= 2500; delay_ms += delay_ms / 2 + 10) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      setpgid(0, 0);
      small.store().install(small.spec(), false, kNoProgress);
      _exit(0);
    }
    setpgid(child, child);
    const timespec delay{.tv_sec = delay_ms / 1000, .tv_nsec = delay_ms % 1000 * 1'000'000L};
    nanosleep(&delay, nullptr);
    kill(-child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    const InstalledStack stack = store.find(small.spec());
    INFO("killed after " << delay_ms << " ms");
    if (WIFSIGNALED(status)) ++killed;
    if (stack.complete) {
      CHECK(store.verify(stack).empty());
      store.remove(stack);
    }
  }
  CHECK(killed > 3);
  const InstalledStack stack = store.install(small.spec(), false, kNoProgress);
  CHECK(stack.complete);
  CHECK(store.verify(stack).empty());
  // A pip or compiler of a killed installation may have outlived it for a moment; once they are done, a later
  // installation cleans up what they wrote.
  for (int i = 0; i < 50 && !names_below(small.home() / "staging").empty(); ++i) {
    nanosleep(&kMoment, nullptr);
    store.install(small.spec(), false, kNoProgress);
  }
  CHECK(remains(small) == std::vector<std::string>{stack.folder.filename().string()});
}

TEST_CASE("no end of an installation leaves a program of its build running", "[provision][process]") {
  const SmallStack small;
  const std::string endless = fmt::format("9{}", getpid());  // seconds, and how the test knows its process again
  write_file(small.source_root() / "suites/worker/CMakeLists.txt",
             fmt::format("{}add_custom_target(endless COMMAND sleep {})\nadd_dependencies(reprobench-worker endless)\n",
                         kWorkerProject, endless));
  for (const int signal_number : {SIGINT, SIGTERM, SIGKILL}) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      for (const int handled : {SIGINT, SIGTERM}) signal(handled, SIG_DFL);
      small.store().install(small.spec(), false, kNoProgress);
      _exit(0);
    }
    const auto becomes = [&](bool running) {
      for (int i = 0; i < 600 && is_running("sleep", endless) != running; ++i) nanosleep(&kMoment, nullptr);
      return is_running("sleep", endless) == running;
    };
    INFO("signal " << signal_number);
    CHECK(becomes(true));
    kill(child, signal_number);
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFSIGNALED(status));
    CHECK(becomes(false));
  }
}

TEST_CASE("two installations of one stack at once wait for each other", "[provision][process]") {
  const SmallStack small;
  std::vector<pid_t> children;
  for (int i = 0; i < 2; ++i) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      const bool complete = small.store().install(small.spec(), false, kNoProgress).complete;
      _exit(complete ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  CHECK(small.store().verify(small.store().find(small.spec())).empty());
}

TEST_CASE("a lock that is missing is an error in the stack file", "[provision][process]") {
  const SmallStack small;
  StackSpec spec = small.spec();
  spec.lock_path = "/nonexistent.lock";
  spec.mark = {"small.yaml", 1, 1};
  CHECK_THAT(message_of<SpecError>([&] { small.store().find(spec); }),
             ContainsSubstring("small.yaml:1:1: error[RB027]: lock /nonexistent.lock cannot be read"));
}
