#include "suites/worker/attempt.hpp"

#include <algorithm>
#include <fstream>
#include <new>

#include "kernels/device/device_error.hpp"
#include "matrix/contract/version.hpp"
#include "suites/worker/cuda_backend.hpp"
#include "suites/worker/probes/probe.hpp"
#include "suites/worker/process_facts.hpp"
#include "suites/worker/result_file.hpp"
#include "suites/worker/run_failure.hpp"
#include "suites/worker/stack_probe.hpp"
#include "suites/worker/train_loop.hpp"

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

std::string one_line(std::string text) {
  // LibTorch appends a stack trace of the worker after the first line; it differs between runs and explains nothing.
  text.erase(std::min(text.find('\n'), text.size()));
  return text;
}

void run_workload(const std::filesystem::path& request_path, const std::filesystem::path& data_folder,
                  CellResult& result) {
  const json document = read_json(request_path);
  result.cell_id = text_field(document, "cell_id");
  result.nonce = text_field(document, "nonce");
  const CellRequest request = request_from_json(document);
  result.rank = request.rank;
  if (request.turn_steps > 0) throw RunFailure("unsupported", "this worker takes no turns with others (`turn_steps`)");
  const std::filesystem::path folder = request_path.has_parent_path() ? request_path.parent_path() : ".";
  if (request.workload.is_probe()) {
    run_probe(request, folder, result, data_folder);
  } else {
    run_training(request, folder, data_folder, result);
  }
}

}  // namespace

bool run_attempt(const std::filesystem::path& request_path, const std::filesystem::path& data_folder) {
  CellResult result;
  const auto fail = [&](const std::string& cause, const std::string& detail) {
    result.failure = WorkerFailure{cause, one_line(detail), result.steps_completed};
  };
  try {
    run_workload(request_path, data_folder, result);
  } catch (const RunFailure& failure) {
    fail(failure.cause(), failure.what());
    result.failure->waited_for = failure.waited_for();
    result.failure->calls_differ = failure.calls_differ();
  } catch (const ContractError& error) {
    fail("bad_request", error.what());
  } catch (const DeviceError& error) {
    fail(error.code() == DeviceErrorCode::out_of_memory ? "cuda_oom" : std::string(word(error.code())), error.what());
  } catch (const std::bad_alloc&) {
    fail("host_oom", "memory ran out");
  } catch (const std::exception& error) {
    const std::string cause = cuda_failure_cause(error.what());
    fail(cause.empty() ? "exception" : cause, error.what());
  }
  if (result.peak_rss_bytes == 0) {  // a training noted it when its steps were over
    const ResidentMemory peak = peak_resident_memory();
    result.peak_rss_bytes = peak.all_bytes;
    result.peak_anonymous_bytes = peak.anonymous_bytes;
  }
  Fingerprint fingerprint = probe_stack();
  fingerprint.device_name = result.fingerprint.device_name;
  fingerprint.device = result.fingerprint.device;
  result.fingerprint = std::move(fingerprint);
  write_result(request_path.parent_path() / "result.json", result);
  return !result.failure.has_value();
}

}  // namespace reprobench
