// The probes by name (contract/probe.hpp), and the run of one. To add a probe: a row in contract/probe.cpp with its
// operations, a file here, and a row in probe.cpp.
#pragma once

#include <filesystem>

#include "matrix/contract/request.hpp"
#include "matrix/contract/result.hpp"

namespace reprobench {

class ForwardPackage;
class PeerLink;
class ProbeRun;
class RankGroup;

// Each probe has a file of its own.
void probe_device_smoke(ProbeRun& run);
void probe_device_memory(ProbeRun& run);
void probe_device_peer(ProbeRun& run);
void probe_device_compute(ProbeRun& run);
void probe_device_stress(ProbeRun& run);
void probe_collectives(ProbeRun& run);
void probe_operators(ProbeRun& run);
void probe_package(ProbeRun& run);

// The measurements of the probe `device_peer`, between any two devices.
void measure_peer_link(ProbeRun& run, PeerLink& link);
// The probe `package`, with anything that computes like a package.
void measure_package(ProbeRun& run, ForwardPackage& package);
// The probe `collectives` between ranks that have met. Its work depends on where the tensors of their group lie.
void measure_collectives(ProbeRun& run, RankGroup& ranks);

// Runs the request's probe and fills in `result` as it goes; writes FOLDER/trace.jsonl. `data_folder` has the models'
// data. Throws RunFailure with its cause, or whatever LibTorch throws.
void run_probe(const CellRequest& request, const std::filesystem::path& folder, CellResult& result,
               const std::filesystem::path& data_folder = {});

}  // namespace reprobench
