#include "matrix/provision/image_stack.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "matrix/base/json_parse.hpp"
#include "matrix/provision/adopted_stack.hpp"
#include "matrix/provision/cuda_headers.hpp"
#include "matrix/provision/environment_survey.hpp"
#include "matrix/provision/inside_root.hpp"
#include "matrix/provision/provision_error.hpp"
#include "matrix/provision/symbol_versions.hpp"
#include "matrix/provision/torch_place.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

// A GPU part that cannot be used is no reason against cells of the CPU. Those of a GPU are skipped, which leaves a run
// open that requires them.
constexpr bool kWithoutGpu = false;

// As the worker will see it: first with what the image's LD_LIBRARY_PATH adds, then with the folders found alone.
EnvironmentSurvey survey_as_run(const TorchPlace& place, const ImageIdentity& image,
                                const std::vector<std::string>& given_headers) {
  LoaderFolders folders{.of_program = image.library_path, .of_host = host_library_folders("/")};
  folders.of_program = survey_environment(place, folders, kWithoutGpu, given_headers).library_dirs;
  return survey_environment(place, folders, kWithoutGpu, given_headers);
}

// What is asked of a root: as which stack, and what of CUDA this host adds.
struct RootQuestion {
  std::string stack;
  ImageIdentity image;
  fs::path root;
  HostCudaHeaders given;
  std::vector<std::string> given_headers;  // files in its folders, which are out of reach inside
};

// In the root's own process: `{"file": ..., "notes": [...], "fatal": [...], "cuda": "12.8", "missing_headers": [...]}`.
std::string survey_told(const RootQuestion& asked) {
  const TorchPlace place = torch_below("/");
  const EnvironmentSurvey found = survey_as_run(place, asked.image, asked.given_headers);
  nlohmann::json told = {{"fatal", nlohmann::json::array()},
                         {"notes", nlohmann::json::array()},
                         {"cuda", found.cuda},
                         {"missing_headers", found.missing_cuda_headers}};
  for (const std::string& folder : found.library_dirs) {
    // The worker's own DT_RPATH, which holds these folders, comes before every variable.
    if (!fs::exists(fs::path(folder) / "libcuda.so.1")) continue;
    told["notes"].push_back(fmt::format("its own libcuda.so.1 in {} is used instead of the host's driver", folder));
  }
  for (const EnvironmentProblem& problem : found.problems) {
    told[problem.is_fatal ? "fatal" : "notes"].push_back(problem.text);
  }
  if (told["fatal"].empty()) {
    const ImagePlace in_image{asked.image.name, asked.image.digest, asked.root.string(), asked.given.folders};
    told["file"] = image_stack_file(asked.stack, in_image, place, found);
  }
  return told.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

nlohmann::json told_of(const RootQuestion& asked) {
  nlohmann::json told;
  try {
    told = json_or_discarded(told_inside(asked.root, [&] { return survey_told(asked); }));
  } catch (const ProvisionError& error) {
    throw ProvisionError(fmt::format("{} is no stack: inside it, {}", asked.image.name, error.what()));
  }
  const auto fatal = told.at("fatal").get<std::vector<std::string>>();
  if (fatal.empty()) return told;
  throw ProvisionError(fmt::format("{} is no stack: {}", asked.image.name, fmt::join(fatal, "\n            ")));
}

// The answer with headers of this host, if these are all that is missing.
std::optional<nlohmann::json> completed(RootQuestion& asked, const nlohmann::json& told,
                                        const CudaHeaderSource& cuda_headers) {
  const auto missing = told.at("missing_headers").get<std::vector<std::string>>();
  if (missing.empty() || !cuda_headers) return std::nullopt;
  asked.given = cuda_headers(told.at("cuda").get<std::string>());
  asked.given_headers = cuda_headers_in(asked.given.folders);
  const std::vector<std::string>& has = asked.given_headers;
  const bool is_complete = std::ranges::all_of(
      missing, [&](const std::string& header) { return std::ranges::find(has, header) != has.end(); });
  return is_complete ? std::optional(told_of(asked)) : std::nullopt;
}

}  // namespace

ImageStack find_image_stack(const std::string& stack, const ImageIdentity& image, const fs::path& root,
                            const CudaHeaderSource& cuda_headers) {
  RootQuestion asked{stack, image, fs::canonical(root), {}, {}};
  nlohmann::json told = told_of(asked);
  if (const auto with_headers = completed(asked, told, cuda_headers)) {
    told = *with_headers;
    told["notes"].push_back("headers of CUDA that it lacks are taken from " + asked.given.origin);
  }
  return {parse_stack(told.at("file").get<std::string>(), stack + ".yaml"),
          told.at("notes").get<std::vector<std::string>>()};
}

std::string find_image_problem(const StackSpec& spec) {
  try {
    return told_inside(spec.root, [&] { return find_adopted_problem(spec, "`reprobench qualify` reads it again"); });
  } catch (const ProvisionError& error) {
    return fmt::format("the image {} cannot be read any more: {}", spec.image, error.what());
  }
}

std::string find_runtime_lack(const StackSpec& spec, const fs::path& worker) {
  const auto needed = needed_symbol_versions(worker);
  if (needed.empty()) return fmt::format("which versions of symbols {} needs cannot be read", worker.string());
  const std::string lack = told_inside(spec.root, [&] {
    std::vector<std::string> search = spec.library_dirs;
    for (const std::string& folder : host_library_folders("/")) search.push_back(folder);
    return missing_symbol_versions(needed, search);
  });
  if (lack.empty()) return "";
  return fmt::format(
      "a worker that is built on this host does not start in {}: {}; build on a host whose C and C++ libraries are no "
      "newer than the image's, or take an image with newer ones",
      spec.image, lack);
}

}  // namespace reprobench
