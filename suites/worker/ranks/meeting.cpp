#include "suites/worker/ranks/meeting.hpp"

#include <charconv>
#include <cstdlib>

#include "suites/worker/run_failure.hpp"

namespace reprobench {
namespace {

constexpr const char* kMeetingFile = "rendezvous";
constexpr std::chrono::milliseconds kUsualTimeout{30'000};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') {
    throw RunFailure("bad_request", std::string("knob `rendezvous` is tcp, and ") + name + " is not set");
  }
  return value;
}

int port_of(const std::string& text) {
  int port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error == std::errc() && end == text.data() + text.size() && port > 0 && port <= 65'535) return port;
  throw RunFailure("bad_request", "MASTER_PORT=`" + text + "` is no port");
}

}  // namespace

std::string Meeting::place() const {
  return is_at_store() ? address + ":" + std::to_string(port) : file.filename().string();
}

Meeting meeting_of(const CellRequest& request, const std::filesystem::path& attempt_folder) {
  const std::chrono::milliseconds asked(request.collective_timeout_ms);
  Meeting meeting;
  meeting.rank = request.rank;
  meeting.ranks = request.world_size;
  meeting.timeout = asked.count() > 0 ? asked : kUsualTimeout;
  meeting.prefix = "reprobench." + request.nonce;
  const bool is_lost = request.inject && request.inject->kind == "rendezvous_lost";
  if (setting_in<&Settings::rendezvous>(request.knobs) == Rendezvous::tcp) {
    meeting.address = variable("MASTER_ADDR");
    meeting.port = port_of(variable("MASTER_PORT"));
    const char* held = std::getenv("TORCHELASTIC_USE_AGENT_STORE");
    meeting.is_open_already = held != nullptr && std::string(held) == "True";
    if (is_lost) meeting.port += meeting.port < 65'535 ? 1 : -1;
  } else {
    meeting.file = attempt_folder / (std::string(kMeetingFile) + (is_lost ? ".lost" : ""));
  }
  return meeting;
}

}  // namespace reprobench
