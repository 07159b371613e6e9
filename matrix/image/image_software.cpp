#include "matrix/image/image_software.hpp"

#include <algorithm>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/image/device_code.hpp"
#include "matrix/image/image_libraries.hpp"
#include "matrix/image/image_packages.hpp"
#include "matrix/provision/library_search.hpp"
#include "matrix/provision/package_metadata.hpp"
#include "matrix/provision/torch_release.hpp"

namespace reprobench {
namespace {

constexpr std::int64_t kLargestSourceBytes = 1 << 20;
constexpr std::string_view kCpuLibrary = "libtorch_cpu.so";

// As `==` of a requirement has it: 2.9 is 2.9.0 and not 2.9.1, and a local part counts only where the pin has one.
bool is_pinned(std::string pin, std::string version) {
  if (pin.find('+') == std::string::npos) version = version.substr(0, version.find('+'));
  for (std::string* text : {&pin, &version}) {
    while (text->ends_with(".0")) text->resize(text->size() - 2);
  }
  return pin == version;
}

class SoftwareFinder {
 public:
  explicit SoftwareFinder(const Image& image) : image_(image), files_(image.tree) {}

  ImageSoftware find() {
    all_packages_ = read_image_packages(image_.tree, software_.findings);
    records_ = read_records(image_.tree, all_packages_, software_.findings);
    find_torches();
    find_taken_libraries();
    find_other_copies();
    check_preloaded();
    name_components();
    check_libraries();
    check_packages();
    return std::move(software_);
  }

 private:
  void add(FindingSeverity severity, const char* code, std::string path, std::string what) {
    software_.findings.push_back({severity, code, std::move(path), std::move(what)});
  }

  // A PyTorch is where its CPU library lies. The first on PATH is the one that a command would start.
  void find_torches() {
    std::set<std::string> seen;  // a distribution's library is a link to one with its version in the name
    for (const auto& [path, entry] : image_.tree.entries()) {
      if (name_of_path(path) != kCpuLibrary || entry.kind == EntryKind::folder) continue;
      const auto file = image_.tree.resolved(path);
      if (file && seen.insert(*file).second) software_.torches.emplace_back(folder_of_path(*file));
    }
    if (software_.torches.empty()) {
      add(FindingSeverity::fail, "no-torch", "", "it holds no PyTorch: no file is named libtorch_cpu.so");
      return;
    }
    const auto place_on_path = [this](const std::string& lib) {
      const auto path = image_.config.environment.find("PATH");
      std::istringstream folders(path == image_.config.environment.end() ? "" : path->second);
      int place = 0;
      for (std::string folder; std::getline(folders, folder, ':'); ++place) {
        const std::string prefix = path_of_link("..", path_of_link(folder, ""));
        if (!prefix.empty() && lib.starts_with(prefix + "/lib")) return place;
      }
      return place;
    };
    std::stable_sort(software_.torches.begin(), software_.torches.end(),
                     [&](const std::string& a, const std::string& b) { return place_on_path(a) < place_on_path(b); });
    if (software_.torches.size() > 1) {
      add(FindingSeverity::fail, "two-torches", "/" + software_.torches[1],
          fmt::format("there are {} PyTorch; /{} is inspected, since its Python comes first", software_.torches.size(),
                      software_.torches[0]));
    }
  }

  LoaderFolders loader_folders() const {
    LoaderFolders folders;
    folders.of_program.push_back("/" + software_.torches.front());
    const auto found = image_.config.environment.find("LD_LIBRARY_PATH");
    std::istringstream paths(found == image_.config.environment.end() ? "" : found->second);
    for (std::string path; std::getline(paths, path, ':');) {
      if (!path.empty()) folders.of_program.push_back(path);
    }
    folders.of_host = host_library_folders("/", files_);
    return folders;
  }

  // As the loader finds them, which passes by what ldconfig has not seen.
  LibrarySearch look_for(const std::vector<std::string>& first, const LoaderFolders& folders) {
    for (;;) {
      LibrarySearch search = search_libraries(first, folders, files_);
      const std::vector<std::string> unseen = libraries_not_in_cache(first, folders, search.found, files_);
      if (unseen.empty()) return search;
      for (const std::string& path : unseen) {
        files_.hide(path);
        add(FindingSeverity::warn, "not-in-cache", path,
            "ld.so.conf names its folder and ld.so.cache does not have it, so the loader passes it by: run ldconfig");
      }
    }
  }

