#include "matrix/plan/compat_facts.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>

#include "matrix/base/json_parse.hpp"
#include "matrix/base/regular_file.hpp"
#include "matrix/contract/json_field.hpp"
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
  return wheel;
}

// "R580" -> 580
int branch_number(const std::string& branch) {
  const auto numbers = version_numbers(branch.substr(branch.find_first_not_of('R')));
  if (numbers.empty()) throw ContractError("compat-facts: driver branch `" + branch + "` has no number");
  return numbers.front();
}

void add_architecture_end(CompatFacts& facts, const json& row) {
  const json branch = required<json>(kFactsDocument, row, "last_driver");
  if (branch.is_null()) return;
  facts.architecture_ends.push_back({required<std::string>(kFactsDocument, row, "arch"),
                                     required<std::vector<std::string>>(kFactsDocument, row, "compute_capabilities"),
                                     branch_number(required<std::string>(kFactsDocument, row, "last_driver"))});
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
  for (const json& row : required<json>(kFactsDocument, object, "cuda_min_driver_linux")) {
    if (row.contains("min_driver_linux") && row["min_driver_linux"].is_null()) continue;
    facts.toolkit_driver[required<std::string>(kFactsDocument, row, "toolkit")] =
        required<std::string>(kFactsDocument, row, "min_driver_linux");
  }
  for (const json& row : required<json>(kFactsDocument, object, "cuda_minor_version_floor")) {
    facts.driver_floor[required<int>(kFactsDocument, row, "cuda_major")] =
        required<std::string>(kFactsDocument, row, "min_driver");
  }
  for (const json& row : required<json>(kFactsDocument, object, "arch_support_end")) add_architecture_end(facts, row);
  for (const json& row : required<json>(kFactsDocument, object, "gpus")) add_device_peaks(facts, row);
  const json forward = required<json>(kFactsDocument, object, "forward_compat");
  for (const json& row : required<json>(kFactsDocument, forward, "branches")) {
    facts.forward_compat[required<std::string>(kFactsDocument, row, "cuda")] =
        required<std::vector<std::string>>(kFactsDocument, row, "driver_branches");
  }
  facts.data_center_gpus = required<std::vector<std::string>>(kFactsDocument, forward, "data_center_gpus");
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
