#include "matrix/inquiry/nccl_tests/nccl_tests.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "matrix/inquiry/nccl_tests/nccl_tests_operation.hpp"
#include "matrix/spec/diagnostics.hpp"
#include "matrix/spec/files/json_reader.hpp"

namespace reprobench {
namespace {

using Kind = JsonNode::Kind;

constexpr double kRounding = 0.5e-6 + 1e-12;  // numbers are written with six decimals
constexpr double kArithmetic = 1e-9;          // relative: of double, and of the order of a few operations
constexpr std::int64_t kMostRanks = 1'000'000;

// Readers of JSON disagree on which of two equal keys counts: "nwrong": 5, "nwrong": 0.
void refuse_doubled_keys(const JsonNode& node) {
  std::set<std::string_view> keys;
  for (const JsonMember& member : node.members) {
    if (!keys.insert(member.key).second) {
      throw_spec_error(member.key_mark, "RB008", fmt::format("`{}` stands twice in one object", member.key));
    }
    refuse_doubled_keys(member.value);
  }
  for (const JsonNode& item : node.items) refuse_doubled_keys(item);
}

const JsonNode* optional_member(const JsonNode& object, std::string_view key) {
  const JsonMember* member = object.find(key);
  return member == nullptr ? nullptr : &member->value;
}

const JsonNode& member_of(const JsonNode& object, std::string_view key, Kind kind) {
  const JsonNode* node = optional_member(object, key);
  if (node == nullptr) throw_spec_error(object.mark, "RB018", fmt::format("`{}` is missing", key));
  if (!node->is(kind)) {
    throw_spec_error(node->mark, "RB019", fmt::format("`{}` cannot be {}", key, shown(*node)));
  }
  return *node;
}

std::int64_t integer_of(const JsonNode& object, std::string_view key, std::int64_t least, std::int64_t most) {
  const JsonNode& node = member_of(object, key, Kind::number);
  const auto value = exact_integer(node.text);
  if (!value || *value < least || *value > most) {
    throw_spec_error(node.mark, "RB019", fmt::format("`{}` cannot be {}", key, shown(node)));
  }
  return *value;
}

double number_of(const JsonNode& object, std::string_view key) {
  const JsonNode& node = member_of(object, key, Kind::number);
  double value = 0;
  const auto read = std::from_chars(node.text.data(), node.text.data() + node.text.size(), value);
  if (read.ec != std::errc() || !std::isfinite(value) || value < 0) {
    throw_spec_error(node.mark, "RB019", fmt::format("`{}` cannot be {}", key, shown(node)));
  }
  return value;
}

// A value between the two ends, each widened by how numbers are written.
bool lies_in(double value, double low, double high) {
  return value >= low * (1 - kArithmetic) - kRounding && value <= high * (1 + kArithmetic) + kRounding;
}

class Reader {
 public:
  Reader(const JsonNode& root, const std::string& file) : root_(root) { out_.file = file; }

  NcclTestsFile read() {
    read_operation();
    read_config();
    const JsonNode& results = member_of(root_, "results", Kind::list);
    for (const JsonNode& row : results.items) read_row(row);
    if (results.items.empty())
      out_.undecided.emplace_back("it has no rows");
    else if (std::ranges::none_of(out_.timings, [](const auto& t) { return t.size_bytes > 0; }))
      out_.undecided.emplace_back("no row moved a byte");
    read_footer();
    return std::move(out_);
  }

