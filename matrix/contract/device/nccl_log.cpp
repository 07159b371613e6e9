#include "matrix/contract/device/nccl_log.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "matrix/base/plain_text.hpp"
#include "matrix/contract/device/nccl_facts.hpp"

namespace reprobench {
namespace {

struct Word {
  std::string_view prefix;
  std::string_view transport;
};
constexpr Word kWords[] = {
    {"P2P", "peer"}, {"SHM", "shared_memory"}, {"NET/IB", "infiniband"}, {"NET/Socket", "socket"}, {"NVLS", "nvls"}};

// "NET/IB/0/GDRDMA" begins with the word NET/IB; "NET/IBext" does not.
std::string transport_of(std::string_view via) {
  for (const auto& [prefix, transport] : kWords) {
    const bool ends_there = via.size() == prefix.size() || (via.size() > prefix.size() && via[prefix.size()] == '/');
    if (via.starts_with(prefix) && ends_there) return std::string(transport);
  }
  return "";
}

// Takes `word` from the front of `text`; false if it is not there.
bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

template <class Number>
bool take_number(std::string_view& text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

// Behind "NCCL INFO ", which comes after host, process, thread and device; false if the line is none of those.
bool take_info(std::string_view& text) {
  constexpr std::string_view kBefore = "NCCL INFO ";
  const std::size_t begins = text.find(kBefore);
  if (begins == std::string_view::npos) return false;
  text.remove_prefix(begins + kBefore.size());
  return true;
}

// "1[6]": a rank, and its device in NVML's or, of a PCI id, hexadecimal count.
bool take_rank(std::string_view& text, int& rank) {
  if (!take_number(text, rank) || !take(text, "[")) return false;
  const std::size_t close = text.find(']');
  if (close == std::string_view::npos) return false;
  text.remove_prefix(close + 1);
  return true;
}

struct Line {
  std::string channel;
  int from = 0;
  int to = 0;
  std::string via;
};

bool read_line(std::string_view text, Line& line) {
  if (!take_info(text) || !take(text, "Channel ")) return false;
  const std::size_t colon = text.find(" : ");
  if (colon == std::string_view::npos) return false;
  line.channel = text.substr(0, colon);
  text.remove_prefix(colon + 3);
  if (!take_rank(text, line.from) || !take(text, " -> ") || !take_rank(text, line.to)) return false;
  if (!take(text, " [send]")) take(text, " [receive]");
  if (!take(text, " via ")) return false;
  line.via = text.substr(0, text.find(' '));
  return !line.via.empty();
}

template <class Look>
void each_line(std::string_view log, Look look) {
  while (!log.empty()) {
    const std::size_t end = log.find('\n');
    std::string_view line = log.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::string plain = plain_text(line);  // words of it go into documents
    look(plain);
    log.remove_prefix(end == std::string_view::npos ? log.size() : end + 1);
  }
}

// nccl/src/collectives.cc: ncclFuncToString, ncclAlgoToString, ncclProtoToString. Earlier releases wrote the mixed-case
// words of ncclAlgoStr.
struct FunctionRow {
  std::string_view collective;
  std::string_view function;
};
constexpr FunctionRow kFunctions[] = {{"all_reduce", "AllReduce"},
                                      {"all_gather", "AllGather"},
                                      {"reduce_scatter", "ReduceScatter"},
                                      {"broadcast", "Broadcast"},
                                      {"reduce", "Reduce"}};
constexpr std::string_view kAlgorithms[][2] = {{"TREE", "Tree"},
                                               {"RING", "Ring"},
                                               {"COLLNET_DIRECT", "CollNetDirect"},
                                               {"COLLNET_CHAIN", "CollNetChain"},
                                               {"NVLS", "NVLS"},
                                               {"NVLS_TREE", "NVLSTree"},
                                               {"PAT", "PAT"}};
constexpr std::string_view kProtocols[][2] = {{"LL", "LL"}, {"LL128", "LL128"}, {"SIMPLE", "Simple"}};
constexpr int kMostChannels = 64;  // MAXCHANNELS in nccl/src/include/device.h

// The word up to the next blank, as the latest releases write it; empty if it is not in the table.
template <std::size_t kRows>
std::string_view take_word(std::string_view& text, const std::string_view (&table)[kRows][2]) {
  const std::string_view word = text.substr(0, text.find(' '));
  for (const auto& [now, before] : table) {
    if (word != now && word != before) continue;
    text.remove_prefix(word.size());
    return now;
  }
  return {};
}

std::string with_channels(const std::string& how, int count) {
  return how + ", " + std::to_string(count) + (count == 1 ? " channel" : " channels");
}

// Behind "Bytes -> ": "Algo RING proto LL channel{Lo..Hi}={0..1}".
std::string read_algorithm(std::string_view text) {
  if (!take(text, "Algo ")) return "";
  const std::string_view algorithm = take_word(text, kAlgorithms);
  if (algorithm.empty() || !take(text, " proto ")) return "";
  const std::string_view protocol = take_word(text, kProtocols);
  int low = 0;
  int high = 0;
  const bool is_whole = !protocol.empty() && take(text, " channel{Lo..Hi}={") && take_number(text, low) &&
                        take(text, "..") && take_number(text, high) && text == "}";
  if (!is_whole || high < low || high >= kMostChannels) return "";
  return with_channels(std::string(algorithm) + " " + std::string(protocol), high - low + 1);
}

// Behind "Bytes -> ", of buffers in symmetric memory: "Kernel AllReduce_AGxLL_R nchannels 4 nthreads 512 ...".
std::string read_symmetric_kernel(std::string_view text) {
  if (!take(text, "Kernel ")) return "";
  const std::string_view kernel = text.substr(0, text.find(' '));
  text.remove_prefix(kernel.size());
  int channels = 0;
  const bool is_whole = !kernel.empty() && take(text, " nchannels ") && take_number(text, channels) &&
                        (text.empty() || text.starts_with(" nthreads "));
  if (!is_whole || channels < 1 || channels > kMostChannels) return "";
  return with_channels("symmetric " + std::string(kernel), channels);
}

bool read_choice(std::string_view text, NcclChoice& choice) {
  if (!take_info(text)) return false;
  const auto row = std::ranges::find_if(kFunctions, [&](const FunctionRow& one) {
    return text.starts_with(std::string(one.function) + ":") || text.starts_with(std::string(one.function) + " [");
  });
  if (row == std::end(kFunctions)) return false;
  choice.function = row->function;
  take(text, row->function);
  const bool is_symmetric = take(text, " [Symmetric]");
  if (!take(text, ": ") || !take_number(text, choice.bytes) || !take(text, " Bytes -> ")) return false;
  choice.algorithm = is_symmetric ? read_symmetric_kernel(text) : read_algorithm(text);
  return !choice.algorithm.empty();
}

}  // namespace

std::vector<UsedTransport> transports_in(std::string_view log) {
  std::map<std::tuple<int, int, std::string>, std::set<std::string>> channels;
  each_line(log, [&](std::string_view text) {
    Line line;
    if (read_line(text, line)) channels[{line.from, line.to, line.via}].insert(line.channel);
  });
  std::vector<UsedTransport> used;
  for (const auto& [way, its_channels] : channels) {
    const auto& [from, to, via] = way;
    used.push_back({from, to, via, transport_of(via), static_cast<int>(its_channels.size())});
  }
  return used;
}

std::vector<NcclChoice> choices_in(std::string_view log) {
  std::vector<NcclChoice> choices;
  each_line(log, [&](std::string_view line) {
    NcclChoice choice;
    if (read_choice(line, choice)) choices.push_back(std::move(choice));
  });
  return choices;
}

std::string nccl_algorithm(std::string_view log, std::string_view collective) {
  const auto row = std::ranges::find(kFunctions, collective, &FunctionRow::collective);
  if (row == std::end(kFunctions)) return "";
  std::string algorithm;
  for (const NcclChoice& choice : choices_in(log)) {
    if (choice.function != row->function) continue;
    if (!algorithm.empty() && algorithm != choice.algorithm) return "";
    algorithm = choice.algorithm;
  }
  return algorithm;
}

std::string nvls_support(std::string_view log) {
  std::set<std::string> said;
  each_line(log, [&](std::string_view line) {
    if (!take_info(line) || !take(line, "NVLS multicast support is ")) return;
    const bool is_missing = take(line, "not ");
    if (line == "available" || line.starts_with("available on dev ")) {
      said.insert(is_missing ? "not available" : "available");
    }
  });
  return said.size() == 1 ? *said.begin() : "";
}

NcclFacts nccl_facts_in(std::string_view log) {
  NcclFacts facts{transports_in(log), nvls_support(log), ""};
  if (facts.transports.empty() && facts.nvls.empty()) {
    facts.problem = log.empty() ? "NCCL wrote no log" : "NCCL's log names neither a transport nor NVLS";
  }
  return facts;
}

}  // namespace reprobench
