// The JSON Schemas of all documents. The build writes them as files beside the program (BUILD/schema/NAME.schema.json)
// for readers that are not C++, such as the report generator.
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
