#include "matrix/provision/worker_build.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <mutex>
#include <optional>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/base/available_memory.hpp"
#include "matrix/base/elf_library.hpp"
#include "matrix/exec/helper_environment.hpp"
#include "matrix/exec/subprocess.hpp"
#include "matrix/provision/provision_error.hpp"
#include "matrix/provision/sha256.hpp"

namespace reprobench {
namespace {

constexpr std::size_t kShownLogLines = 20;

// Largest compiler process seen on a translation unit with LibTorch headers (g++ 12).
constexpr std::int64_t kCompilerMemoryBytes = std::int64_t{1536} << 20;

// Splits output into lines, keeps the last ones and writes all of it to the log.
class BuildLog {
 public:
  explicit BuildLog(const std::filesystem::path& file) : file_(file) {
    if (!file_) throw ProvisionError(fmt::format("{}: the build log cannot be written", file.string()));
  }

  template <class OnLine>
  void append(std::string_view chunk, OnLine on_line) {
    file_ << chunk << std::flush;
    partial_ += chunk;
    for (std::size_t end = partial_.find('\n'); end != std::string::npos; end = partial_.find('\n')) {
      const std::string line = partial_.substr(0, end);
      partial_.erase(0, end + 1);
      tail_.push_back(line);
      if (tail_.size() > kShownLogLines) tail_.pop_front();
      on_line(line);
    }
  }

  std::string tail() const { return fmt::format("{}", fmt::join(tail_, "\n")); }

