// For tests of this layer: a folder of one's own, and an attempt's files as a good worker leaves them.
#pragma once

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <stdlib.h>

#include "matrix/contract/number.hpp"
#include "matrix/record/run_record.hpp"

namespace reprobench {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "reprobench-record-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp " + name);
    path = name;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::filesystem::path path;
};

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

    const std::string digest(32, 'a');
    lines.push_back(to_json(TraceHeader{request.cell_id, request.nonce, digest, request.trace}));
    for (std::int64_t number = 1; number <= request.workload.steps; ++number) {
      StepRecord step;
      step.step = number;
      step.loss = exact_float(1.0f);
      step.step_time_ns = 1000;
      step.root = digest;
      step.chain = std::string(31, 'b') + std::to_string(number);
      lines.push_back(to_json(step));
    }
    lines.push_back(to_json(TensorsRecord{request.workload.steps, true, {}}));

    result.cell_id = request.cell_id;
    result.nonce = request.nonce;
    result.workload_digest = digest;
    result.steps_completed = request.workload.steps;
    result.chain = std::string(31, 'b') + "3";
    result.trace_lines = static_cast<std::int64_t>(lines.size());
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

}  // namespace reprobench
