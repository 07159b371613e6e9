#include "matrix/image/claims.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/base/digits.hpp"
#include "matrix/image/gpu_claims.hpp"
#include "matrix/plan/dotted_version.hpp"
#include "matrix/spec/scalar.hpp"
#include "matrix/spec/schema.hpp"
#include "matrix/spec/yaml_reader.hpp"

namespace reprobench {
namespace {

constexpr std::string_view kAtLeast = ">=";
constexpr std::string_view kAny = "any";
constexpr const char* kGpu = "gpu";

// Variables and labels that name a component's version.
struct NamedClaim {
  std::string_view name, component;
};
constexpr std::array<NamedClaim, 12> kVariables = {{
    {"CUDA_VERSION", "cuda"},
    {"NV_CUDNN_VERSION", "cudnn"},
    {"CUDNN_VERSION", "cudnn"},
    {"NCCL_VERSION", "nccl"},
    {"NV_LIBNCCL_PACKAGE_VERSION", "nccl"},
    {"PYTORCH_VERSION", "torch"},
    {"TORCH_VERSION", "torch"},
    {"PYTORCH_BUILD_VERSION", "torch"},
    {"TORCHVISION_VERSION", "torchvision"},
    {"TORCHAUDIO_VERSION", "torchaudio"},
    {"PYTHON_VERSION", "python"},
    {"CUBLAS_VERSION", "cublas"},
}};
constexpr std::array<NamedClaim, 5> kLabels = {{
    {"com.nvidia.cuda.version", "cuda"},
    {"com.nvidia.cudnn.version", "cudnn"},
    {"com.nvidia.nccl.version", "nccl"},
    {"com.nvidia.pytorch.version", "torch"},
    {"com.nvidia.cublas.version", "cublas"},
}};

// Words of a tag that are followed by a version: "cuda11.8".
constexpr std::array<NamedClaim, 6> kTagWords = {{{"cuda", "cuda"},
                                                  {"cudnn", "cudnn"},
                                                  {"nccl", "nccl"},
                                                  {"py", "python"},
                                                  {"pytorch", "torch"},
                                                  {"torch", "torch"}}};

// Images of PyTorch itself: `torchserve`, `pytorch-lightning` and `torch-app` have versions of their own.
constexpr std::array<std::string_view, 3> kTorchImages = {"libtorch", "pytorch", "torch"};

// NVIDIA's images are called pytorch:25.09, by year and month.
constexpr int kFirstCalendarMajor = 20;

// The digits and points at the beginning; a package's "8.9.0.131-1+cuda11.8" is 8.9.0.131.
std::string leading_version(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && (is_digit(text[end]) || text[end] == '.')) ++end;
  while (end > 0 && text[end - 1] == '.') --end;
  return std::string(text.substr(0, end));
}

// "11.8" of "cu118".
std::string cuda_of_variant(std::string_view digits) {
  return fmt::format("{}.{}", digits.substr(0, digits.size() - 1), digits.back());
}

// "cuda>=11.8 brand=tesla,driver>=450": the CUDA that a driver must know for a container to start.
std::string required_cuda(const std::string& requirement) {
  const std::size_t at = requirement.find("cuda>=");
  return at == std::string::npos ? "" : leading_version(std::string_view(requirement).substr(at + 6));
}

std::optional<std::string> read_choice(const std::string& what, const YamlNode& node, Scope& scope) {
  if (!node.is_scalar() || node.text == kAny) return read_text(what, node, scope);
  if (!node.text.starts_with(kAtLeast)) return read_version(what, node, scope);
  const std::string_view version = std::string_view(node.text).substr(kAtLeast.size());
  if (!version.empty() && leading_version(version) == version) return node.text;
  scope.diagnostics.error(node.mark, "RB019",
                          fmt::format("`{}` must be a version \"2.9\", \">=3.10\" or any, got {}", what, shown(node)));
  return std::nullopt;
}

void read_components(ClaimsFile& file, const YamlEntry& entry, Scope& scope) {
  if (!is_map_or_reported(entry.key, entry.value, scope)) return;
  for (const YamlEntry& component : entry.value.entries) {
    ImageClaim claim{component.key, {}, to_string(component.value.mark)};
    if (component.value.is_sequence()) {
      for (const YamlNode& item : component.value.items) {
        if (auto choice = read_choice(component.key, item, scope)) claim.choices.push_back(std::move(*choice));
      }
    } else if (auto choice = read_choice(component.key, component.value, scope)) {
      claim.choices.push_back(std::move(*choice));
    }
    if (!claim.choices.empty()) file.claims.push_back(std::move(claim));
  }
}

// Each is a claim of its own: all must hold.
void read_gpus(ClaimsFile& file, const YamlEntry& entry, Scope& scope) {
  if (!is_list_or_reported(entry.key, entry.value, "[\"8.0\", \"9.0\"]", scope)) return;
  for (const YamlNode& item : entry.value.items) {
    const auto text = read_version(entry.key, item, scope);
    if (!text) continue;
    if (leading_version(*text) == *text && version_numbers(*text).size() == 2) {
      file.claims.push_back({kGpu, {*text}, to_string(item.mark)});
    } else {
      scope.diagnostics.error(
          item.mark, "RB019",
          fmt::format("`{}` must be compute capabilities such as \"9.0\", got {}", entry.key, shown(item)));
    }
  }
}

constexpr Field<ClaimsFile> kClaimsFields[] = {
    {"schema", kRequired, "Always 1.", &read_schema_version<ClaimsFile>},
    {"name", kRequired, "Of the release that promises this.",
     [](ClaimsFile& file, const YamlEntry& entry, Scope& scope) {
       assign(file.name, read_name(entry.key, entry.value, scope));
     }},
    {"published", kOptional, "The sentence that people read.",
     [](ClaimsFile& file, const YamlEntry& entry, Scope& scope) {
       assign(file.published, read_text(entry.key, entry.value, scope));
     }},
    {"gpus", kOptional, "Compute capabilities that it runs on, each of them: [\"8.0\", \"9.0\"].", &read_gpus},
    {"claims", kRequired,
     "A component or package each: \"2.9\" names 2.9.1 too, \">=3.10\", `any` (it is there), or a list of these, one "
     "of "
     "which holds. `driver`, `jupyter` and `ssh` are components.",
     &read_components},
};

bool is_service(const std::string& component) { return component == "jupyter" || component == "ssh"; }

bool has_service(const std::string& service, const Image& image, const ImageSoftware& software) {
  if (service == "ssh") return image.tree.find("usr/sbin/sshd") != nullptr;
  return std::any_of(software.packages.begin(), software.packages.end(), [](const ImagePackage& package) {
    return package.name == "notebook" || package.name == "jupyterlab" || package.name == "jupyter-server";
  });
}

// Judges one claim after the other against the same image.
class ClaimJudge {
 public:
  ClaimJudge(const Image& image, const ImageSoftware& software, const CompatFacts& facts)
      : image_(image), software_(software), facts_(facts) {}

