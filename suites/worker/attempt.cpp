#include "suites/worker/attempt.hpp"

#include <exception>
#include <fstream>
#include <utility>

#include <nlohmann/json.hpp>

#include "matrix/contract/request.hpp"
#include "matrix/contract/result.hpp"
#include "suites/worker/last_words.hpp"
#include "suites/worker/peak_memory.hpp"
#include "suites/worker/probes/probe.hpp"
#include "suites/worker/result_file.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/stack_probe.hpp"
#include "suites/worker/train_loop.hpp"
#include "suites/worker/worker_failure.hpp"

namespace reprobench {
namespace {

using nlohmann::json;

json read_json(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) throw RunFailure("bad_request", path.filename().string() + " cannot be opened");
  json document = json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) throw RunFailure("bad_request", path.filename().string() + " is not JSON");
  return document;
}

// So that a refused request is still answered to the right attempt.
std::string text_field(const json& document, const char* key) {
  const auto found = document.is_object() ? document.find(key) : document.end();
  return document.is_object() && found != document.end() && found->is_string() ? found->get<std::string>() : "";
}

void run_workload(const std::filesystem::path& request_path, const std::filesystem::path& data_folder,
                  CellResult& result) {
  const json document = read_json(request_path);
  result.cell_id = text_field(document, "cell_id");
  result.nonce = text_field(document, "nonce");
  const CellRequest request = request_from_json(document);
  result.rank = request.rank;
  const std::filesystem::path folder = request_path.has_parent_path() ? request_path.parent_path() : ".";
  if (request.workload.is_probe()) {
    run_probe(request, folder, result, data_folder);
  } else {
    run_training(request, folder, data_folder, result);
  }
}

// What a result says however the attempt ended.
void write_ended(const std::filesystem::path& path, CellResult& result) {
  if (result.peak_rss_bytes == 0) {  // a training noted it when its steps were over
    const ResidentMemory peak = PeakMemory().peak();
    result.peak_rss_bytes = peak.all_bytes;
    result.peak_anonymous_bytes = peak.anonymous_bytes;
  }
  Fingerprint fingerprint = probe_stack();
  fingerprint.device_name = result.fingerprint.device_name;
  fingerprint.device = result.fingerprint.device;
  result.fingerprint = std::move(fingerprint);
  write_result(path, result);
}

}  // namespace

bool run_attempt(const std::filesystem::path& request_path, const std::filesystem::path& data_folder) {
  CellResult result;
  const std::filesystem::path path = request_path.parent_path() / "result.json";
  try {
    const LastWords last_words(result, [&] { write_ended(path, result); });
    run_workload(request_path, data_folder, result);
  } catch (...) {
    result.failure = failure_of(std::current_exception(), result.steps_completed);
  }
  write_ended(path, result);
  return !result.failure.has_value();
}

}  // namespace reprobench
