#include "matrix/provision/stack_store.hpp"

#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/base/contract_error.hpp"
#include "matrix/exec/driver_path.hpp"
#include "matrix/provision/hybrid/hybrid_stack.hpp"
#include "matrix/provision/image_stack.hpp"
#include "matrix/provision/library_search.hpp"
#include "matrix/provision/lock_file.hpp"
#include "matrix/provision/sha256.hpp"
#include "matrix/provision/stack_manifest.hpp"
#include "matrix/provision/store_folders.hpp"
#include "matrix/provision/system_stack.hpp"
#include "matrix/provision/wheel_fetch.hpp"
#include "matrix/provision/wheel_unpack.hpp"

namespace reprobench {
namespace {

constexpr std::size_t kDigestDigits = 12;
constexpr std::string_view kHashed = "sha256:";  // of a library of an adopted stack that has no build id

// The parts of an image against which a worker is built; neither its name nor anything else in it counts.
std::string text_of_image(const StackSpec& spec) {
  std::string text = fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n", spec.root, fmt::join(spec.include_dirs, ":"),
                                 fmt::join(spec.host_include_dirs, ":"), fmt::join(spec.library_dirs, ":"),
                                 spec.cxx11_abi, spec.cxx_standard);
  for (const auto& [name, version] : spec.components) text += fmt::format("{} {}\n", name, version);
  for (const auto& [name, identity] : spec.libraries) text += fmt::format("{} {}\n", name, identity);
  return text;
}

std::string stack_digest(const StackSpec& spec) {
  if (spec.source == StackSource::image) return sha256_of_text(text_of_image(spec)).substr(0, kDigestDigits);
  return sha256_of_text(spec.text + '\0' + read_lock_text(spec)).substr(0, kDigestDigits);
}

// An image that is the candidate of one run and the reference of the next has one worker.
std::string folder_name(const StackSpec& spec, const std::string& digest) {
  return (spec.source == StackSource::image ? "image" : spec.name) + "-" + digest;
}

// Fetches and unpacks the wheels of `spec` into `site`.
StackManifest unpack_wheels(const StackSpec& spec, bool with_gpu, const std::filesystem::path& home,
                            const std::filesystem::path& staging, const std::filesystem::path& site,
                            const std::filesystem::path& shepherd, const PhaseSink& progress) {
  const std::vector<LockedWheel> lock = read_lock(spec);
  const std::vector<LockedWheel> wheels = with_gpu ? lock : select_wheels(lock, spec.cpu_wheels, spec.mark);
  fetch_wheels(wheels, spec.python, home / "downloads", staging, shepherd, progress);

  StackManifest manifest;
  for (const LockedWheel& wheel : wheels) {
    const std::string phase = fmt::format("unpack {} {}", wheel.distribution, wheel.version);
    double reported = -1;
    const auto on_bytes = [&](std::int64_t done_bytes, std::int64_t total_bytes) {
      const double fraction = static_cast<double>(done_bytes) / static_cast<double>(total_bytes);
      if (fraction < reported + 0.01) return;
      reported = fraction;
      progress(phase, fraction);
    };
    for (const UnpackedFile& file : unpack_wheel(
             home / "downloads" / wheel.file, site, [&](std::string_view name) { return is_wanted(name, with_gpu); },
             on_bytes)) {
      manifest.size_bytes += file.size_bytes;
      if (file.path.find(".so") != std::string::npos) manifest.files.push_back(file);
    }
    manifest.wheels.push_back(wheel.file);
  }
  return manifest;
}

// While its files are taken, nobody replaces a stack that a hybrid is of.
StackManifest linked_hybrid(const StackSpec& spec, bool with_gpu, const std::filesystem::path& home,
                            const std::filesystem::path& site, const PhaseSink& progress) {
  std::set<std::string> folders{spec.base};
  for (const auto& [component, folder] : spec.parts) folders.insert(folder);
  std::vector<std::unique_ptr<StackLock>> locks;
  for (const std::string& folder : folders) locks.push_back(std::make_unique<StackLock>(home, folder, progress));
  progress("link the files of its stacks", -1);
  StackManifest manifest = make_hybrid_site(home, spec, site);
  if (!with_gpu || manifest.with_gpu) return manifest;
  throw ProvisionError(fmt::format("{}: the stacks that it is of were installed without their GPU part", spec.name));
}

}  // namespace

