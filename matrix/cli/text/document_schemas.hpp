// The JSON Schemas of all documents. The files in matrix/contract/schema/ are written from here
// (`reprobench schema --write matrix/contract/schema`) for readers that are not C++; a test holds them equal.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace reprobench {

struct DocumentSchema {
  std::string_view name;  // of the file too: NAME.schema.json
  std::string (*text)();
};

std::span<const DocumentSchema> document_schemas();  // by name

}  // namespace reprobench
