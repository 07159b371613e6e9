#include "matrix/provision/torch_place.hpp"

#include <array>
#include <chrono>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <glob.h>
#include <nlohmann/json.hpp>

#include "matrix/base/json_parse.hpp"
#include "matrix/exec/helper_environment.hpp"
#include "matrix/exec/subprocess.hpp"
#include "matrix/provision/provision_error.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibrary = "libtorch_cpu.so";

// The current folder is no part of an environment, and a folder `torch` without __init__.py is no PyTorch.
constexpr const char* kQuestion = R"(import importlib.util, json, sys
sys.path = [p for p in sys.path if p]
spec = importlib.util.find_spec("torch")
print("\n" + json.dumps({"version": "%d.%d" % sys.version_info[:2], "prefix": sys.prefix,
                  "torch": spec.submodule_search_locations[0] if spec and spec.origin else "",
                  "path": sys.path}))
)";

constexpr std::string_view kOfEnvironments[] = {"CONDA_*",    "LD_LIBRARY_PATH", "PYENV_*",
                                                "PYTHONHOME", "PYTHONPATH",      "VIRTUAL_ENV"};

// A place below a prefix where a PyTorch may be, and the folder of its headers from there.
struct Layout {
  const char* lib;
  const char* include;
};
constexpr std::array<Layout, 18> kLayouts = {{
    {"lib/python3*/site-packages/torch/lib", "../include"},
    {"lib64/python3*/site-packages/torch/lib", "../include"},
    {"usr/lib/python3*/site-packages/torch/lib", "../include"},
    {"usr/lib/python3*/dist-packages/torch/lib", "../include"},
    {"usr/lib64/python3*/site-packages/torch/lib", "../include"},
    {"usr/local/lib/python3*/site-packages/torch/lib", "../include"},
    {"usr/local/lib/python3*/dist-packages/torch/lib", "../include"},
    {"opt/*/lib/python3*/site-packages/torch/lib", "../include"},
    {"opt/*/envs/*/lib/python3*/site-packages/torch/lib", "../include"},
    {"*/lib/python3*/site-packages/torch/lib", "../include"},        // /venv, as images have it
    {"*/.venv/lib/python3*/site-packages/torch/lib", "../include"},  // /app/.venv
    {"opt/libtorch/lib", "../include"},
    {"usr/local/libtorch/lib", "../include"},
    {"libtorch/lib", "../include"},
    {"lib", "../include"},
    {"usr/lib/x86_64-linux-gnu", "../../include"},  // before lib/..., which is often a link to it
    {"usr/lib64", "../include"},
    {"lib/x86_64-linux-gnu", "../../include"},
}};

std::vector<std::string> glob_paths(const fs::path& pattern) {
  std::vector<std::string> paths;
  glob_t matches{};
  if (glob(pattern.c_str(), 0, nullptr, &matches) == 0)
    paths.assign(matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
  globfree(&matches);
  return paths;
}

bool is_package(const fs::path& torch) { return fs::exists(torch / "version.py") || fs::exists(torch / "__init__.py"); }

// `lib` holds the library.
TorchPlace place_at(const fs::path& lib, const fs::path& include, const fs::path& prefix) {
  TorchPlace place;
  // The kernel names a mapped file without the links that led to it, so folders are written down without them too.
  const fs::path real = fs::canonical(lib);
  place.lib = real.string();
  place.include = fs::weakly_canonical(include).string();
  if (is_package(real.parent_path())) place.site = real.parent_path().parent_path().string();
  place.prefix = prefix.string();
  return place;
}

// The answer to kQuestion stands in a line of its own: a sitecustomize.py may greet before it, and say goodbye behind.
nlohmann::json answer_among(const std::string& lines) {
  std::istringstream stream(lines);
  nlohmann::json answer;
  for (std::string line; std::getline(stream, line);) {
    nlohmann::json read = json_or_discarded(line);
    if (read.is_object() && read.contains("torch")) answer = std::move(read);
  }
  return answer;
}

// An absolute path without `.` and a slash at its end.
fs::path tidy(const fs::path& path) {
  fs::path whole = fs::absolute(path).lexically_normal();
  return whole.has_filename() ? whole : whole.parent_path();
}

}  // namespace

