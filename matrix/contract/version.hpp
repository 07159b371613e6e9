// The version of the documents that the coordinator, the workers and the reports exchange.
//
// Rule, as in nextest's archives: another major is refused, a newer minor is refused, an older
// minor is read. The Python side takes the numbers from the shipped schemas, and a test holds the
// schemas against this header.
//
// | version | what changed |
// | 1.0     | first    |
// | 1.1     | an attempt is one or more ranks: `rank` in request, trace header, result, exit record and journal; |
// |         | turns (turns.hpp); `progress` and times of a probe's measurements; in plans `request` and |
// |         | `gate_origin`; in verdicts `dimensions` and what was asked, planted and only recorded; a field that |
// |         | no description has is refused; of a host and its GPUs every fact is there |
// | 1.2     | seals: files of an attempt and the plan in the journal, plan and journal in the verdict; a step's chain |
// |         | covers its loss |
// | 1.3     | a trace's header names the torch it began with; in verdicts how long a cell's attempts took; in |
// |         | comparisons the cells without a partner, and regions of operators |
// | 1.4     | anonymous memory beside the resident set, in results and in steps; of several ranks: the one a fault is |
// |         | planted in and how long a collective may take in requests, who was waited for in results; of a |
// |         | collective's measurements the bytes of a call and the digest of a sum; the document `lint`; the probe |
// |         | `operators`: `calls` and `memory_bytes` of a workload, `call` of a measurement; the document `atlas`; |
// |         | the phase `comm_ns` of a step of several micro-batches; `optimizer_state_bytes` and |
// |         | `model_state_peak_bytes` in results; in comparisons the buffer that a call fills and later steps; |
// |         | checkpoints: `resume_after` of a workload, `checkpoint` of a request, `checkpoints` of a result and |
// |         | `resumed` of a trace's header; the document `memory` and `memory_bytes` of a planned cell; |
// |         | `loss_scale` of a step and the role `scaler_state` of a tensor; `data_wait_ns` of a step's phases; |
// |         | in verdicts the `phases` of a check of step times; of a planned bound `low`; in comparisons every |
// |         | further source of the step that was explained, `further_captures` of a replay; in verdicts the |
// |         | `reference_bits` of a cell; files of the user's: `data_sha256` of a workload, `data_file` of requests |
// |         | and planned cells, `takes_data` of a described workload, `data` of a result; in comparisons |
// |         | `gradient_calls_apart`; in selftests what was explained; of a planned cell `max_repeat`; of weights |
// |         | of the user's `weights_sha256` of a workload, `weights_file` and `weights_shards` of requests and |
// |         | planned cells, `takes_weights` of a described workload, `weights` of a result, `weights_problems` of |
// |         | predicted memory; in comparisons the `module` of sources whose sides take other operators; the document |
// |         | `batch_fit`; the document `topology`, also as a host's in plans; `resume_world_size` of a workload, |
// |         | `weights` of a result's checkpoints; `model_state_device_peak_bytes` and |
// |         | `model_state_host_peak_bytes` in results, `exchange_ns` and `exchange_hidden_ns` of a step's phases; |
// |         | `gemm_peak_samples` and `weight_change` of requests and planned cells, `model_flops` and |
// |         | `weight_change_rel` of results; `link_peak` of a request; `energy_mj` of a reading of a GPU; in |
// |         | verdicts the `links` of an attempt; of ranks on GPUs `nccl` of a result, and `link_gb_per_s` of a |
// |         | measurement; `calls_differ` of a failure; of operator calls on tensors of the user's `tensors_sha256` |
// |         | of a workload, `tensors_file` of requests and planned cells; measurements that are `left_out`; the |
// |         | document `lockstep_bounds`, and `legitimate_ratio_from` of a lockstep; of the probe `package` |
// |         | `package_sha256` of a workload, `package_file` of requests and planned cells, and the labels |
// |         | `model` and `batch`; of an atlas of two runs `expected_run`, and of its columns whose they are, what |
// |         | they are held against and what changed; in comparisons the `operators` of runs that also train, |
// |         | `on_given_values` of a source; `keep_values` and `given_values` of a replay; the trace level |
// |         | `recent` and its segments; `legitimate_ratios` of a lockstep and of the pairs of `lockstep_bounds`, |
// |         | `summed_terms` and `is_learned` of a lockstep; `algorithm_unknown` of a measurement; of a host |
// |         | `cpu_revision`, `cpu_limits` and more words of `cpu_isa`; of a stretch of calls `not_on_record` and |
// |         | `kept`; of planned cells `gaps`, of plans and verdicts `excluded`; the `installed` libraries of |
// |         | stacks in plans; the `verdict` in a journal |
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "matrix/base/contract_error.hpp"

namespace reprobench {

struct ContractVersion {
  int major;
  int minor;
};

inline constexpr ContractVersion kContractVersion{1, 4};
inline constexpr const char* kProjectVersion = "0.2.0";

// {"schema": "reprobench/NAME", "version": {"major": 1, "minor": 0}}: how every document begins.
nlohmann::json document(const std::string& name);

// The minor version of a document called `name`. Throws ContractError unless this build reads it.
int require_document(const nlohmann::json& json, const std::string& name);

}  // namespace reprobench
