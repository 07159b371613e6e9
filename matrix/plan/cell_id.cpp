#include "matrix/plan/cell_id.hpp"

#include <algorithm>

#include <openssl/sha.h>

#include "matrix/plan/plan.hpp"

namespace reprobench {
namespace {

void append_string(std::string& text, std::string_view value) {
  const bool plain = value.find_first_of("\"\\") == std::string_view::npos &&
                     std::all_of(value.begin(), value.end(), [](char c) { return c >= 0x20 && c < 0x7F; });
  if (plain) {
    text += '"';
    text += value;
    text += '"';
  } else {
    text += nlohmann::json(value).dump();
  }
}

void append_field(std::string& text, std::string_view key, std::string_view value) {
  append_string(text, key);
  text += ':';
  append_string(text, value);
}

void append_field(std::string& text, std::string_view key, std::int64_t value) {
  append_string(text, key);
  text += ':';
  text += std::to_string(value);
}

}  // namespace

// Keys in the order nlohmann/json writes them: sorted.
std::string canonical_text(const CellRequest& request) {
  std::string text;
  text.reserve(512);
  text += '{';
  append_field(text, "device", request.device);
  text += ",\"knobs\":{";
  bool first = true;
  for (const auto& [name, value] : request.knobs) {
    if (!first) text += ',';
    first = false;
    append_field(text, name, value);
  }
  text += "},";
  append_field(text, "stack", request.stack);
  text += ',';
  append_field(text, "suite", request.suite);
  text += ',';
  append_field(text, "trace", to_string(request.trace));
  text += ",\"workload\":{";
  append_field(text, "batch_size", request.workload.batch_size);
  text += ',';
  append_field(text, "model", request.workload.model);
  text += ',';
  append_field(text, "preset", request.workload.preset);
  text += ',';
  append_field(text, "steps", request.workload.steps);
  text += "},";
  append_field(text, "world_size", request.world_size);
  text += '}';
  return text;
}

std::string cell_id_of(const CellRequest& request) {
  constexpr std::size_t kBytes = 6;
  constexpr char kDigits[] = "0123456789abcdef";
  const std::string text = canonical_text(request);
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest);
  std::string id;
  for (std::size_t i = 0; i < kBytes; ++i) {
    id += kDigits[digest[i] >> 4];
    id += kDigits[digest[i] & 0xF];
  }
  return id;
}

}  // namespace reprobench
