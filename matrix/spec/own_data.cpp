#include "matrix/spec/own_data.hpp"

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace reprobench {

std::string refusal_of_own_data(const std::string& model, const Vocabulary& vocabulary) {
  const auto described = vocabulary.takes_data.find(model);
  if (described == vocabulary.takes_data.end() || !described->second.empty()) return "";
  std::vector<std::string> takers;
  for (const auto& [name, data] : vocabulary.takes_data) {
    if (!data.empty()) takers.push_back(fmt::format("`{}`", name));
  }
  if (takers.empty()) return fmt::format("model `{}` reads no instructions; no model does", model);
  return fmt::format("model `{}` reads no instructions; {} {}", model, fmt::join(takers, ", "),
                     takers.size() == 1 ? "does" : "do");
}

void give_own_data(WorkloadRequest& workload, const InstructionFile& data, const Mark& mark,
                   const Vocabulary& vocabulary, Diagnostics& diagnostics) {
  if (std::string refusal = refusal_of_own_data(workload.model, vocabulary); !refusal.empty()) {
    diagnostics.error(mark, "RB009", std::move(refusal));
    return;
  }
  if (workload.batch_size > data.records) {
    diagnostics.error(mark, "RB021",
                      fmt::format("{} has {} record{}, and a batch of `{}` takes {}", data.file, data.records,
                                  data.records == 1 ? "" : "s", workload.model, workload.batch_size));
  }
  workload.data_sha256 = data.sha256;
  workload.data_file = data.file;
}

}  // namespace reprobench