  void find_taken_libraries() {
    if (software_.torches.empty()) return;
    std::vector<std::string> first;
    for (const char* part :
         {"libtorch_cpu.so", "libc10.so", "libtorch_cuda.so", "libc10_cuda.so", "libtorch_cuda_linalg.so"}) {
      const std::string path = fmt::format("/{}/{}", software_.torches.front(), part);
      if (files_.exists(path)) first.push_back(path);
    }
    const LoaderFolders folders = loader_folders();
    LibrarySearch search = look_for(first, folders);
    // cuDNN opens the libraries of its parts by name when they are used.
    for (const FoundLibrary& library : search.found) {
      if (!library.name.starts_with("libcudnn.so")) continue;
      const std::string folder = library.path.substr(0, library.path.rfind('/'));
      for (const std::string& name : files_.names_in(folder)) {
        if (name.starts_with("libcudnn_") && name.find(".so.") != std::string::npos)
          first.push_back(folder + "/" + name);
      }
      check_parts_of_cudnn(folder, library.name.substr(library.name.rfind('.')), folders);
    }
    search = look_for(first, folders);
    for (const FoundLibrary& library : search.found) take(library);
    for (const SecondCopy& copy : search.by_processor) {
      add(FindingSeverity::warn, "by-processor", copy.other,
          fmt::format("processors of this kind load this {}, others {}", copy.name,
                      copy.taken.empty() ? "none" : copy.taken));
    }
    for (const MissingLibrary& missing : search.missing) {
      if (is_of_driver(missing.name)) continue;
      add(FindingSeverity::fail, "missing-library", missing.needed_by,
          fmt::format("it needs {}, which is nowhere that the loader looks", missing.name));
    }
    for (const std::string& path : search.damaged) {
      const ImageEntry* entry = image_.tree.find(path);
      if (entry != nullptr && entry->kind == EntryKind::file && entry->content.empty()) {
        add(FindingSeverity::unread, "library", path, "its bytes were not kept, so what it needs is not known");
        continue;
      }
      add(FindingSeverity::fail, "damaged-library", path,
          "it is no library for x86-64: cut off, or for another machine");
    }
  }

  // A part that its own folder lacks is taken from wherever the loader finds one: another release's.
  // Those of another major release have other names: cuDNN 9 never asks for a libcudnn_ops_infer.so.8.
  void check_parts_of_cudnn(const std::string& folder, const std::string& major, const LoaderFolders& folders) {
    std::vector<std::string> others = folders.of_program;
    others.insert(others.end(), folders.of_host.begin(), folders.of_host.end());
    std::set<std::string> said;
    for (const std::string& other : others) {
      if (image_.tree.resolved(other) == image_.tree.resolved(folder)) continue;
      for (const std::string& name : files_.names_in(other)) {
        const bool is_soname = name.starts_with("libcudnn_") && name.ends_with(".so" + major);
        if (!is_soname || files_.exists(folder + "/" + name) || !said.insert(name).second) continue;
        add(FindingSeverity::fail, "mixed-cudnn", other + "/" + name,
            fmt::format("{} lacks {}, so that of another cuDNN would be loaded beside it", folder, name));
      }
    }
  }

  void take(const FoundLibrary& found) {
    ImageLibrary library = described(found.name, found.path);
    library.is_taken = true;
    software_.libraries.push_back(std::move(library));
  }

  ImageLibrary described(const std::string& name, const std::string& path) {
    ImageLibrary library;
    library.name = name;
    library.path = "/" + image_.tree.resolved(path).value_or(path.substr(1));
    library.component = component_of_library(name);
    const ImageEntry* entry = image_.tree.find(path);
    if (entry == nullptr || entry->content.empty()) return library;
    library.identity = library_identity(entry->content);
    if (!library.component.empty()) name_version(library, entry->content, records_);
    if (library.component == "torch" || library.component == "nccl" || library.component == "cudnn") {
      const DeviceCode code = read_device_code(entry->content);
      library.capabilities = capability_names(code);
      if (!code.problem.empty()) add(FindingSeverity::unread, "device-code", library.path, code.problem);
    }
    return library;
  }

  // The same components again, wherever they lie.
  void find_other_copies() {
    std::set<std::string> known;
    for (const ImageLibrary& library : software_.libraries) known.insert(library.path);
    for (const auto& [path, entry] : image_.tree.entries()) {
      const std::string_view name = name_of_path(path);
      if (entry.kind != EntryKind::file || !is_library_name(name) || known.count("/" + path) > 0) continue;
      const std::string component = component_of_library(name);
      if (component != "cudnn" && component != "nccl" && component != "cuda" && component != "cublas") continue;
      const auto elf = files_.read("/" + path);
      software_.libraries.push_back(
          described(elf && !elf->soname.empty() ? elf->soname : std::string(name), "/" + path));
    }
  }