 private:
  void read_operation() {
    const JsonNode& args = member_of(root_, "args", Kind::list);
    if (args.items.empty() || !args.items.front().is(Kind::text)) {
      throw_spec_error(args.mark, "RB019", "`args` does not begin with the program");
    }
    const JsonNode& program = args.items.front();
    operation_ = find_nccl_tests_operation(program.text);
    if (operation_ == nullptr) {
      throw_spec_error(
          program.mark, "RB009",
          fmt::format("`{}` is no program of nccl-tests whose bandwidths follow from size and time", program.text));
    }
    out_.operation = operation_->name;
    out_.nccl_version = static_cast<int>(integer_of(root_, "nccl_version", 1, 1'000'000'000));
  }

  // One device a process may be listed, its first, whatever it drives: 2 processes of 4 GPUs as ranks 0 and 4.
  void read_config() {
    const JsonNode& config = member_of(root_, "config", Kind::object);
    const bool is_inside = config.find("devices") != nullptr;
    const JsonNode& devices = member_of(is_inside ? config : root_, "devices", Kind::list);
    if (devices.items.empty()) throw_spec_error(devices.mark, "RB023", "`devices` is empty");
    const std::int64_t threads = integer_of(config, "nthreads", 1, kMostRanks);
    is_one_thread_ = threads == 1;
    const std::int64_t local = threads * integer_of(config, "ngpus", 1, kMostRanks);
    std::map<std::int64_t, std::set<std::int64_t>> processes;  // of a group, which is a communicator
    std::set<std::string> models;
    for (const JsonNode& device : devices.items) {
      const std::int64_t rank = integer_of(device, "rank", 0, kMostRanks);
      processes[integer_of(device, "group", 0, kMostRanks)].insert(rank / local);
      models.insert(member_of(device, "device_info", Kind::text).text);
    }
    const std::size_t first = processes.begin()->second.size();
    if (std::ranges::any_of(processes, [&](const auto& group) { return group.second.size() != first; })) {
      out_.undecided.emplace_back("its groups have different numbers of ranks: one of them gave the figures");
    }
    const std::int64_t ranks = local * static_cast<std::int64_t>(first);
    if (ranks > kMostRanks) throw_spec_error(devices.mark, "RB021", "more than a million ranks");
    out_.ranks = static_cast<int>(ranks);
    for (const std::string& model : models) out_.devices += model + "; ";
    checks_ = integer_of(config, "validation", 0, kMostRanks);
    if (checks_ == 0) out_.undecided.emplace_back("it ran with -c 0: no result was checked");
    for (const char* key : {"nthreads", "ngpus", "warmup_iters", "iterations", "aggregated_iterations", "graph",
                            "blocking_collectives"}) {
      const JsonNode* node = optional_member(config, key);
      out_.settings += fmt::format("{} {}; ", key, node == nullptr ? "-" : node->text);
    }
  }

  void read_row(const JsonNode& row) {
    NcclTestsTiming timing;
    timing.size_bytes = integer_of(row, "size", 0, std::int64_t{1} << 53);
    const std::int64_t count = integer_of(row, "count", 0, std::int64_t{1} << 53);
    const JsonNode& type = member_of(row, "type", Kind::text);
    timing.type = type.text;
    timing.redop = member_of(row, "redop", Kind::text).text;
    const std::string& root = member_of(row, "root", Kind::text).text;
    timing.root = root.substr(std::min(root.find_first_not_of(' '), root.size()));  // padded to a column
    const auto bytes = nccl_type_bytes(timing.type);
    if (!bytes) throw_spec_error(type.mark, "RB009", fmt::format("unknown type `{}`", timing.type));
    // In floating point: a count near the limit times type and ranks overflows an integer.
    const double one_count = static_cast<double>(count) * *bytes;
    if (one_count * operation_->size_copies(out_.ranks) != static_cast<double>(timing.size_bytes)) {
      throw_spec_error(member_of(row, "size", Kind::number).mark, "RB043",
                       fmt::format("size {} contradicts count {} of {} on {} ranks", timing.size_bytes, count,
                                   timing.type, out_.ranks));
    }
    for (const bool is_in_place : {false, true}) {
      timing.is_in_place = is_in_place;
      read_placement(row, timing, one_count * operation_->moved_copies(out_.ranks));
    }
  }

  void read_placement(const JsonNode& row, NcclTestsTiming timing, double moved_bytes) {
    const char* key = timing.is_in_place ? "in_place" : "out_of_place";
    const JsonNode* node = optional_member(row, key);
    timing.mark = node == nullptr ? row.mark : node->mark;
    if (timing.size_bytes > 0 && !seen_.insert(timing.name()).second) {
      undecided(timing, "measured more than once: which of them counts?");
    }
    if (node == nullptr || node->is(Kind::null)) {
      undecided(timing, "was not measured");
      return;
    }
    if (!node->is(Kind::object)) {
      throw_spec_error(node->mark, "RB019", fmt::format("`{}` cannot be {}", key, shown(*node)));
    }
    read_wrong(*node, timing);
    const JsonNode* time = optional_member(*node, "time");
    if (time == nullptr || time->is(Kind::null) || (time->is(Kind::text) && time->text == "nan")) {
      undecided(timing, node->find("cpu_time") != nullptr ? "has the time of launching alone (-C 1)" : "has no time");
    } else {
      read_figures(*node, timing, moved_bytes);
    }
    out_.timings.push_back(std::move(timing));
  }

  void read_wrong(const JsonNode& node, NcclTestsTiming& timing) {
    const JsonNode* wrong = optional_member(node, "nwrong");
    const bool is_unchecked =
        wrong == nullptr || wrong->is(Kind::null) || (wrong->is(Kind::text) && wrong->text == "N/A");
    if (is_unchecked) {
      undecided(timing, "its results were not checked");
      return;
    }
    timing.wrong = integer_of(node, "nwrong", 0, std::int64_t{1} << 53);
    if (checks_ == 0) {
      throw_spec_error(wrong->mark, "RB043", "`nwrong` is a number, and `validation` says that nothing was checked");
    }
    if (*timing.wrong == 0) return;
    ++wrong_rows_;
    out_.failures.push_back(
        fmt::format("{}: {}: {} wrong elements", to_string(wrong->mark), timing.name(), *timing.wrong));
  }

  // Time, S / time, and that times the factor of the ranks.
  void read_figures(const JsonNode& node, NcclTestsTiming& timing, double moved_bytes) {
    const double time_us = number_of(node, "time");
    if (time_us <= 0) {
      throw_spec_error(member_of(node, "time", Kind::number).mark, "RB019", "`time` must be positive");
    }
    timing.time_us = time_us;
    timing.algorithm_gb_per_s = number_of(node, "alg_bw");
    timing.bus_gb_per_s = number_of(node, "bus_bw");
    const double low = moved_bytes / (time_us + kRounding) / 1e3;
    const double high = time_us > kRounding ? moved_bytes / (time_us - kRounding) / 1e3 : INFINITY;
    const double factor = operation_->bus_factor(out_.ranks);
    require_figure(node, "alg_bw", timing.algorithm_gb_per_s, low, high);
    require_figure(node, "bus_bw", timing.bus_gb_per_s, low * factor, high * factor);
    bus_sum_ += timing.bus_gb_per_s;
    ++bus_count_;
  }

  void require_figure(const JsonNode& node, const char* key, double value, double low, double high) {
    if (lies_in(value, low, high)) return;
    throw_spec_error(member_of(node, key, Kind::number).mark, "RB043",
                     fmt::format("`{}` is {:.6f} GB/s, and size, time and {} ranks of {} give {:.6f}", key, value,
                                 out_.ranks, out_.operation, low));
  }

  // A program that gave up closes its JSON without these.
  void read_footer() {
    const JsonNode* bounds = optional_member(root_, "out_of_bounds");
    const JsonNode* average = optional_member(root_, "average_bus_bandwidth");
    if (bounds == nullptr || average == nullptr) {
      out_.undecided.emplace_back("it ends before its summary: the program did not finish");
      return;
    }
    const std::int64_t count = integer_of(*bounds, "count", 0, std::int64_t{1} << 53);
    if ((count > 0 || member_of(*bounds, "okay", Kind::text).text != "true") && wrong_rows_ == 0) {
      out_.failures.push_back(
          fmt::format("{}: `out_of_bounds` says {} wrong, which no row does", to_string(bounds->mark), count));
    }
    if (member_of(*average, "okay", Kind::text).text == "false") {
      out_.failures.push_back(
          fmt::format("{}: the mean bus bandwidth is below NCCL_TESTS_MIN_BW", to_string(average->mark)));
    }
    // Of several threads the mean is over each one's own time.
    if (!is_one_thread_ || bus_count_ == 0) return;
    const double mean = bus_sum_ / bus_count_;
    const double written = number_of(*average, "bandwidth");
    if (lies_in(written, mean - kRounding, mean + kRounding)) return;
    out_.undecided.push_back(
        fmt::format("{}: the mean bus bandwidth is {:.6f}, that of the rows {:.6f}: rows are "
                    "missing or were changed",
                    to_string(average->mark), written, mean));
  }

  void undecided(const NcclTestsTiming& timing, const char* why) {
    out_.undecided.push_back(fmt::format("{}: {}: {}", to_string(timing.mark), timing.name(), why));
  }

  const JsonNode& root_;
  NcclTestsFile out_;
  const NcclTestsOperation* operation_ = nullptr;
  std::set<std::string> seen_;
  std::int64_t checks_ = 0;
  std::int64_t wrong_rows_ = 0;
  bool is_one_thread_ = true;
  double bus_sum_ = 0;
  int bus_count_ = 0;
};

}  // namespace

std::string NcclTestsTiming::name() const {
  return fmt::format("{} B {} {} root {} {}", size_bytes, type, redop, root, is_in_place ? "in place" : "out of place");
}

CheckStatus NcclTestsFile::status() const {
  if (!failures.empty()) return CheckStatus::failed;
  return undecided.empty() ? CheckStatus::passed : CheckStatus::inconclusive;
}

NcclTestsFile read_nccl_tests(const std::string& text, const std::string& file) {
  const JsonNode root = read_json_object(text, file);
  refuse_doubled_keys(root);
  return Reader(root, file).read();
}

}  // namespace reprobench
