#include "matrix/record/telemetry_reader.hpp"

#include "matrix/record/plain_file.hpp"

namespace reprobench {
namespace {

using nlohmann::json;

// Takes the lines in order; answers with what is wrong with one, or with nothing.
class TelemetryBuilder {
 public:
  TelemetryBuilder(TelemetryRecord& record, const std::string& nonce) : record_(record), nonce_(nonce) {}

  std::string accept(const json& body) {
    try {
      const auto& kind = body.at("kind").get_ref<const std::string&>();
      if (kind == "header") return accept_header(body);
      if (!has_header_) return "`" + kind + "` comes before the header";
      if (record_.end) return "`" + kind + "` comes after the end";
      if (kind == "sample") return accept_sample(body);
      if (kind == "event") return accept_event(body);
      if (kind != "end") return "unknown kind `" + kind + "`";
      record_.end = telemetry_end_from_json(body);
      return "";
    } catch (const std::exception& error) {
      return error.what();
    }
  }

 private:
  std::string accept_header(const json& body) {
    if (has_header_) return "a second header";
    record_.header = telemetry_header_from_json(body);
    if (record_.header.nonce != nonce_) return "nonce " + record_.header.nonce + " does not match expected " + nonce_;
    has_header_ = true;
    return "";
  }

  bool knows(int gpu) const { return static_cast<std::size_t>(gpu) < record_.header.gpus.size(); }

  std::string accept_sample(const json& body) {
    TelemetrySample sample = telemetry_sample_from_json(body);
    if (!knows(sample.gpu)) return "a sample of GPU " + std::to_string(sample.gpu) + ", which the header does not name";
    record_.samples.push_back(std::move(sample));
    return "";
  }

  std::string accept_event(const json& body) {
    const TelemetryEvent event = telemetry_event_from_json(body);
    if (!knows(event.gpu)) return "an event of GPU " + std::to_string(event.gpu) + ", which the header does not name";
    record_.events.push_back(event);
    return "";
  }

  TelemetryRecord& record_;
  const std::string& nonce_;
  bool has_header_ = false;
};

}  // namespace

std::optional<TelemetryRecord> read_telemetry(const std::filesystem::path& path, const std::string& nonce) {
  TelemetryRecord record;
  TelemetryBuilder builder(record, nonce);
  record.problem = read_checked_lines(path, [&](const json& body) { return builder.accept(body); }).problem;
  if (record.problem == path.filename().string() + ": missing") return std::nullopt;
  return record;
}

}  // namespace reprobench
