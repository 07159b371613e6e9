#include "suites/worker/worker_failure.hpp"

#include <algorithm>
#include <new>
#include <string>

#include "kernels/device/device_error.hpp"
#include "matrix/contract/version.hpp"
#include "suites/worker/cuda_backend.hpp"
#include "suites/worker/run_failure.hpp"

namespace reprobench {
namespace {

std::string one_line(std::string text) {
  text.erase(std::min(text.find('\n'), text.size()));
  return text;
}

std::string cause_of(const DeviceError& error) {
  return error.code() == DeviceErrorCode::out_of_memory ? "cuda_oom" : std::string(word(error.code()));
}

}  // namespace

WorkerFailure failure_of(const std::exception_ptr& thrown, std::int64_t steps_completed) {
  const auto failure = [&](const std::string& cause, const std::string& detail) {
    return WorkerFailure{cause, one_line(detail), steps_completed};
  };
  try {
    std::rethrow_exception(thrown);
  } catch (const RunFailure& error) {
    WorkerFailure told = failure(error.cause(), error.what());
    told.waited_for = error.waited_for();
    told.calls_differ = error.calls_differ();
    return told;
  } catch (const ContractError& error) {
    return failure("bad_request", error.what());
  } catch (const DeviceError& error) {
    return failure(cause_of(error), error.what());
  } catch (const std::bad_alloc&) {
    return failure("host_oom", "memory ran out");
  } catch (const std::exception& error) {
    const std::string cause = cuda_failure_cause(error.what());
    return failure(cause.empty() ? "exception" : cause, error.what());
  } catch (...) {
    return failure("exception", "something was thrown that is no std::exception");
  }
}

}  // namespace reprobench