  JudgedClaim judge(const ImageClaim& claim) const {
    JudgedClaim judged{claim.component,
                       fmt::format("{}", fmt::join(claim.choices, " or ")),
                       claim.source,
                       "",
                       "",
                       ClaimWord::unread,
                       "",
                       ""};
    if (claim.component == "driver") return judge_driver(claim, judged);
    if (claim.component == kGpu) return judge_gpu_claim(judged, software_);
    if (claim.component == "driver-cuda") return judge_requirement(claim, judged);
    if (is_service(claim.component)) {
      judged.word = has_service(claim.component, image_, software_) ? ClaimWord::agrees : ClaimWord::contradicted;
      if (judged.word == ClaimWord::contradicted) judged.why = claim.component + " is not installed";
      return judged;
    }
    const auto found = software_.components.find(claim.component);
    if (found == software_.components.end()) return judge_absent(claim, judged);
    judged.found = found->second.version;
    judged.evidence = found->second.evidence;
    const bool agrees = std::any_of(claim.choices.begin(), claim.choices.end(),
                                    [&](const std::string& choice) { return choice_names(choice, judged.found); });
    judged.word = agrees ? ClaimWord::agrees : ClaimWord::contradicted;
    if (!agrees) judged.why = fmt::format("{} is {}, by {}", claim.component, judged.found, judged.evidence);
    return judged;
  }

 private:
  static JudgedClaim unread(JudgedClaim judged, std::string why) {
    judged.why = std::move(why);
    return judged;
  }

