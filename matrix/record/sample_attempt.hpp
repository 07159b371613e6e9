// For tests of this layer and of evidence: an attempt's files as a good worker leaves them, and a run of it.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "ci/temporary.hpp"
#include "ci/thrown.hpp"
#include "kernels/digest/digest.hpp"
#include "matrix/base/number.hpp"
#include "matrix/contract/exit_record.hpp"
#include "matrix/contract/request.hpp"
#include "matrix/contract/result.hpp"
#include "matrix/contract/trace.hpp"
#include "matrix/plan/plan.hpp"
#include "matrix/record/run_directory.hpp"

namespace reprobench {

// The documents of a completed attempt; a test spoils one of them and writes them down.
struct SampleAttempt {
  SampleAttempt() {
    request.cell_id = "3f9c1e0a7b52";
    request.nonce = "0123456789abcdef";
    request.suite = "smoke";
    request.workload = {"mlp", "default", 3, 32};
    request.stack = "stack-a";
    request.device = "cpu";
    request.knobs = with_defaults({});
    exit.nonce = request.nonce;
    exit.exit_code = 0;
    exit.duration_ns = 1'000'000'000;

    const std::string digest(32, 'a');
    lines.push_back(to_json(TraceHeader{request.cell_id, request.nonce, digest, request.trace}));
    for (std::int64_t number = 1; number <= request.workload.steps; ++number) {
      StepRecord step;
      step.step = number;
      step.loss = exact_float(1.0f);
      step.step_time_ns = 1000;
      step.phases = {100, 300, 400, 200};
      step.root = digest;
      step.chain = digest;
      lines.push_back(to_json(step));
    }
    lines.push_back(to_json(TensorsRecord{request.workload.steps, true, {}}));

    result.cell_id = request.cell_id;
    result.nonce = request.nonce;
    result.workload_digest = digest;
    result.steps_completed = request.workload.steps;
    result.trace_lines = static_cast<std::int64_t>(lines.size());
    link_steps();
  }

  // Computes the chain of the lines, from the header's workload on.
  void link_steps() {
    const auto digest_in = [](const nlohmann::json& line, const char* key) {
      return digest_from_hex(line.at(key).get_ref<const std::string&>()).value();
    };
    Digest chain = digest_in(lines.front(), "workload_digest");
    for (nlohmann::json& line : lines) {
      if (line.at("kind") != "step") continue;
      chain = step_chain_digest(chain, digest_in(line, "root"), line.at("loss").at("bits").get<std::string>());
      line["chain"] = to_hex(chain);
    }
    result.chain = to_hex(chain);
  }

  // The same attempt at a level of tensors: every step's root is that of one weight. At level `recent` all three steps
  // are in the trace too, because they are log-spaced or the last.
  void record_tensors(TraceLevel level = TraceLevel::tensor) {
    request.trace = level;
    std::vector<nlohmann::json> recorded;
    for (nlohmann::json& line : lines) {
      if (line.at("kind") == "header") line["level"] = to_string(level);
      if (line.at("kind") == "step") {
        const TensorRecord weight{"w", TensorRole::parameter, "float32", {2}, std::string(32, 'c'), std::nullopt};
        DigestBuilder root;
        append_tensor(root, weight.name, to_string(weight.role), weight.digest);
        line["root"] = to_hex(root.finish());
        recorded.push_back(to_json(TensorsRecord{line.at("step").get<std::int64_t>(), false, {weight}}));
      }
      recorded.push_back(line);
    }
    lines = std::move(recorded);
    result.trace_lines = static_cast<std::int64_t>(lines.size());
    link_steps();
  }

  std::string trace_text() const {
    std::string text;
    for (std::size_t i = 0; i < lines.size(); ++i) text += trace_line(lines[i], static_cast<std::int64_t>(i));
    return text;
  }

  void write(const std::filesystem::path& folder) const {
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "exit.json") << to_json(exit).dump();
    std::ofstream(folder / "result.json") << to_json(result).dump();
    std::ofstream(folder / "trace.jsonl") << trace_text();
  }

  CellRequest request;
  ExitRecord exit;
  CellResult result;
  std::vector<nlohmann::json> lines;
};

inline RunInfo sample_info() {
  RunInfo info;
  info.run_id = "r1";
  info.command_line = {"reprobench", "run"};
  info.started_utc = "2026-01-01T00:00:00Z";
  info.reprobench_version = "0.1.0";
  return info;
}

inline Plan sample_plan(const SampleAttempt& sample) {
  Plan plan;
  plan.matrix = "sample";
  Cell cell;
  cell.request = sample.request;
  cell.request.nonce = "";
  cell.slug = "smoke-mlp";
  plan.cells.push_back({cell, std::nullopt, {}});
  return plan;
}

inline std::string what_of(const std::function<void()>& act) { return message_of<StoreError>(act); }

}  // namespace reprobench