  // Libraries that are loaded before all others are not where the loader's search would find them.
  void check_preloaded() {
    const auto found = image_.config.environment.find("LD_PRELOAD");
    name_preloaded(files_.text("/etc/ld.so.preload"), "");
    if (found != image_.config.environment.end()) {
      name_preloaded(found->second, "; a run of `qualify` does not have it");
    }
  }

  void name_preloaded(std::string list, const char* in_a_run) {
    for (char& c : list) c = c == ':' ? ' ' : c;
    std::istringstream words(list);
    for (std::string path; words >> path;) {
      const bool counts = !component_of_library(name_of_path(path)).empty();
      add(counts ? FindingSeverity::fail : FindingSeverity::warn, "preloaded", path,
          fmt::format("it is loaded into every program, before the libraries that were found here{}", in_a_run));
    }
  }

  std::string site_of_torch() const {
    if (software_.torches.empty()) return "";
    const std::string& lib = software_.torches.front();  // SITE/torch/lib
    return lib.ends_with("/torch/lib") ? lib.substr(0, lib.size() - std::string_view("/torch/lib").size()) : "";
  }

  void name_components() {
    const std::string site = site_of_torch();
    for (const ImagePackage& package : all_packages_) {
      if (package.site == site && !site.empty()) software_.packages.push_back(package);
    }
    if (!software_.torches.empty()) name_torch(site);
    for (const ImagePackage& package : software_.packages) {
      software_.components.try_emplace(package.name,
                                       FoundComponent{package.version, "/" + package.information + "/METADATA"});
    }
    if (!software_.torches.empty() && software_.components.count("torch") == 0) {
      add(FindingSeverity::unread, "no-version", "/" + software_.torches.front(),
          "nothing tells its PyTorch's version");
    }
    for (const ImageLibrary& library : software_.libraries) {
      const bool stands_for_component = library.name.starts_with("libcudnn.so") || library.component == "nccl";
      if (!library.is_taken || !stands_for_component || library.version.empty()) continue;
      software_.components[library.component] = {library.version,
                                                 fmt::format("{} ({})", library.path, library.evidence)};
    }
  }

  void name_torch(const std::string& site) {
    const std::string folder = fmt::format("{}/", folder_of_path(software_.torches.front()));
    const std::string source = text_in(image_.tree, folder + "version.py", kLargestSourceBytes).text;
    std::string torch = python_assignment(source, "__version__");
    std::string evidence = "/" + folder + "version.py";
    if (torch.empty()) {
      const std::string built = text_in(image_.tree, folder + "build-version", kLargestSourceBytes).text;
      torch = built.substr(0, built.find('\n'));
      evidence = "/" + folder + "build-version";
    }
    if (!torch.empty()) software_.components["torch"] = {torch, evidence};
    if (const std::string cuda = python_assignment(source, "cuda"); !cuda.empty()) {
      software_.components["cuda"] = {cuda, evidence};
    }
    const std::size_t python = site.find("/python3");
    if (python == std::string::npos) return;
    const std::string prefix = site.substr(0, site.rfind("/lib", python));
    std::string version = site.substr(python + 7, site.find('/', python + 1) - python - 7);
    evidence = "/" + site;
    std::istringstream lines(text_in(image_.tree, prefix + "/pyvenv.cfg", kLargestSourceBytes).text);
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("version = ")) continue;
      version = line.substr(10);
      evidence = "/" + prefix + "/pyvenv.cfg";
    }
    software_.components["python"] = {version, evidence};
  }

  void check_libraries() {
    std::map<std::string, const ImageLibrary*> taken;
    for (const ImageLibrary& library : software_.libraries) {
      if (library.is_taken) taken[library.name] = &library;
      if (library.record == RecordState::changed) {
        add(FindingSeverity::fail, "changed-library", library.path,
            fmt::format("its bytes are {}: it was replaced after it was installed", library.evidence));
      }
      if (library.identity.empty() && !library.component.empty()) {
        add(FindingSeverity::unread, "library", library.path, "its bytes were not read");
      }
    }
    for (const ImageLibrary& library : software_.libraries) {
      const auto found = taken.find(library.name);
      if (library.is_taken || found == taken.end() || found->second->identity == library.identity) continue;
      add(copy_severity(library), "second-copy", library.path,
          fmt::format("another {}{}; the loader takes {}{}", library.name, in_brackets(library.version),
                      found->second->path, in_brackets(found->second->version)));
    }
    check_copies_that_none_takes(taken);
    check_folder_of_cudnn(taken);
  }