  // Without a version in evidence a library may be there all the same.
  JudgedClaim judge_absent(const ImageClaim& claim, JudgedClaim judged) const {
    if (software_.torches.empty()) return unread(judged, "without a PyTorch nothing says which libraries count");
    for (const ImageLibrary& library : software_.libraries) {
      if (library.component != claim.component || !library.is_taken) continue;
      judged.evidence = library.path;
      return unread(judged, fmt::format("{} is there, and nothing tells its version", library.path));
    }
    judged.word = ClaimWord::contradicted;
    judged.why = fmt::format("{} is not there for the PyTorch in /{}", claim.component, software_.torches.front());
    return judged;
  }

  // "525" is a branch, and 525.60.13 its first driver that runs CUDA 12.
  JudgedClaim judge_driver(const ImageClaim& claim, JudgedClaim judged) const {
    const auto cuda = software_.components.find("cuda");
    if (cuda == software_.components.end()) return unread(judged, "the CUDA of its PyTorch is not known");
    const std::vector<int> numbers = version_numbers(cuda->second.version);
    const auto floor = numbers.empty() ? facts_.driver_floor.end() : facts_.driver_floor.find(numbers.front());
    if (floor == facts_.driver_floor.end()) {
      return unread(judged, fmt::format("the oldest driver for CUDA {} is not known", cuda->second.version));
    }
    judged.found = floor->second;
    judged.evidence = fmt::format("the oldest driver that runs CUDA {}", cuda->second.version);
    const bool agrees = std::all_of(claim.choices.begin(), claim.choices.end(), [&](std::string_view choice) {
      if (choice.starts_with(kAtLeast)) choice.remove_prefix(kAtLeast.size());
      return version_names(choice, floor->second) || !version_less(choice, floor->second);
    });
    judged.word = agrees ? ClaimWord::agrees : ClaimWord::contradicted;
    if (!agrees) {
      judged.why =
          fmt::format("CUDA {} of its PyTorch needs a driver of {} or later", cuda->second.version, judged.found);
    }
    return judged;
  }

  // A requirement below the CUDA in the image lets a container start where its first kernel fails.
  JudgedClaim judge_requirement(const ImageClaim& claim, JudgedClaim judged) const {
    const auto cuda = software_.components.find("cuda");
    if (cuda == software_.components.end()) return unread(judged, "the CUDA of its PyTorch is not known");
    judged.found = cuda->second.version;
    judged.evidence = cuda->second.evidence;
    const std::vector<int> required = version_numbers(std::string_view(claim.choices.front()).substr(kAtLeast.size()));
    const std::vector<int> found = version_numbers(judged.found);
    if (required.empty() || found.empty()) return unread(judged, "it names no CUDA release");
    judged.word = required.front() >= found.front() ? ClaimWord::agrees : ClaimWord::contradicted;
    if (judged.word == ClaimWord::contradicted) {
      judged.why = fmt::format("its PyTorch is built for CUDA {}, which a driver for CUDA {} does not run",
                               judged.found, required.front());
    }
    return judged;
  }

  const Image& image_;
  const ImageSoftware& software_;
  const CompatFacts& facts_;
};

// Whether `version`, the first word of a tag, is PyTorch's. `repository` is what stands before the colon.
bool is_version_of_torch(std::string_view repository, std::string_view version) {
  if (version.empty() || leading_version(version) != version || version.find('.') == std::string_view::npos) {
    return false;
  }
  const std::string_view name = repository.substr(repository.rfind('/') + 1);
  const std::vector<int> numbers = version_numbers(version);
  return !numbers.empty() && numbers.front() < kFirstCalendarMajor &&
         std::find(kTorchImages.begin(), kTorchImages.end(), name) != kTorchImages.end();
}

}  // namespace

ClaimsFile parse_claims(const std::string& text, const std::string& file) {
  Diagnostics diagnostics;
  Scope scope{diagnostics};
  const YamlNode root = read_yaml(text, file, {"a claims file", "claims"}, diagnostics);
  if (root.entries.empty()) diagnostics.throw_if_any();
  ClaimsFile claims;
  read_fields<ClaimsFile>(claims, root, kClaimsFields, scope);
  const YamlNode* said = root.find("claims");
  if (said != nullptr && said->is_map() && said->entries.empty()) {
    diagnostics.error(said->mark, "RB019", "`claims` names none");
  }
  diagnostics.throw_if_any();
  return claims;
}

