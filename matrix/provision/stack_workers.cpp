// The workers of the stacks of a store: built or taken from another stack, placed, and asked what they loaded.
#include <algorithm>
#include <chrono>
#include <fstream>

#include <fmt/format.h>

#include "matrix/base/contract_error.hpp"
#include "matrix/base/json_parse.hpp"
#include "matrix/base/regular_file.hpp"
#include "matrix/exec/driver_path.hpp"
#include "matrix/exec/subprocess.hpp"
#include "matrix/provision/hybrid/hybrid_stack.hpp"
#include "matrix/provision/image_stack.hpp"
#include "matrix/provision/stack_store.hpp"
#include "matrix/provision/store_folders.hpp"
#include "matrix/provision/worker_build.hpp"
#include "matrix/provision/worker_relink.hpp"

namespace reprobench {
namespace {

constexpr std::chrono::seconds kDescribeTimeout{120};
constexpr std::int64_t kLargestDescriptionBytes = 64 << 20;

// Folders called `name` of the stack's CUDA packages, in the order of their names.
std::vector<std::string> cuda_dirs(const InstalledStack& stack, const char* name) {
  std::vector<std::string> folders;
  const std::filesystem::path nvidia = stack.folder / "site" / "nvidia";
  if (!std::filesystem::exists(nvidia)) return folders;
  for (const auto& entry : std::filesystem::directory_iterator(nvidia)) {
    if (std::filesystem::exists(entry.path() / name)) folders.push_back((entry.path() / name).string());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

std::vector<std::string> below_root(const StackSpec& spec, const std::vector<std::string>& folders) {
  std::vector<std::string> paths;
  for (const std::string& folder : folders) paths.push_back(spec.root + folder);
  return paths;
}

std::vector<std::string> include_dirs(const InstalledStack& stack) {
  if (stack.spec.source == StackSource::image) {
    std::vector<std::string> folders = below_root(stack.spec, stack.spec.include_dirs);
    folders.insert(folders.end(), stack.spec.host_include_dirs.begin(), stack.spec.host_include_dirs.end());
    return folders;
  }
  if (stack.spec.source == StackSource::system) return stack.spec.include_dirs;
  const std::filesystem::path include = stack.folder / "site" / "torch" / "include";
  std::vector<std::string> folders = {include.string(), (include / "torch" / "csrc" / "api" / "include").string()};
  // CUDA's headers are there only if the GPU part is installed; a foreign CUDA must not be found before them.
  const std::vector<std::string> cuda = cuda_dirs(stack, "include");
  folders.insert(folders.end(), cuda.begin(), cuda.end());
  return folders;
}

std::vector<std::string> library_dirs(const InstalledStack& stack, bool with_gpu) {
  if (stack.spec.source == StackSource::image) return below_root(stack.spec, stack.spec.library_dirs);
  if (stack.spec.source == StackSource::system) return stack.spec.library_dirs;
  std::vector<std::string> folders = {(stack.folder / "site" / "torch" / "lib").string()};
  if (!with_gpu) return folders;
  const std::vector<std::string> cuda = cuda_dirs(stack, "lib");
  folders.insert(folders.end(), cuda.begin(), cuda.end());
  return folders;
}

}  // namespace

std::vector<std::filesystem::path> StackStore::mapped_files(const InstalledStack& stack) const {
  std::vector<std::filesystem::path> files = {stack.worker};
  for (const std::string& folder : library_dirs(stack, /*with_gpu=*/false)) {
    std::error_code is_unreadable;
    for (const auto& entry : std::filesystem::directory_iterator(folder, is_unreadable)) {
      if (is_of_a_stack(entry.path().filename().string())) files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);
  return files;
}

// A new worker's description. If it ends in a memory error, another compiler may help.
Capability StackStore::described(const InstalledStack& built, const Compiler& compiler) const {
  try {
    return describe(built);
  } catch (const ProvisionError& error) {
    const std::string problem = compiler.path.empty() ? "" : find_runtime_problem(built.worker, compiler);
    if (problem.empty()) throw;
    throw ProvisionError(fmt::format("{}\n{}", error.what(), problem));
  }
}

std::filesystem::path StackStore::taken_worker(const InstalledStack& stack,
                                               const std::filesystem::path& staging) const {
  std::filesystem::path folder;
  if (!stack.moved_from.empty()) folder = worker_folder(stack);
  if (stack.spec.source == StackSource::hybrid && folder.empty()) {
    const std::string of_torch = folder_of_torch(stack.spec);
    folder = worker_folder(home_ / of_torch, of_torch.substr(of_torch.rfind('-') + 1));
  }
  if (folder.empty() || !std::filesystem::exists(folder / kDescriptionName)) return {};
  const std::filesystem::path taken = staging / "taken" / kWorkerName;
  std::filesystem::create_directories(taken.parent_path());
  std::filesystem::copy_file(folder / kWorkerName, taken);
  try {
    link_for_own_site(taken, staging / "relink", shepherd_);
    return taken;
  } catch (const ProvisionError&) {
    return {};  // it is built
  }
}

void StackStore::install_worker(const InstalledStack& stack, bool with_gpu, const std::filesystem::path& staging,
                                const PhaseSink& progress) const {
  if (const std::filesystem::path taken = taken_worker(stack, staging); !taken.empty()) {
    try {
      place_worker(stack, taken, {}, progress);
      return;
    } catch (const ProvisionError&) {
      progress("its torch's worker does not start here", -1);
    }
  }
  const WorkerBuild build{
      .stack = stack.spec.name,
      .source_root = source_root_,
      .build_folder = staging / "build",
      .log_file = home_ / "logs" / (stack.spec.name + "-worker.log"),
      .include_dirs = include_dirs(stack),
      .library_dirs = library_dirs(stack, with_gpu),
      .run_dirs = stack.spec.source == StackSource::image ? stack.spec.library_dirs : std::vector<std::string>{},
      .cxx11_abi = stack.spec.cxx11_abi,
      .with_cuda = with_gpu && stack.spec.components.contains("cuda"),
      .compiler = find_compiler(),
      .shepherd = shepherd_};
  worker_folder(stack);  // named before it is built: sources that change meanwhile ask for another worker
  const std::filesystem::path program = build_worker(build, progress);
  if (stack.spec.source == StackSource::image) {
    if (const std::string lack = find_runtime_lack(stack.spec, program); !lack.empty()) throw ProvisionError(lack);
  }
  place_worker(stack, program, build.compiler, progress);
}

// The description is the proof that the worker finds its libraries; without it the worker does not count as built.
void StackStore::place_worker(const InstalledStack& stack, const std::filesystem::path& program,
                              const Compiler& compiler, const PhaseSink& progress) const {
  ScopedFolder folder(worker_folder(stack));
  std::filesystem::remove_all(folder.path());
  std::filesystem::create_directories(folder.path());
  std::filesystem::rename(program, folder.path() / kWorkerName);
  const auto write = [&](const char* name, const std::string& text) {
    std::ofstream file(folder.path() / name, std::ios::binary);
    file << text << std::flush;
    if (!file) throw ProvisionError(fmt::format("{}: cannot be written", (folder.path() / name).string()));
  };
  write(kWorkerDigestName, sha256_of_file(folder.path() / kWorkerName));

  progress("ask worker what it loaded", -1);
  InstalledStack built = stack;
  built.worker = folder.path() / kWorkerName;
  write(kDescriptionName, to_json(described(built, compiler)).dump(2) + "\n");
  folder.keep();
}

Capability StackStore::describe(const InstalledStack& stack) const {
  if (stack.worker.empty()) {
    throw ProvisionError(
        fmt::format("{}: no worker is built for the present sources; run `reprobench "
                    "stack install {}`",
                    stack.spec.name, stack.spec.name));
  }
  std::map<std::string, std::string> variables = environment(stack);
  variables.emplace("PATH", "/usr/bin:/bin");
  const std::optional<Enclosure> inside = enclosure(stack);
  add_driver_path(variables, inside);
  SubprocessOptions options;
  options.command = {stack.worker.string(), "describe"};
  options.environment = variables;
  options.timeout = kDescribeTimeout;
  enclose(options, inside, {});
  const SubprocessResult result = run_subprocess(options);
  if (result.exit_code != 0) {
    throw ProvisionError(fmt::format("{}: `{} describe` failed with exit code {}{}: {}{}", stack.spec.name,
                                     stack.worker.string(), result.exit_code, result.timed_out ? " (timeout)" : "",
                                     result.launch_error, result.err));
  }
  const nlohmann::json json = json_or_discarded(result.out);
  try {
    if (json.is_discarded()) throw ContractError("no JSON");
    return capability_from_json(json);
  } catch (const ContractError& error) {
    throw ProvisionError(fmt::format("{}: what `{} describe` printed is no description: {}", stack.spec.name,
                                     stack.worker.string(), error.what()));
  }
}

std::optional<Capability> StackStore::description(const InstalledStack& stack) const {
  if (stack.worker.empty()) return std::nullopt;
  try {
    const auto file = read_regular_file(stack.worker.parent_path() / kDescriptionName, kLargestDescriptionBytes);
    return capability_from_json(json_or_discarded(file.text));
  } catch (const ContractError&) {
    return std::nullopt;  // of an older contract: it is asked anew when it runs
  }
}

}  // namespace reprobench
