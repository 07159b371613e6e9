#include "matrix/plan/compat_facts.hpp"

#include <fstream>
#include <sstream>
#include <stdexcept>

#include <nlohmann/json.hpp>

namespace reprobench {
namespace {

using nlohmann::json;

std::string text_or_empty(const json& row, const char* key) {
  const auto found = row.find(key);
  return found == row.end() || found->is_null() ? "" : found->get<std::string>();
}

TorchWheel wheel_from(const json& row) {
  TorchWheel wheel{row.at("torch").get<std::string>(), row.at("variant").get<std::string>(),
                   text_or_empty(row, "cuda_toolkit"), text_or_empty(row, "cudnn"),
                   text_or_empty(row, "nccl"),         {},
                   text_or_empty(row, "glibc_min")};
  if (!row.at("sm").is_null()) wheel.sm = row.at("sm").get<std::vector<std::string>>();
  return wheel;
}

ArchitectureEnd architecture_from(const json& row) {
  const std::string branch = text_or_empty(row, "last_driver");  // "R580"
  return {row.at("arch").get<std::string>(), row.at("compute_capability_min").get<std::string>(),
          row.at("compute_capability_max").get<std::string>(), branch.empty() ? 0 : std::stoi(branch.substr(1))};
}

// The number at `position`, which moves behind the following dot.
long next_number(const std::string& version, std::size_t& position) {
  long number = 0;
  while (position < version.size() && version[position] >= '0' && version[position] <= '9') {
    number = number * 10 + (version[position++] - '0');
  }
  position = version.find('.', position);
  position = position == std::string::npos ? version.size() : position + 1;
  return number;
}

}  // namespace

CompatFacts parse_compat_facts(const std::string& text) {
  CompatFacts facts;
  try {
    const json document = json::parse(text);
    if (document.at("schema") != "reprobench-compat-facts/1") throw std::runtime_error("another schema");
    for (const json& row : document.at("torch_wheels")) facts.torch_wheels.push_back(wheel_from(row));
    for (const json& row : document.at("cuda_minor_version_floor")) {
      facts.driver_floor[row.at("cuda_major").get<int>()] = row.at("min_driver").get<std::string>();
    }
    for (const json& row : document.at("cuda_min_driver_linux")) {
      const std::string driver = text_or_empty(row, "min_driver_linux");
      if (!driver.empty()) facts.toolkit_driver[row.at("toolkit").get<std::string>()] = driver;
    }
    for (const json& row : document.at("arch_support_end")) facts.architecture_ends.push_back(architecture_from(row));
  } catch (const std::exception& error) {
    throw std::runtime_error(std::string("compat-facts.json: ") + error.what());
  }
  return facts;
}

CompatFacts load_compat_facts(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path.string() + " cannot be read");
  std::ostringstream text;
  text << file.rdbuf();
  return parse_compat_facts(text.str());
}

int compare_versions(const std::string& a, const std::string& b) {
  std::size_t position_a = 0;
  std::size_t position_b = 0;
  while (position_a < a.size() || position_b < b.size()) {
    const long number_a = next_number(a, position_a);
    const long number_b = next_number(b, position_b);
    if (number_a != number_b) return number_a < number_b ? -1 : 1;
  }
  return 0;
}

}  // namespace reprobench
