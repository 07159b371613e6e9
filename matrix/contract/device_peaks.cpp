#include "matrix/contract/device_peaks.hpp"

#include "matrix/contract/json_field.hpp"

namespace reprobench {

using nlohmann::json;

json to_json(const DevicePeaks& peaks) {
  json object = {{"gpu", peaks.gpu},
                 {"device_name", peaks.device_name},
                 {"memory_gb_per_s", peaks.memory_gb_per_s},
                 {"tflop_per_s", peaks.tflop_per_s}};
  if (peaks.nvlink_gb_per_s) object["nvlink_gb_per_s"] = *peaks.nvlink_gb_per_s;
  if (peaks.host_link_gb_per_s) object["host_link_gb_per_s"] = *peaks.host_link_gb_per_s;
  return object;
}

DevicePeaks device_peaks_from_json(const json& object) {
  DevicePeaks peaks;
  peaks.gpu = required<std::string>("peaks", object, "gpu");
  peaks.device_name = required<std::string>("peaks", object, "device_name");
  peaks.memory_gb_per_s = required<double>("peaks", object, "memory_gb_per_s");
  peaks.tflop_per_s = required<std::map<std::string, double>>("peaks", object, "tflop_per_s");
  if (object.contains("nvlink_gb_per_s")) peaks.nvlink_gb_per_s = required<double>("peaks", object, "nvlink_gb_per_s");
  if (object.contains("host_link_gb_per_s")) {
    peaks.host_link_gb_per_s = required<double>("peaks", object, "host_link_gb_per_s");
  }
  return peaks;
}

}  // namespace reprobench