std::optional<SpecError> find_lock_error(const StackSpec& spec) {
  try {
    read_lock_text(spec);
    return std::nullopt;
  } catch (const SpecError& error) {
    return error;
  }
}

StackStore::StackStore(const std::filesystem::path& home, std::filesystem::path source_root,
                       std::filesystem::path shepherd)
    : home_(std::filesystem::absolute(home).lexically_normal()),
      source_root_(std::move(source_root)),
      shepherd_(std::move(shepherd)) {}

InstalledStack StackStore::find(const StackSpec& spec) const {
  InstalledStack stack;
  stack.spec = spec;
  stack.digest = stack_digest(spec);
  stack.folder = home_ / folder_name(spec, stack.digest);
  if (!has_manifest(stack.folder)) return stack;
  try {
    stack.size_bytes = read_manifest(stack.folder).size_bytes;
  } catch (const ContractError&) {
    return stack;  // as one that was never installed: it stops no other, and is installed anew
  }
  stack.complete = true;
  const std::filesystem::path folder = worker_folder(stack);
  for (const char* name : {kDescriptionName, kWorkerDigestName}) {
    if (!std::filesystem::exists(folder / name)) return stack;
  }
  // It would load the libraries of the place that it was linked for, which may be another's by now.
  const std::filesystem::path linked =
      spec.is_of_wheels() ? linked_site(folder / kWorkerName) : std::filesystem::path();
  std::error_code is_gone;
  if (!linked.empty() && !std::filesystem::equivalent(linked, stack.folder / "site/torch/lib", is_gone)) {
    stack.moved_from = linked.parent_path().parent_path().parent_path();
    return stack;
  }
  stack.worker = folder / kWorkerName;
  stack.size_bytes += static_cast<std::int64_t>(std::filesystem::file_size(stack.worker));
  return stack;
}

std::filesystem::path StackStore::worker_folder(const std::filesystem::path& folder, const std::string& digest) const {
  if (sources_digest_->empty()) *sources_digest_ = worker_sources_digest(source_root_);
  const std::string key = sha256_of_text(fmt::format("{}\n{}\n", digest, *sources_digest_));
  return folder / "workers" / key.substr(0, kDigestDigits);
}

std::filesystem::path StackStore::worker_folder(const InstalledStack& stack) const {
  return worker_folder(stack.folder, stack.digest);
}

std::string StackStore::system_problem(const StackSpec& spec) const {
  if (spec.source == StackSource::image) return find_image_problem(spec);
  return spec.source == StackSource::system ? find_system_problem(spec, &installed_package_version) : "";
}

InstalledStack StackStore::install(const StackSpec& spec, bool with_gpu, const ProgressSink& progress) {
  const PhaseSink phase = [&](const std::string& text, double fraction) {
    if (progress) progress(spec.name, text, fraction);
  };
  if (const std::string problem = system_problem(spec); !problem.empty()) {
    throw ProvisionError(fmt::format("{}: {}{}", spec.name, problem,
                                     spec.libraries.empty() ? "; install that package or leave the stack out" : ""));
  }
  try {
    const std::string name = folder_name(spec, stack_digest(spec));
    const StackLock lock(home_, name, phase);
    const ScopedFolder staging(make_staging(home_, name));

    const InstalledStack present = find(spec);
    const bool is_enough = present.complete && (!with_gpu || read_manifest(present.folder).with_gpu);
    if (!is_enough) {
      install_files(present, with_gpu, staging.path(), phase);
    } else if (present.worker.empty()) {
      install_worker(present, read_manifest(present.folder).with_gpu, staging.path(), phase);
    }
  } catch (const std::filesystem::filesystem_error& error) {
    throw ProvisionError(fmt::format("{}: {}", spec.name, error.what()));
  }
  return find(spec);
}

