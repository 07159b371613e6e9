#include "matrix/record/recent_reader.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "matrix/contract/recent_tensors.hpp"
#include "matrix/record/plain_file.hpp"

namespace reprobench {
namespace {

using nlohmann::json;

using ByStep = std::map<std::int64_t, TensorsRecord>;

// Takes the lines of one segment in order; returns what is wrong with a line, or nothing.
class SegmentBuilder {
 public:
  SegmentBuilder(const TraceHeader& header, ByStep& records) : header_(header), records_(records) {}

  std::string accept(const json& body) {
    try {
      const auto& kind = body.at("kind").get_ref<const std::string&>();
      if (!has_header_) return accept_header(body);
      if (kind != "tensors") return fmt::format("`{}` in a segment", kind);
      TensorsRecord tensors = tensors_record_from_json(body);
      const std::int64_t step = tensors.step;
      if (step <= last_step_) return fmt::format("tensors of step {} after those of step {}", step, last_step_);
      last_step_ = step;
      if (!records_.emplace(step, std::move(tensors)).second) {
        return fmt::format("tensors of step {}, which another segment has", step);
      }
      return "";
    } catch (const std::exception& error) {
      return error.what();
    }
  }

 private:
  std::string accept_header(const json& body) {
    const TraceHeader header = trace_header_from_json(body);
    if (header.nonce != header_.nonce) {
      return fmt::format("nonce {} does not match trace.jsonl's {}", header.nonce, header_.nonce);
    }
    if (to_json(header) != to_json(header_)) return "its header is not that of trace.jsonl";
    has_header_ = true;
    return "";
  }

  const TraceHeader& header_;
  ByStep& records_;
  bool has_header_ = false;
  std::int64_t last_step_ = 0;
};

std::string read_segment(const std::filesystem::path& path, bool is_whole, const TraceHeader& header, ByStep& records) {
  SegmentBuilder segment(header, records);
  const LinesRead read = read_checked_lines(path, [&](const json& body) { return segment.accept(body); });
  const std::string name = path.filename().string();
  // Such a file is left by a worker that was killed as it wrote. Whether a record is missing because of that shows when
  // all are there.
  const bool is_cut = read.torn_tail || read.problem == name + ": empty";
  const bool is_excused = read.problem == name + ": missing" || (is_cut && !is_whole);
  return is_excused ? "" : read.problem;
}

// Takes what may not be there out of `records`, and returns what should not.
std::string leave_last(ByStep& records, bool is_whole, const Trace& trace) {
  const std::int64_t last = trace.steps.empty() ? 0 : trace.steps.back().step;
  if (!is_whole) records.erase(records.upper_bound(last), records.end());  // killed before the trace said so
  if (records.empty()) return "";
  const std::int64_t first = trace.steps.empty() ? 0 : trace.steps.front().step;
  for (const std::int64_t step : {records.begin()->first, records.rbegin()->first}) {
    if (step >= first && step <= last) continue;
    return fmt::format("tensors of step {} in a segment, and trace.jsonl has the steps {} to {}", step, first, last);
  }
  for (const TensorsRecord& tensors : trace.tensors) {
    if (tensors.is_final || !records.contains(tensors.step)) continue;
    return fmt::format("trace.jsonl and a segment have tensors of step {}", tensors.step);
  }
  records.erase(records.begin(), records.upper_bound(last - kRecentSteps));
  return "";
}

std::string missing_step(const ByStep& records, const Trace& trace) {
  const auto has_own = [&](std::int64_t step) {
    return std::ranges::any_of(trace.tensors,
                               [&](const TensorsRecord& tensors) { return tensors.step == step && !tensors.is_final; });
  };
  for (const StepRecord& step : trace.steps) {
    const bool is_needed = keeps_tensors(TraceLevel::recent, step.step, trace.steps.back().step);
    if (!is_needed || records.contains(step.step) || has_own(step.step)) continue;
    return fmt::format("trace.jsonl: the tensors of step {} are on record nowhere", step.step);
  }
  return "";
}

}  // namespace

std::string add_recent_tensors(const std::filesystem::path& folder, bool is_whole, Trace& trace) {
  ByStep records;
  for (const std::string_view name : kRecentSegments) {
    const std::string problem = read_segment(folder / name, is_whole, trace.header, records);
    if (!problem.empty()) return problem;
  }
  for (const std::string& problem : {leave_last(records, is_whole, trace), missing_step(records, trace)}) {
    if (!problem.empty()) return problem;
  }
  trace.recent_tensors = std::ssize(records);
  TensorsList merged;
  auto recent = records.begin();
  for (const TensorsRecord& own : std::as_const(trace.tensors)) {
    for (; recent != records.end() && (own.is_final || recent->first < own.step); ++recent) {
      merged.push_back(std::move(recent->second));
    }
    merged.push_back(own);
  }
  for (; recent != records.end(); ++recent) merged.push_back(std::move(recent->second));
  trace.tensors = std::move(merged);
  return "";
}

}  // namespace reprobench
