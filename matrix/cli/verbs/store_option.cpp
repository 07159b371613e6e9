#include "matrix/cli/verbs/store_option.hpp"

#include <string_view>

#include "matrix/cli/verbs/selection.hpp"
#include "matrix/cli/verbs/verb.hpp"

namespace reprobench {

std::string in_store(const std::string& command, const std::string& store) {
  constexpr std::string_view kProgram = "reprobench ";
  const std::size_t at = command.find(kProgram);
  if (at == std::string::npos || store.empty() || store == Context().store) return command;
  return std::string(command).insert(at + kProgram.size(), "--store " + shell_word(store) + " ");
}

}  // namespace reprobench
