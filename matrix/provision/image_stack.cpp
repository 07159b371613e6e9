#include "matrix/provision/image_stack.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "matrix/base/json_parse.hpp"
#include "matrix/provision/adopted_stack.hpp"
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
EnvironmentSurvey survey_as_run(const TorchPlace& place, const ImageIdentity& image) {
  LoaderFolders folders{.of_program = image.library_path, .of_host = host_library_folders("/")};
  folders.of_program = survey_environment(place, folders, kWithoutGpu).library_dirs;
  return survey_environment(place, folders, kWithoutGpu);
}

// In the root's own process: `{"file": ..., "notes": [...], "fatal": [...]}`.
std::string survey_told(const std::string& stack, const ImageIdentity& image, const fs::path& root) {
  const TorchPlace place = torch_below("/");
  const EnvironmentSurvey found = survey_as_run(place, image);
  nlohmann::json told = {{"fatal", nlohmann::json::array()}, {"notes", nlohmann::json::array()}};
  for (const EnvironmentProblem& problem : found.problems) {
    told[problem.is_fatal ? "fatal" : "notes"].push_back(problem.text);
  }
  if (told["fatal"].empty()) {
    told["file"] = image_stack_file(stack, {image.name, image.digest, root.string()}, place, found);
  }
  return told.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

ImageStack find_image_stack(const std::string& stack, const ImageIdentity& image, const fs::path& root) {
  const fs::path real = fs::canonical(root);
  nlohmann::json told;
  try {
    told = json_or_discarded(told_inside(real, [&] { return survey_told(stack, image, real); }));
  } catch (const ProvisionError& error) {
    throw ProvisionError(fmt::format("{} is no stack: inside it, {}", image.name, error.what()));
  }
  const auto fatal = told.at("fatal").get<std::vector<std::string>>();
  if (!fatal.empty()) {
    throw ProvisionError(fmt::format("{} is no stack: {}", image.name, fmt::join(fatal, "\n            ")));
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