 private:
  std::ofstream file_;
  std::string partial_;
  std::deque<std::string> tail_;
};

// As many compilers as there are cores, but no more than memory holds.
int build_jobs() {
  const auto cores = static_cast<std::int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  return static_cast<int>(std::clamp<std::int64_t>(available_memory_bytes() / kCompilerMemoryBytes, 1, cores));
}

// Variables by which a compiler finds headers, libraries and its own parts, and those for CMake, its generator and
// ccache.
constexpr std::string_view kOfCompilers[] = {"CC",
                                             "CXX",
                                             "CFLAGS",
                                             "CXXFLAGS",
                                             "CPPFLAGS",
                                             "LDFLAGS",
                                             "CPATH",
                                             "C_INCLUDE_PATH",
                                             "CPLUS_INCLUDE_PATH",
                                             "LIBRARY_PATH",
                                             "LD_LIBRARY_PATH",
                                             "COMPILER_PATH",
                                             "GCC_*",
                                             "CCACHE_*",
                                             "CMAKE_*",
                                             "MAKEFLAGS",
                                             "NINJA_STATUS",
                                             "PKG_CONFIG_*",
                                             "SOURCE_DATE_EPOCH",
                                             "REPROBENCH_*"};

std::vector<std::string> configure_command(const std::string& cmake, const WorkerBuild& build) {
  const std::filesystem::path out = build.build_folder / "bin";
  std::vector<std::string> command = {
      cmake,
      "-S",
      (build.source_root / "suites" / "worker").string(),
      "-B",
      build.build_folder.string(),
      "-DCMAKE_BUILD_TYPE=Release",
      "-DCMAKE_CXX_COMPILER=" + build.compiler.path,
      "-DCMAKE_RUNTIME_OUTPUT_DIRECTORY=" + out.string(),
      fmt::format("-DREPROBENCH_TORCH_INCLUDE_DIRS={}", fmt::join(build.include_dirs, ";")),
      fmt::format("-DREPROBENCH_TORCH_LIBRARY_DIRS={}", fmt::join(build.library_dirs, ";")),
      fmt::format("-DREPROBENCH_CXX11_ABI={}", build.cxx11_abi),
      fmt::format("-DREPROBENCH_WITH_CUDA={}", build.with_cuda ? "ON" : "OFF")};
  if (!build.run_dirs.empty()) {
    // DT_RPATH, as the project's own (suites/worker/CMakeLists.txt).
    command.push_back(fmt::format("-DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags -Wl,-rpath,{}",
                                  fmt::join(build.run_dirs, " -Wl,-rpath,")));
  }
  if (!find_in_path("ninja").empty()) command.insert(command.end(), {"-G", "Ninja"});
  return command;
}

}  // namespace

Compiler find_compiler() {
  Compiler compiler;
  const char* chosen = std::getenv("CXX");
  const std::string name = chosen != nullptr && *chosen != '\0' ? chosen : "c++";
  const std::string path =
      name.find('/') == std::string::npos ? find_in_path(name) : std::filesystem::absolute(name).string();
  if (path.empty()) return compiler;
  SubprocessOptions options;
  options.command = {path, "--version"};
  options.environment = helper_environment(kOfCompilers);
  const SubprocessResult result = run_subprocess(options);
  if (result.exit_code != 0) return compiler;
  return {.path = path, .version = result.out.substr(0, result.out.find('\n'))};
}

std::vector<std::string> worker_source_folders() {
  return {"suites/worker", "models", "kernels", "matrix/base", "matrix/contract", "matrix/orders", "ci/cmake"};
}

std::string worker_sources_digest(const std::filesystem::path& source_root) {
  return sha256_of_sources(source_root, worker_source_folders());
}

std::string find_runtime_problem(const std::filesystem::path& program, const Compiler& compiler) {
  const std::optional<ElfLibrary> elf = read_elf_library(program);
  if (!elf) return "";  // asking it what it loaded will say so
  const bool is_shared = std::any_of(elf->needed.begin(), elf->needed.end(), [](const std::string& library) {
    return library.starts_with("libstdc++.so") || library.starts_with("libc++.so");
  });
  if (is_shared) return "";
  return fmt::format(
      "{} ({}) links a C++ runtime of its own into programs, and LibTorch loads the shared one; set CXX to a compiler "
      "that links libstdc++.so.6, such as the distribution's /usr/bin/c++",
      compiler.path, compiler.version);
}

double build_fraction(std::string_view line) {
  if (!line.starts_with('[')) return -1;
  line.remove_prefix(1);
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const char* end = line.data() + line.size();
  int done = 0;
  const auto [after, problem] = std::from_chars(line.data(), end, done);
  if (problem != std::errc() || after == end) return -1;
  if (*after == '%') return std::min(1.0, done / 100.0);
  int total = 0;
  if (*after != '/' || std::from_chars(after + 1, end, total).ec != std::errc() || total <= 0) return -1;
  return std::min(1.0, static_cast<double>(done) / total);
}

std::filesystem::path build_worker(const WorkerBuild& build, const PhaseSink& progress) {
  if (build.compiler.path.empty()) {
    throw ProvisionError("no C++ compiler was found to build the worker; install g++ or set CXX");
  }
  const std::string cmake = find_in_path("cmake");
  if (cmake.empty()) throw ProvisionError("cmake was not found, the worker cannot be built; install cmake");

  std::filesystem::create_directories(build.build_folder);
  std::filesystem::create_directories(build.log_file.parent_path());
  BuildLog log(build.log_file);
  // `begin` to `end`: its share of the phase.
  const auto run = [&](const std::vector<std::string>& command, const std::string& phase, double begin, double end) {
    if (begin == 0) progress(phase, -1);
    const auto on_line = [&](const std::string& line) {
      if (const double done = build_fraction(line); done >= 0) progress(phase, begin + (end - begin) * done);
    };
    SubprocessOptions options;
    options.command = command;
    options.environment = helper_environment(kOfCompilers);
    options.working_directory = build.build_folder.string();
    options.shepherd = build.shepherd.string();
    options.on_output = [&](std::string_view chunk) { log.append(chunk, on_line); };
    const SubprocessResult result = run_subprocess(options);
    if (result.exit_code == 0) return;
    throw ProvisionError(
        fmt::format("the worker of {} could not be built ({} failed with exit code {}):\n{}{}\nfull "
                    "log: {}",
                    build.stack, phase, result.exit_code, log.tail(), result.launch_error, build.log_file.string()));
  };
  const auto compile = [&](const std::vector<std::string>& targets, double begin, double end) {
    std::vector<std::string> command = {cmake, "--build", build.build_folder.string(), "--target"};
    command.insert(command.end(), targets.begin(), targets.end());
    command.insert(command.end(), {"--parallel", std::to_string(build_jobs())});
    run(command, "build worker", begin, end);
  };
  run(configure_command(cmake, build), "configure worker", 0, 1);
  // Sources that see nothing of a stack are compiled alike for each. Of two builds at a time one compiles them first.
  // The other leaves them to the end, and finds them in the compiler's cache.
  static std::mutex shared_sources;
  if (const std::unique_lock first(shared_sources, std::try_to_lock); first) {
    compile({"worker_layers"}, 0, 0.5);
  } else {
    compile({"worker_torch"}, 0, 0.5);
  }
  compile({"reprobench-worker"}, 0.5, 1);
  std::filesystem::path program = build.build_folder / "bin" / "reprobench-worker";
  if (!std::filesystem::exists(program)) {
    throw ProvisionError(fmt::format("{}: the build ended well but made no such program; full log: {}",
                                     program.string(), build.log_file.string()));
  }
  return program;
}

}  // namespace reprobench
