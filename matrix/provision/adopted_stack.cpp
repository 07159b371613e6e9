#include "matrix/provision/adopted_stack.hpp"

#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/provision/torch_release.hpp"
#include "matrix/provision/yaml_text.hpp"

namespace reprobench {
namespace {

namespace fs = std::filesystem;

template <class Texts>
std::string quoted_list(const Texts& texts) {
  std::vector<std::string> items;
  for (const std::string& text : texts) items.push_back(quoted_scalar(text));
  return fmt::format("[{}]", fmt::join(items, ", "));
}

// The beginning of both kinds of file, up to the section of their source.
std::string head_of_file(const std::string& name, const std::string& source, const std::string& summary,
                         const EnvironmentSurvey& survey) {
  std::vector<std::string> components;
  for (const auto& [component, version] : survey.components)
    components.push_back(component + ": " + quoted_scalar(version));
  return fmt::format(
      "schema: 1\n"
      "name: {}\n"
      "summary: {}\n"
      "source: {}\n"
      "components: {{{}}}\n"
      "cxx11_abi: {}\n"
      "cxx_standard: {}\n"
      "{}:\n",
      name, quoted_scalar(summary), source, fmt::join(components, ", "), survey.cxx11_abi, survey.cxx_standard, source);
}

std::string folders_and_libraries(const EnvironmentSurvey& survey) {
  std::string text = fmt::format(
      "  include_dirs: {}\n"
      "  library_dirs: {}\n"
      "  libraries:\n",
      quoted_list(survey.include_dirs), quoted_list(survey.library_dirs));
  for (const auto& [library, identity] : survey.libraries)
    text += fmt::format("    {}: {}\n", library, quoted_scalar(identity));
  return text;
}

}  // namespace

std::string adopted_stack_file(const std::string& name, const TorchPlace& place, const EnvironmentSurvey& survey) {
  const std::string summary = fmt::format("PyTorch {} adopted from {}", survey.components.at("torch"), place.lib);
  return "# Written by `reprobench stack adopt`: a PyTorch that was there, as it was found. Adopt it again after a "
         "change.\n" +
         head_of_file(name, "system", summary, survey) + folders_and_libraries(survey);
}

std::string image_stack_file(const std::string& name, const ImagePlace& image, const TorchPlace& place,
                             const EnvironmentSurvey& survey) {
  const std::string summary =
      fmt::format("PyTorch {} in {} of the image {}", survey.components.at("torch"), place.lib, image.name);
  return "# Written by `reprobench qualify`: the PyTorch of an image, as its own programs see it.\n" +
         head_of_file(name, "image", summary, survey) +
         fmt::format("  name: {}\n  digest: {}\n  root: {}\n", quoted_scalar(image.name), quoted_scalar(image.digest),
                     quoted_scalar(image.root)) +
         (image.host_include_dirs.empty()
              ? ""
              : fmt::format("  host_include_dirs: {}\n", quoted_list(image.host_include_dirs))) +
         folders_and_libraries(survey);
}

std::string find_adopted_problem(const StackSpec& spec, const std::string& again) {
  if (spec.library_dirs.empty() || spec.include_dirs.empty()) return "its file names no folders; " + again;
  const std::string& lib = spec.library_dirs.front();
  if (!fs::exists(fs::path(lib) / "libtorch_cpu.so")) return fmt::format("no libtorch_cpu.so in {} any more", lib);
  const TorchPlace place{.include = spec.include_dirs.front(), .lib = lib, .site = "", .python = "", .prefix = ""};
  const std::string release = read_torch_release(place).declared;
  if (release != spec.components.at("torch")) {
    return fmt::format("its torch is {} now and was {} when adopted; {}", release.empty() ? "without headers" : release,
                       spec.components.at("torch"), again);
  }
  const EnvironmentSurvey now =
      survey_environment(place, {.of_program = spec.library_dirs, .of_host = host_library_folders("/")}, false);
  for (const auto& [library, identity] : spec.libraries) {
    const auto found = now.libraries.find(library);
    if (found == now.libraries.end()) return fmt::format("{} is gone; {}", library, again);
    if (found->second == identity) continue;
    return fmt::format("{} is another one now: its build is {} and was {} when adopted; {}", library, found->second,
                       identity, again);
  }
  for (const auto& [library, identity] : now.libraries) {
    if (!spec.libraries.contains(library)) return fmt::format("{} has come; {}", library, again);
  }
  return "";
}

}  // namespace reprobench