ClaimsFile load_claims(const std::string& path) { return parse_claims(read_yaml_file(path), path); }

std::vector<ImageClaim> claims_of_tag(const std::string& tag) {
  std::vector<ImageClaim> claims;
  const std::size_t slash = tag.rfind('/');
  const std::size_t colon = tag.find(':', slash == std::string::npos ? 0 : slash);
  const std::size_t end = std::min(tag.find('@'), tag.size());  // a digest claims nothing of what is in it
  // An OCI layout may name an image by its tag alone.
  if (colon >= end && slash != std::string::npos) return claims;
  const std::size_t begin = colon >= end ? 0 : colon + 1;
  const std::string_view repository = std::string_view(tag).substr(0, begin == 0 ? 0 : begin - 1);
  const std::string source = "tag " + tag;
  std::string rest = tag.substr(begin, end - begin) + "-";
  std::replace(rest.begin(), rest.end(), '_', '-');
  bool is_first = true;
  for (std::size_t dash = rest.find('-'); dash != std::string::npos; dash = rest.find('-')) {
    const std::string word = rest.substr(0, dash);
    rest.erase(0, dash + 1);
    const std::string bare = word.starts_with('v') ? word.substr(1) : word;
    if (is_first && is_version_of_torch(repository, bare)) claims.push_back({"torch", {bare}, source});
    is_first = false;
    if (word.starts_with("cu") && word.size() == 5 && is_all_digits(word.substr(2))) {
      claims.push_back({"cuda", {cuda_of_variant(std::string_view(word).substr(2))}, source});
    }
    for (const NamedClaim& known : kTagWords) {
      const std::string version = word.starts_with(known.name) ? leading_version(word.substr(known.name.size())) : "";
      // "py310" is 3.10.
      const bool is_joined =
          known.component == "python" && version.find('.') == std::string::npos && version.size() > 1;
      if (version.empty() || version.size() + known.name.size() != word.size()) continue;
      claims.push_back({std::string(known.component),
                        {is_joined ? version.substr(0, 1) + "." + version.substr(1) : version},
                        source});
    }
  }
  return claims;
}

std::vector<ImageClaim> claims_of_image(const Image& image) {
  std::vector<ImageClaim> claims;
  for (const std::string& tag : image.tags) {
    for (ImageClaim& claim : claims_of_tag(tag)) claims.push_back(std::move(claim));
  }
  for (const NamedClaim& known : kVariables) {
    const auto found = image.config.environment.find(std::string(known.name));
    if (found == image.config.environment.end()) continue;
    const std::string version = leading_version(found->second);
    if (!version.empty()) {
      claims.push_back({std::string(known.component), {version}, fmt::format("ENV {}", known.name)});
    }
  }
  for (const NamedClaim& known : kLabels) {
    const auto found = image.config.labels.find(std::string(known.name));
    if (found == image.config.labels.end()) continue;
    const std::string version = leading_version(found->second);
    if (!version.empty()) {
      claims.push_back({std::string(known.component), {version}, fmt::format("label {}", known.name)});
    }
  }
  const auto requirement = image.config.environment.find("NVIDIA_REQUIRE_CUDA");
  if (requirement != image.config.environment.end()) {
    if (const std::string cuda = required_cuda(requirement->second); !cuda.empty()) {
      claims.push_back({"driver-cuda", {">=" + cuda}, "ENV NVIDIA_REQUIRE_CUDA"});
    }
  }
  return claims;
}

bool choice_names(std::string_view choice, std::string_view found) {
  if (choice == kAny) return !found.empty();
  // CUDA_VERSION has three numbers, a PyTorch tells two of its CUDA: they agree as far as both go.
  if (!choice.starts_with(kAtLeast)) {
    return !version_numbers(found).empty() && (version_names(choice, found) || version_names(found, choice));
  }
  return !version_numbers(found).empty() && !version_less(found, choice.substr(kAtLeast.size()));
}

std::vector<JudgedClaim> judge_claims(const std::vector<ImageClaim>& claims, const Image& image,
                                      const ImageSoftware& software, const CompatFacts& facts) {
  const ClaimJudge judge(image, software, facts);
  std::vector<JudgedClaim> judged;
  for (const ImageClaim& claim : claims) judged.push_back(judge.judge(claim));
  return judged;
}

}  // namespace reprobench
