#include "matrix/plan/compat_facts.hpp"

#include <algorithm>
#include <cmath>

#include "matrix/base/json_parse.hpp"
#include "matrix/base/regular_file.hpp"
#include "matrix/contract/json_field.hpp"
#include "matrix/plan/compat_facts_check.hpp"
#include "matrix/plan/dotted_version.hpp"

namespace reprobench {
namespace {

using nlohmann::json;

constexpr const char* kFactsDocument = "compat-facts";
constexpr const char* kSchema = "reprobench-compat-facts/1";

// Rows say null for what is not verified.
template <class T>
T known_or(const json& row, const char* key, T unknown) {
  const json value = required<json>(kFactsDocument, row, key);
  return value.is_null() ? unknown : required<T>(kFactsDocument, row, key);
}

using Texts = std::vector<std::string>;

Evidence evidence_of(const json& row) {
  return {required<Texts>(kFactsDocument, row, "source"), required<std::string>(kFactsDocument, row, "confidence")};
}

// "3.10-3.14 (3.15 exp)"
void read_python(WheelFacts& wheel, const std::string& text) {
  if (text.empty()) return;
  const std::size_t dash = text.find('-');
  const std::size_t blank = text.find(' ');
  if (dash == std::string::npos) throw ContractError("compat-facts: `python` is no range: " + text);
  wheel.python_min = text.substr(0, dash);
  wheel.python_max = text.substr(dash + 1, blank == std::string::npos ? blank : blank - dash - 1);
  if (blank == std::string::npos) return;
  const std::string rest = text.substr(blank);
  if (!rest.starts_with(" (") || !rest.ends_with(" exp)")) {
    throw ContractError("compat-facts: `python` is no range: " + text);
  }
  wheel.python_experimental = rest.substr(2, rest.size() - 7);
}

WheelFacts wheel_from_json(const json& row) {
  WheelFacts wheel;
  wheel.torch = required<std::string>(kFactsDocument, row, "torch");
  wheel.variant = required<std::string>(kFactsDocument, row, "variant");
  wheel.cuda_toolkit = known_or<std::string>(row, "cuda_toolkit", "");
  wheel.cudnn = known_or<std::string>(row, "cudnn", "");
  wheel.nccl = known_or<std::string>(row, "nccl", "");
  wheel.kernels_of = known_or<std::vector<std::string>>(row, "sm", {});
  wheel.cxx11_abi = known_or<int>(row, "cxx11_abi", -1);
  wheel.glibc_min = known_or<std::string>(row, "glibc_min", "");
  wheel.released = known_or<std::string>(row, "released", "");
  read_python(wheel, known_or<std::string>(row, "python", ""));
  wheel.cxx_standard = known_or<int>(row, "cxx_standard", 0);
  wheel.evidence = evidence_of(row);
  return wheel;
}

// "R580" -> 580
int branch_number(const std::string& branch) {
  const auto numbers = version_numbers(branch.substr(branch.find_first_not_of('R')));
  if (numbers.empty()) throw ContractError("compat-facts: driver branch `" + branch + "` has no number");
  return numbers.front();
}

void add_architecture(CompatFacts& facts, const json& row) {
  const auto name = required<std::string>(kFactsDocument, row, "arch");
  const auto capabilities = required<Texts>(kFactsDocument, row, "compute_capabilities");
  if (const auto first = optional_field<std::string>(kFactsDocument, row, "first_driver")) {
    facts.architecture_starts.push_back({name, capabilities, *first, evidence_of(row)});
  }
  if (required<json>(kFactsDocument, row, "last_driver").is_null()) return;
  std::string last_cuda = required<std::string>(kFactsDocument, row, "last_cuda");
  if (last_cuda.ends_with(".x")) last_cuda.resize(last_cuda.size() - 2);
  facts.architecture_ends.push_back({name, capabilities,
                                     branch_number(required<std::string>(kFactsDocument, row, "last_driver")),
                                     last_cuda, evidence_of(row)});
}

void read_toolkits(CompatFacts& facts, const json& object) {
  for (const json& row : required<json>(kFactsDocument, object, "cuda_min_driver_linux")) {
    if (row.contains("min_driver_linux") && row["min_driver_linux"].is_null()) continue;
    const auto toolkit = required<std::string>(kFactsDocument, row, "toolkit");
    if (facts.toolkit_driver.contains(toolkit)) {
      throw ContractError("compat-facts: toolkit " + toolkit + " has two rows in `cuda_min_driver_linux`");
    }
    facts.toolkit_driver[toolkit] = required<std::string>(kFactsDocument, row, "min_driver_linux");
    facts.toolkit_evidence[toolkit] = evidence_of(row);
  }
  for (const json& row : required<json>(kFactsDocument, object, "cuda_minor_version_floor")) {
    const int major = required<int>(kFactsDocument, row, "cuda_major");
    if (facts.driver_floor.contains(major)) {
      throw ContractError("compat-facts: CUDA " + std::to_string(major) +
                          " has two rows in `cuda_minor_version_floor`");
    }
    facts.driver_floor[major] = required<std::string>(kFactsDocument, row, "min_driver");
    facts.floor_evidence[major] = evidence_of(row);
  }
}

void read_channels(CompatFacts& facts, const json& object) {
  for (const json& row : required<json>(kFactsDocument, object, "torch_channel_last")) {
    facts.channel_ends.push_back({required<std::string>(kFactsDocument, row, "channel"),
                                  required<std::string>(kFactsDocument, row, "last_torch"), evidence_of(row)});
  }
  for (const json& row : required<json>(kFactsDocument, object, "channel_differences")) {
    facts.channel_differences.push_back({required<Texts>(kFactsDocument, row, "channels"),
                                         required<std::string>(kFactsDocument, row, "difference"), evidence_of(row)});
  }
  for (const json& row : required<json>(kFactsDocument, object, "docker_tags")) {
    facts.docker_tags.push_back({required<std::string>(kFactsDocument, row, "torch"),
                                 required<Texts>(kFactsDocument, row, "cuda"),
                                 required<std::string>(kFactsDocument, row, "cudnn"), evidence_of(row)});
  }
  for (const json& row : required<json>(kFactsDocument, object, "torch_patch_differences")) {
    facts.patch_differences.push_back({required<std::string>(kFactsDocument, row, "torch"),
                                       required<std::string>(kFactsDocument, row, "variant"),
                                       required<std::string>(kFactsDocument, row, "component"),
                                       required<std::string>(kFactsDocument, row, "version"), evidence_of(row)});
  }
  for (const json& row : required<json>(kFactsDocument, object, "torch_companions")) {
    facts.companions.push_back({required<std::string>(kFactsDocument, row, "package"),
                                required<std::map<std::string, std::string>>(kFactsDocument, row, "torch_of"),
                                evidence_of(row)});
  }
  const json releases = required<json>(kFactsDocument, object, "torch_releases");
  facts.torch_releases = required<Texts>(kFactsDocument, releases, "releases");
  facts.torch_releases_evidence = evidence_of(releases);
}

void read_libraries(CompatFacts& facts, const json& object) {
  for (const json& row : required<json>(kFactsDocument, object, "cudnn")) {
    LibraryFacts cudnn;
    cudnn.version = required<std::string>(kFactsDocument, row, "cudnn");
    cudnn.cuda = required<Texts>(kFactsDocument, row, "cuda");
    cudnn.capability_min = known_or<std::string>(row, "capability_min", "");
    cudnn.capability_max = known_or<std::string>(row, "capability_max", "");
    cudnn.note = required<std::string>(kFactsDocument, row, "note");
    cudnn.evidence = evidence_of(row);
    facts.cudnn.push_back(cudnn);
  }
  for (const json& row : required<json>(kFactsDocument, object, "nccl")) {
    LibraryFacts nccl;
    nccl.version = required<std::string>(kFactsDocument, row, "nccl");
    nccl.cuda = known_or<Texts>(row, "cuda", {});
    nccl.note = required<std::string>(kFactsDocument, row, "feature");
    nccl.evidence = evidence_of(row);
    facts.nccl.push_back(nccl);
  }
}

void add_driver_branch(CompatFacts& facts, const json& row) {
  facts.driver_branches.push_back({branch_number(required<std::string>(kFactsDocument, row, "branch")),
                                   required<std::string>(kFactsDocument, row, "kind"),
                                   required<std::string>(kFactsDocument, row, "eol")});
}

KnownDefect defect_from_json(const json& row) {
  KnownDefect defect;
  defect.id = required<std::string>(kFactsDocument, row, "id");
  const auto broken = [&](const std::string& why) {
    return ContractError("compat-facts: known defect `" + defect.id + "`: " + why);
  };
  const auto names = components_of_defects();
  for (const auto& [name, range] : required<std::map<std::string, std::string>>(kFactsDocument, row, "components")) {
    if (std::ranges::find(names, name) == names.end()) throw broken("`" + name + "` is no component");
    try {
      defect.components.emplace(name, VersionRange::parse(range));
    } catch (const ContractError& error) {
      throw broken(error.what());
    }
  }
  if (defect.components.empty()) throw broken("`components` names no version");
  defect.operation = required<std::string>(kFactsDocument, row, "operation");
  defect.dtype = known_or<std::string>(row, "dtype", "");
  for (const std::string& device : required<Texts>(kFactsDocument, row, "devices")) {
    if (device != "cpu" && device != "gpu") throw broken("`" + device + "` is neither cpu nor gpu");
    (device == "cpu" ? defect.on_cpu : defect.on_gpu) = true;
  }
  const auto effect = required<std::string>(kFactsDocument, row, "effect");
  if (!from_word<DefectEffect>(effect)) throw broken("`" + effect + "` is no effect");
  defect.effect = *from_word<DefectEffect>(effect);
  defect.sentence = required<std::string>(kFactsDocument, row, "sentence");
  defect.evidence = evidence_of(row);
  return defect;
}

// One direction of 16 lanes: 8 GT/s a lane in generation 3, twice that in each later one, 128 of 130 bits payload.
double pcie_x16_gb_per_s(int generation) { return std::ldexp(8.0 * 16 / 8 * 128 / 130, generation - 3); }

void add_device_peaks(CompatFacts& facts, const json& row) {
  DevicePeaks peaks;
  peaks.gpu = required<std::string>(kFactsDocument, row, "gpu");
  peaks.memory_gb_per_s = required<double>(kFactsDocument, row, "mem_bw_gbs");
  const json rates = required<json>(kFactsDocument, row, "tflops_dense");
  for (const auto& [dtype, rate] : rates.items()) {
    if (rate.is_number() && dtype != "int8") peaks.tflop_per_s[dtype] = rate.get<double>();
  }
  const double nvlink_both_ways = known_or<double>(row, "nvlink_gbs_bidir", 0);
  if (nvlink_both_ways > 0) peaks.nvlink_gb_per_s = nvlink_both_ways / 2;
  const int pcie = known_or<int>(row, "pcie_gen", 0);
  if (pcie >= 3) peaks.host_link_gb_per_s = pcie_x16_gb_per_s(pcie);
  for (const std::string& name : required<std::vector<std::string>>(kFactsDocument, row, "device_names")) {
    peaks.device_name = name;
    facts.device_peaks.push_back(peaks);
  }
}

}  // namespace

const WheelFacts* CompatFacts::find_wheel(const std::string& torch_line, const std::string& variant) const {
  for (const WheelFacts& wheel : wheels) {
    if (wheel.torch == torch_line && wheel.variant == variant) return &wheel;
  }
  return nullptr;
}

std::vector<std::string> CompatFacts::variants_of(const std::string& torch_line) const {
  std::vector<std::string> variants;
  for (const WheelFacts& wheel : wheels) {
    if (wheel.torch == torch_line) variants.push_back(wheel.variant);
  }
  return variants;
}

const DevicePeaks* CompatFacts::find_peaks(const std::string& device_name) const {
  const auto found = std::ranges::find(device_peaks, device_name, &DevicePeaks::device_name);
  return found == device_peaks.end() ? nullptr : &*found;
}

std::string CompatFacts::driver_of_toolkit(const std::string& toolkit) const {
  for (const auto& [known, driver] : toolkit_driver) {
    if (!version_less(known, toolkit) && !version_less(toolkit, known)) return driver;
  }
  return "";
}

CompatFacts compat_facts_from_json(const json& object) {
  if (!object.is_object() || object.value("schema", "") != kSchema) {
    throw ContractError(std::string("compat-facts: `schema` is not ") + kSchema);
  }
  CompatFacts facts;
  for (const json& row : required<json>(kFactsDocument, object, "torch_wheels")) {
    facts.wheels.push_back(wheel_from_json(row));
  }
  read_toolkits(facts, object);
  for (const json& row : required<json>(kFactsDocument, object, "arch_support_end")) add_architecture(facts, row);
  read_channels(facts, object);
  read_libraries(facts, object);
  for (const json& row : required<json>(kFactsDocument, object, "driver_branches")) add_driver_branch(facts, row);
  for (const json& row : required<json>(kFactsDocument, object, "known_defects")) {
    facts.known_defects.push_back(defect_from_json(row));
  }
  for (const json& row : required<json>(kFactsDocument, object, "gpus")) add_device_peaks(facts, row);
  const json forward = required<json>(kFactsDocument, object, "forward_compat");
  for (const json& row : required<json>(kFactsDocument, forward, "branches")) {
    facts.forward_compat[required<std::string>(kFactsDocument, row, "cuda")] =
        required<std::vector<std::string>>(kFactsDocument, row, "driver_branches");
  }
  facts.data_center_gpus = required<std::vector<std::string>>(kFactsDocument, forward, "data_center_gpus");
  facts.forward_evidence = evidence_of(forward);
  facts.sources = required<std::map<std::string, std::string>>(kFactsDocument, object, "sources");
  check_compat_facts(facts);
  return facts;
}

CompatFacts load_compat_facts(const std::filesystem::path& path) {
  constexpr std::int64_t kLargestFactsBytes = 16 << 20;
  const FileText facts = read_regular_file(path, kLargestFactsBytes);
  if (!facts.problem.empty()) throw ContractError("compat-facts: cannot read " + path.string() + ": " + facts.problem);
  const json object = json_or_discarded(facts.text);
  if (object.is_discarded()) throw ContractError("compat-facts: " + path.string() + " is not JSON");
  return compat_facts_from_json(object);
}

}  // namespace reprobench