  // A PyTorch without GPUs takes no cuDNN, but another program of the image may take either of two that differ.
  void check_copies_that_none_takes(const std::map<std::string, const ImageLibrary*>& taken) {
    std::map<std::string, const ImageLibrary*> first;
    for (const ImageLibrary& library : software_.libraries) {
      if (library.component.empty() || taken.count(library.name) > 0) continue;
      const ImageLibrary& known = *first.try_emplace(library.name, &library).first->second;
      if (known.identity == library.identity) continue;
      add(FindingSeverity::warn, "second-copy", library.path,
          fmt::format("another {}{} than {}{}; PyTorch takes neither by itself", library.name,
                      in_brackets(library.version), known.path, in_brackets(known.version)));
    }
  }

  // Inside the environment of PyTorch a copy is an accident that a preloaded library or an import order turns into the
  // one that is loaded. The system's own beside it is what base images have.
  FindingSeverity copy_severity(const ImageLibrary& library) const {
    const std::string site = site_of_torch();
    const bool is_beside = !site.empty() && library.path.starts_with("/" + site + "/");
    return is_beside ? FindingSeverity::fail : FindingSeverity::warn;
  }

  static std::string in_brackets(const std::string& version) {
    return version.empty() ? "" : fmt::format(" ({})", version);
  }

  void check_folder_of_cudnn(const std::map<std::string, const ImageLibrary*>& taken) {
    std::set<std::string> folders;
    for (const auto& [name, library] : taken) {
      if (library->component == "cudnn") folders.insert(library->path.substr(0, library->path.rfind('/')));
    }
    if (folders.size() > 1) {
      add(FindingSeverity::fail, "mixed-cudnn", *folders.begin(),
          fmt::format("the parts of cuDNN would be loaded from {} folders: {}", folders.size(),
                      fmt::join(folders, ", ")));
    }
  }

  // One package twice, or two that bring the same component for two CUDA releases.
  void check_packages() {
    std::map<std::string, std::vector<const ImagePackage*>> by_component;
    for (const ImagePackage& package : software_.packages) {
      std::string name = package.name;
      if (name.starts_with("nvidia-"))
        name = name.substr(0, name.rfind("-cu1") == std::string::npos ? name.size() : name.rfind("-cu1"));
      by_component[name].push_back(&package);
    }
    for (const auto& [name, packages] : by_component) {
      if (packages.size() < 2) continue;
      std::vector<std::string> said;
      for (const ImagePackage* package : packages) said.push_back(package->name + " " + package->version);
      add(FindingSeverity::fail, "package-twice", "/" + packages.front()->site,
          fmt::format("{} are installed over each other", fmt::join(said, " and ")));
    }
    for (const ImagePackage& package : software_.packages) check_pins(package);
  }

  // What is built against one torch does not load with another. What torch pins can be exchanged, and often is.
  void check_pins(const ImagePackage& package) {
    for (const std::string& requirement : package.requirements) {
      const auto pin = exact_pin(requirement);
      if (!pin || (pin->name != "torch" && package.name != "torch")) continue;
      const auto other = std::ranges::find(software_.packages, pin->name, &ImagePackage::name);
      if (other == software_.packages.end()) continue;
      if (is_pinned(pin->version, other->version)) continue;
      add(pin->name == "torch" ? FindingSeverity::fail : FindingSeverity::warn, "mispaired", "/" + package.information,
          fmt::format("{} {} asks for {} {}, and {} is there", package.name, package.version, pin->name, pin->version,
                      other->version));
    }
  }

  const Image& image_;
  ImageFiles files_;
  std::vector<ImagePackage> all_packages_;
  RecordedFiles records_;
  ImageSoftware software_;
};

}  // namespace

bool is_software_evidence(std::string_view path, std::int64_t size_bytes) {
  constexpr std::int64_t kLargestLibraryBytes = std::int64_t{8} << 30;
  const std::string_view name = name_of_path(path);
  if (is_library_name(name)) return size_bytes <= kLargestLibraryBytes;
  if (path.ends_with(".dist-info/METADATA") || path.ends_with(".dist-info/RECORD")) return size_bytes <= 16 << 20;
  return size_bytes <= kLargestSourceBytes &&
         (name == "version.py" || name == "build-version" || name == "pyvenv.cfg" || path.starts_with("etc/ld.so."));
}

ImageSoftware find_software(const Image& image) { return SoftwareFinder(image).find(); }

}  // namespace reprobench
