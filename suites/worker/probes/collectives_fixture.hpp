// For tests: the probe of collectives with its ranks as threads of this process.
#pragma once

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "matrix/contract/request.hpp"
#include "matrix/contract/result.hpp"
#include "suites/worker/probes/probe.hpp"
#include "suites/worker/ranks/in_threads.hpp"
#include "suites/worker/temporary_folder.hpp"

namespace reprobench {

inline CellRequest request_of_ranks(int ranks) {
  CellRequest request;
  request.cell_id = "3f9c1e0a7b52";
  request.nonce = "0123456789abcdef";
  request.workload = {"", "base", 0, 0, "collectives", 4};
  request.device = "cpu";
  request.knobs = with_defaults({});
  request.world_size = ranks;
  request.collective_timeout_ms = 10'000;
  return request;
}

// `run` is called once a rank, all at once, with its request, its folder and its result. A fault is planted in one
// rank.
template <class Run>
std::vector<CellResult> results_of(const CellRequest& request, Run run) {
  const TemporaryFolder folder;
  std::vector<CellResult> results(static_cast<std::size_t>(request.world_size));
  in_threads(request.world_size, [&](int rank) {
    CellRequest own = request;
    own.rank = rank;
    if (own.inject && own.inject->rank != rank) own.inject.reset();
    const auto rank_folder = folder.path() / ("rank-" + std::to_string(rank));
    std::filesystem::create_directory(rank_folder);
    run(own, rank_folder, results[static_cast<std::size_t>(rank)]);
  });
  return results;
}

inline std::vector<CellResult> results_of(const CellRequest& request) {
  return results_of(request, [](const CellRequest& own, const std::filesystem::path& folder, CellResult& result) {
    run_probe(own, folder, result);
  });
}

inline const ProbeMeasurement& measured(const CellResult& result, const std::string& operation,
                                        const std::string& size) {
  const auto found = std::ranges::find_if(result.measurements, [&](const ProbeMeasurement& one) {
    return one.operation == operation && one.labels.at("size") == size;
  });
  if (found == result.measurements.end()) throw std::runtime_error("no " + operation + " of " + size);
  return *found;
}

}  // namespace reprobench
