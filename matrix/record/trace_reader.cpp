#include "matrix/record/trace_reader.hpp"

#include "matrix/contract/document/reader.hpp"
#include "matrix/plan/plan.hpp"
#include "matrix/record/plain_file.hpp"
#include "matrix/record/recent_reader.hpp"

namespace reprobench {
namespace {

using nlohmann::json;

// Takes the lines of one trace in order; every member returns what is wrong with a line, or nothing.
class TraceBuilder {
 public:
  TraceBuilder(Trace& trace, const std::string& cell_id, const std::string& nonce, std::int64_t first_step, int rank)
      : trace_(trace), cell_id_(cell_id), nonce_(nonce), first_step_(first_step), rank_(rank) {}

  std::string accept(const json& body) {
    try {
      const auto& kind = body.at("kind").get_ref<const std::string&>();
      if (kind == "header") return accept_header(body);
      if (!has_header_) return "`" + kind + "` comes before the header";
      if (has_final_ && kind != "measurement" && kind != "progress") {
        return "`" + kind + "` comes after the final state";
      }
      if (kind == "step") return accept_step(body);
      if (kind == "tensors" || kind == "final") return accept_tensors(body);
      if (kind == "measurement") return accept_measurement(body);
      if (kind == "progress") return accept_progress(body);
      return "unknown kind `" + kind + "`";
    } catch (const std::exception& error) {
      // A document of the wrong shape; the contract's message names the field.
      return error.what();
    }
  }

  bool has_header() const { return has_header_; }
  bool has_final() const { return has_final_; }

 private:
  std::string accept_header(const json& body) {
    if (has_header_) return "a second header";
    TraceHeader header = trace_header_from_json(body);
    if (header.cell_id != name_without_host(cell_id_)) {
      return "cell_id " + header.cell_id + " does not match expected " + cell_id_;
    }
    if (header.nonce != nonce_) return "nonce " + header.nonce + " does not match expected " + nonce_;
    if (header.rank != rank_) {
      return "rank " + std::to_string(header.rank) + " does not match expected " + std::to_string(rank_);
    }
    trace_.header = std::move(header);
    has_header_ = true;
    return "";
  }

  std::string accept_step(const json& body) {
    StepRecord step = step_record_from_json(body);
    if (step.step != next_step()) {
      return "step " + std::to_string(step.step) + ", expected " + std::to_string(next_step());
    }
    trace_.steps.push_back(std::move(step));
    return "";
  }

  std::string accept_tensors(const json& body) {
    TensorsRecord tensors = tensors_record_from_json(body);
    const std::int64_t expected = tensors.is_final ? next_step() - 1 : next_step();
    if (tensors.step != expected) {
      return "tensors of step " + std::to_string(tensors.step) + ", expected " + std::to_string(expected);
    }
    // What no step's root covers would be judged unchecked.
    if (!trace_.tensors.empty() && trace_.tensors.back().step >= next_step()) {
      return "tensors of step " + std::to_string(trace_.tensors.back().step) + " without the step's own line";
    }
    has_final_ = tensors.is_final;
    trace_.tensors.push_back(std::move(tensors));
    return "";
  }

  std::string accept_measurement(const json& body) {
    if (is_among_steps()) return "a measurement among the steps of a training";
    trace_.measurements.push_back(measurement_from_line(body));
    return "";
  }

  std::string accept_progress(const json& body) {
    if (is_among_steps()) return "a measurement's progress among the steps of a training";
    read_document<ProbeProgress>(body);
    ++trace_.progress_lines;
    return "";
  }

  // A training may time products once it is over.
  bool is_among_steps() const { return !trace_.steps.empty() && !has_final_; }

  std::int64_t next_step() const { return static_cast<std::int64_t>(trace_.steps.size()) + first_step_; }

  Trace& trace_;
  const std::string& cell_id_;
  const std::string& nonce_;
  std::int64_t first_step_;
  int rank_;
  bool has_header_ = false;
  bool has_final_ = false;
};

}  // namespace

Trace read_trace(const std::filesystem::path& path, const std::string& cell_id, const std::string& nonce,
                 std::int64_t first_step, int rank) {
  Trace trace;
  TraceBuilder builder(trace, cell_id, nonce, first_step, rank);
  const LinesRead read = read_checked_lines(path, [&](const json& body) { return builder.accept(body); });
  trace.problem = read.problem;
  if (trace.problem.empty() && !builder.has_final()) {
    trace.problem =
        path.filename().string() + ": no final state after " + std::to_string(read.complete_lines) + " complete lines";
  }
  if (builder.has_header() && trace.header.level == TraceLevel::recent) {
    trace.recent_problem = add_recent_tensors(path.parent_path(), trace.problem.empty(), trace);
    if (trace.problem.empty()) trace.problem = trace.recent_problem;
  }
  return trace;
}

}  // namespace reprobench
