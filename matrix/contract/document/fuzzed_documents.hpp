// For *_fuzz.cpp: bytes as any of several described documents. What a reader takes must be written, and read again, as
// the same text.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "matrix/base/contract_error.hpp"
#include "matrix/base/json_parse.hpp"
#include "matrix/contract/document/reader.hpp"

namespace reprobench {

struct FuzzedDocument {
  std::string_view name;
  void (*read)(const nlohmann::json& json);  // throws ContractError
};

template <Described Document>
void read_fuzzed(const nlohmann::json& json) {
  const auto document = read_document<Document>(json);
  const nlohmann::json once = written(document);
  const nlohmann::json again = written(read_document<Document>(once));
  if (once.dump() != again.dump()) std::abort();
}

template <Described Document>
constexpr FuzzedDocument fuzzed_document() {
  return {Description<Document>::about.name, &read_fuzzed<Document>};
}

// The first byte chooses a reader for the JSON after it. Readers whose document the JSON itself names try it too.
inline void fuzz_documents(std::span<const FuzzedDocument> documents, const std::uint8_t* data, std::size_t size) {
  if (size == 0) return;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const ParsedJson parsed = parse_json(text);
  if (!parsed.problem.empty()) return;
  const auto survives = [&](const FuzzedDocument& document) {
    try {
      document.read(parsed.value);
    } catch (const ContractError&) {
    }
  };
  const auto schema = parsed.value.is_object() ? parsed.value.find("schema") : parsed.value.end();
  const bool is_named = parsed.value.is_object() && schema != parsed.value.end() && schema->is_string();
  const std::string named = is_named ? schema->get<std::string>() : "";
  const std::size_t chosen = *data % documents.size();
  for (std::size_t i = 0; i < documents.size(); ++i) {
    if (i == chosen || (is_named && named.ends_with("/" + std::string(documents[i].name)))) survives(documents[i]);
  }
}

}  // namespace reprobench
