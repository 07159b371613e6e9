#include "suites/fake_worker/behaviour.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

#include "matrix/contract/version.hpp"

namespace reprobench {
namespace {

constexpr std::array<std::string_view, 62> kWords = {"ok",
                                                     "ok_other_bits",
                                                     "bits",
                                                     "other_code",
                                                     "poison_shows",
                                                     "other_initial_bits",
                                                     "drift",
                                                     "nan",
                                                     "slow",
                                                     "rss",
                                                     "drop_metric",
                                                     "different_workload",
                                                     "exit",
                                                     "crash",
                                                     "throw",
                                                     "hang",
                                                     "stop",
                                                     "silent",
                                                     "trickle",
                                                     "ignore_term",
                                                     "leak",
                                                     "no_result",
                                                     "flood",
                                                     "wrong_nonce",
                                                     "bad_crc",
                                                     "partial_result",
                                                     "wrong_cell",
                                                     "wrong_version",
                                                     "truncated_trace",
                                                     "lost_segments",
                                                     "setsid_child",
                                                     "close_stdout",
                                                     "slow_backward",
                                                     "stall",
                                                     "late_start",
                                                     "slow_triad",
                                                     "slow_collective",
                                                     "other_order",
                                                     "wrong_result",
                                                     "flipped_bit",
                                                     "absent_call",
                                                     "own_order_broken",
                                                     "order_unknown",
                                                     "paced",
                                                     "xid",
                                                     "clock_events",
                                                     "foreign_pid",
                                                     "gpu_lost",
                                                     "nvml_hang",
                                                     "once",
                                                     "brief",
                                                     "rank",
                                                     "wrong_rank",
                                                     "wrong_block",
                                                     "busy_wait",
                                                     "early_child",
                                                     "early_setsid_child",
                                                     "lockstep",
                                                     "retrain",
                                                     "other_checkpoint",
                                                     "never_stop",
                                                     "segment"};

double parse_value(const std::string& word, const std::string& text) {
  std::size_t used = 0;
  try {
    const double value = std::stod(text, &used);
    if (used == text.size()) return value;
  } catch (const std::exception&) {
    used = 0;  // stod's own words say nothing about where; the sentence below does
  }
  throw ContractError("behaviour `" + word + "` has the value `" + text + "`, which is no number");
}

}  // namespace

Behaviour::Behaviour(const std::string& text) {
  std::istringstream stream(text);
  for (std::string item; std::getline(stream, item, ',');) {
    const std::size_t equals = item.find('=');
    const std::string word = item.substr(0, equals);
    if (std::find(kWords.begin(), kWords.end(), word) == kWords.end()) {
      throw ContractError("unknown behaviour `" + word + "`");
    }
    std::optional<double> value;
    if (equals != std::string::npos) value = parse_value(word, item.substr(equals + 1));
    words_[word] = value;
  }
}

Behaviour Behaviour::of_rank(int rank) const {
  if (!does("rank") || static_cast<int>(value("rank", 0)) == rank) return *this;
  Behaviour other("ok");
  for (const char* word : {"lockstep", "paced"}) {
    if (const auto found = words_.find(word); found != words_.end()) other.words_.insert(*found);
  }
  return other;
}

Behaviour Behaviour::of_segment(const CellRequest& request) const {
  const int segment = !request.checkpoint ? 0 : request.checkpoint->resume ? 2 : 1;
  return !does("segment") || static_cast<int>(value("segment", 0)) == segment ? *this : Behaviour("ok");
}

double Behaviour::value(const std::string& word, double otherwise) const {
  const auto found = words_.find(word);
  return found == words_.end() ? otherwise : found->second.value_or(otherwise);
}

Behaviour behaviour_from_script(const std::string& script, const CellRequest& request) {
  const auto entries = nlohmann::ordered_json::parse(script, nullptr, /*allow_exceptions=*/false);
  if (!entries.is_object()) throw ContractError("script: not a JSON object");
  const std::string subject = request.cell_id + " " + request.suite + "-" + request.workload.name() + "-" +
                              request.stack + "-" + request.device + "-" + precision_text(request);
  for (const auto& [key, behaviour] : entries.items()) {
    const std::size_t slash = key.rfind('/');
    if (subject.find(key.substr(0, slash)) == std::string::npos) continue;
    if (slash != std::string::npos && key.substr(slash + 1) != std::to_string(request.repeat)) continue;
    if (!behaviour.is_string()) throw ContractError("script: `" + key + "` is not text");
    return Behaviour(behaviour.get<std::string>());
  }
  return Behaviour("ok");
}

}  // namespace reprobench