void StackStore::install_files(const InstalledStack& present, bool with_gpu, const std::filesystem::path& staging,
                               const PhaseSink& progress) const {
  StackManifest manifest;
  const std::filesystem::path made = staging / "stack";
  std::filesystem::create_directories(made);
  if (present.spec.source == StackSource::wheel) {
    manifest = unpack_wheels(present.spec, with_gpu, home_, staging, made / "site", shepherd_, progress);
    manifest.with_gpu = with_gpu;
  } else if (present.spec.source == StackSource::hybrid) {
    manifest = linked_hybrid(present.spec, with_gpu, home_, made / "site", progress);
    with_gpu = manifest.with_gpu;
  }
  manifest.name = present.spec.name;
  manifest.digest = present.digest;
  manifest.with_gpu = with_gpu;

  // Without its stack.json the folder does not count, and this scope or the next installation removes it. A CPU stack
  // whose GPU part cannot be had goes on to be one.
  ReplacedFolder folder(present.folder, staging / "before");
  std::filesystem::rename(made, folder.path());
  install_worker(present, with_gpu, staging, progress);
  progress("write to disk", -1);
  write_manifest(folder.path(), manifest);
  folder.keep();
}

LibraryCheck StackStore::check(const InstalledStack& stack) const {
  LibraryCheck check = check_libraries(stack.folder, read_manifest(stack.folder), stack.worker);
  if (stack.spec.is_of_wheels()) return check;
  check.installed.folders = stack.spec.library_dirs;
  for (const auto& [name, identity] : stack.spec.libraries) {
    const bool is_hash = identity.starts_with(kHashed);
    check.installed.libraries.push_back(
        {name, is_hash ? "" : identity, is_hash ? identity.substr(kHashed.size()) : ""});
  }
  if (!stack.spec.libraries.empty()) return check;
  const std::optional<Capability> built = description(stack);
  for (const MappedLibrary& library : built ? built->fingerprint.libraries : std::vector<MappedLibrary>{}) {
    if (is_of_a_stack(library.path)) check.installed.libraries.push_back({library.path, library.build_id, ""});
  }
  return check;
}

std::vector<StackFinding> StackStore::verify(const InstalledStack& stack) const {
  if (!stack.complete) return {{fmt::format("{} is not installed", stack.spec.name)}};
  std::vector<StackFinding> findings;
  const auto add = [&](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) findings.push_back({text});
  };
  const std::string problem = system_problem(stack.spec);
  if (!problem.empty()) add({problem});
  add(find_changed_files(stack.folder / "site", read_manifest(stack.folder)));
  if (stack.spec.is_adopted() && problem.empty()) {
    add(check_libraries(stack.folder, read_manifest(stack.folder), stack.worker).changed);
  }
  if (stack.spec.source == StackSource::wheel) add(find_changed_wheels(home_ / "downloads", read_lock(stack.spec)));
  try {
    for (StackFinding& finding : find_disagreements(stack.spec, describe(stack), stack.folder)) {
      finding.is_settled = finding.is_settled && problem.empty();
      findings.push_back(std::move(finding));
    }
  } catch (const ProvisionError& error) {
    add({error.what()});
  }
  return findings;
}

void StackStore::remove(const InstalledStack& stack) const {
  try {
    const StackLock lock(home_, stack.folder.filename().string(), {});
    std::filesystem::remove(stack.folder / "stack.json");
    std::filesystem::remove_all(stack.folder);
  } catch (const std::filesystem::filesystem_error& error) {
    throw ProvisionError(fmt::format("{}: {}", stack.spec.name, error.what()));
  }
}

std::optional<Enclosure> StackStore::enclosure(const InstalledStack& stack) const {
  if (stack.spec.source != StackSource::image) return std::nullopt;
  Enclosure enclosure{.program = shepherd_.parent_path() / "reprobench-enclosure",
                      .shepherd = shepherd_,
                      .root = stack.spec.root,
                      .readable = {stack.worker.parent_path()}};
  if (stack.spec.components.contains("cuda")) enclosure.gpu = gpu_files_of_host(host_library_folders("/"));
  return enclosure;
}

std::map<std::string, std::string> StackStore::environment(const InstalledStack& stack) const {
  // Wheels find each other by their own DT_RPATH, and the worker finds torch by its.
  if (stack.spec.is_of_wheels()) return {};
  return {{"LD_LIBRARY_PATH", fmt::format("{}", fmt::join(stack.spec.library_dirs, ":"))}};
}

}  // namespace reprobench
