#include "matrix/host/nccl_log.hpp"

#include <charconv>
#include <map>
#include <set>
#include <tuple>

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

bool take_number(std::string_view& text, int& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
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
  const std::size_t begins = text.find("NCCL INFO Channel ");
  if (begins == std::string_view::npos) return false;
  text.remove_prefix(begins + std::string_view("NCCL INFO Channel ").size());
  const std::size_t colon = text.find(" : ");
  if (colon == std::string_view::npos) return false;
  line.channel = text.substr(0, colon);
  text.remove_prefix(colon + 3);
  if (!take_rank(text, line.from) || !take(text, " -> ") || !take_rank(text, line.to)) return false;
  if (!take(text, " [send]")) take(text, " [receive]");
  if (!take(text, " via ")) return false;
  line.via = text.substr(0, text.find_first_of(" \r"));
  return !line.via.empty();
}

}  // namespace

std::vector<UsedTransport> transports_in(std::string_view log) {
  std::map<std::tuple<int, int, std::string>, std::set<std::string>> channels;
  while (!log.empty()) {
    const std::size_t end = log.find('\n');
    Line line;
    if (read_line(log.substr(0, end), line)) channels[{line.from, line.to, line.via}].insert(line.channel);
    log.remove_prefix(end == std::string_view::npos ? log.size() : end + 1);
  }
  std::vector<UsedTransport> used;
  for (const auto& [way, its_channels] : channels) {
    const auto& [from, to, via] = way;
    used.push_back({from, to, via, transport_of(via), static_cast<int>(its_channels.size())});
  }
  return used;
}

}  // namespace reprobench
