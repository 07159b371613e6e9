#include "matrix/plan/cell_id.hpp"

#include <openssl/sha.h>

#include "matrix/contract/document/text_writer.hpp"
#include "matrix/plan/plan.hpp"

namespace reprobench {
namespace {

std::string text_with_knobs(const CellRequest& request, KnobValues (*knobs_of)(const KnobValues&)) {
  JsonText json;
  write_text_fields(json, [&](auto& field) { canonical_fields(field, const_cast<CellRequest&>(request), knobs_of); });
  return json.text();
}

}  // namespace

std::string canonical_text(const CellRequest& request) { return text_with_knobs(request, with_defaults); }

std::string cell_id_of(const CellRequest& request) {
  constexpr std::size_t kBytes = 6;
  constexpr char kDigits[] = "0123456789abcdef";
  const std::string text = text_with_knobs(request, without_defaults);
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
