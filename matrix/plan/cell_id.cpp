#include "matrix/plan/cell_id.hpp"

#include <openssl/sha.h>

#include "matrix/plan/json_text.hpp"
#include "matrix/plan/plan.hpp"

namespace reprobench {
namespace {

// Keys in the order nlohmann/json writes them: sorted.
std::string text_with_knobs(const CellRequest& request, const KnobValues& knobs) {
  JsonText json;
  json.open('{').key("device").string(request.device);
  json.key("knobs").texts(knobs);
  json.key("stack").string(request.stack);
  json.key("suite").string(request.suite);
  json.key("trace").string(to_string(request.trace));
  json.key("workload").open('{');
  if (request.workload.is_probe()) {
    json.key("preset").string(request.workload.preset);
    json.key("probe").string(request.workload.probe);
    json.key("samples").integer(request.workload.samples);
  } else {
    json.key("batch_size").integer(request.workload.batch_size);
    json.key("model").string(request.workload.model);
    json.key("preset").string(request.workload.preset);
    json.key("steps").integer(request.workload.steps);
  }
  json.close('}');
  json.key("world_size").integer(request.world_size).close('}');
  return json.text();
}

}  // namespace

std::string canonical_text(const CellRequest& request) {
  return text_with_knobs(request, with_defaults(request.knobs));
}

std::string cell_id_of(const CellRequest& request) {
  constexpr std::size_t kBytes = 6;
  constexpr char kDigits[] = "0123456789abcdef";
  const std::string text = text_with_knobs(request, without_defaults(request.knobs));
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