TorchPlace torch_of_python(const std::string& python) {
  // Not isolated: PYTHONPATH and the user's own site folder are part of what is asked about. It stands in `/`, which is
  // what "" and "." then lead to.
  const std::string program =
      python.find('/') == std::string::npos ? find_in_path(python) : fs::absolute(python).string();
  if (program.empty()) throw ProvisionError(fmt::format("{} is not on PATH; name a Python with its path", python));
  SubprocessOptions options;
  options.command = {program, "-c", kQuestion};
  options.environment = helper_environment(kOfEnvironments);
  options.timeout = std::chrono::seconds(30);
  const SubprocessResult result = run_subprocess(options);
  const nlohmann::json answer = answer_among(result.out);
  if (result.exit_code != 0 || !answer.is_object()) {
    throw ProvisionError(fmt::format("{} cannot be asked for its PyTorch (exit code {}){}{}; is it a Python 3?",
                                     program, result.exit_code, result.err.empty() ? "" : ": ",
                                     result.launch_error.empty() ? result.err : result.launch_error));
  }
  const fs::path torch = answer["torch"].get<std::string>();
  const std::string version = answer["version"].get<std::string>();
  if (torch.empty()) {
    throw ProvisionError(
        fmt::format("Python {} at {} has no PyTorch; it looks in {}. Name the Python of the environment that has it, "
                    "or its folder with "
                    "--prefix",
                    version, program, fmt::join(answer["path"].get<std::vector<std::string>>(), ", ")));
  }
  if (!fs::exists(torch / "lib" / kLibrary)) {
    throw ProvisionError(
        fmt::format("{} is a PyTorch without {}: its installation is incomplete, or its libraries lie elsewhere (a "
                    "distribution's package: try --prefix /)",
                    torch.string(), kLibrary));
  }
  TorchPlace place = place_at(torch / "lib", torch / "include", answer["prefix"].get<std::string>());
  place.python = version;
  return place;
}

TorchPlace torch_below(const fs::path& prefix) {
  const fs::path root = tidy(prefix);
  if (!fs::is_directory(root)) throw ProvisionError(fmt::format("{} is no folder", root.string()));
  std::vector<TorchPlace> places;
  std::set<fs::path> seen;  // lib64 is often a link to lib
  for (const Layout& layout : kLayouts) {
    for (const std::string& lib : glob_paths(root / layout.lib)) {
      std::error_code error;
      if (!fs::exists(fs::path(lib) / kLibrary) || !seen.insert(fs::canonical(lib, error)).second) continue;
      places.push_back(place_at(lib, fs::path(lib) / layout.include, root));
    }
  }
  if (places.empty()) {
    throw ProvisionError(fmt::format(
        "no PyTorch below {}: no folder of a Python environment, of /opt or of the system there holds {}; name "
        "the folder with --libtorch",
        root.string(), kLibrary));
  }
  if (places.size() > 1) {
    std::vector<std::string> libs;
    for (const TorchPlace& place : places) libs.push_back(place.lib);
    throw ProvisionError(fmt::format("{} PyTorch are below {}: {}; choose one with --libtorch", places.size(),
                                     root.string(), fmt::join(libs, ", ")));
  }
  return places.front();
}

TorchPlace torch_in_folder(const fs::path& folder) {
  const fs::path root = tidy(folder);
  const fs::path lib = fs::exists(root / kLibrary) ? root : root / "lib";
  if (!fs::exists(lib / kLibrary)) {
    throw ProvisionError(
        fmt::format("{0} holds neither lib/{1} nor {1}; --libtorch takes the folder of a LibTorch archive, "
                    "`torch` in a site-packages, or a folder of libraries",
                    root.string(), kLibrary));
  }
  const fs::path beside = lib.parent_path() / "include";
  const fs::path above = lib.parent_path().parent_path() / "include";  // of /usr/lib/x86_64-linux-gnu
  const bool is_above = !fs::exists(beside / "ATen") && fs::exists(above / "ATen");
  return place_at(lib, is_above ? above : beside,
                  is_package(lib.parent_path()) ? lib.parent_path().parent_path() : lib.parent_path());
}

}  // namespace reprobench
