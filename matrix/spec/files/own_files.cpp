#include "matrix/spec/files/own_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/contract/probe.hpp"
#include "matrix/spec/files/instruction_file.hpp"
#include "matrix/spec/files/package_file.hpp"
#include "matrix/spec/files/weights_file.hpp"

namespace reprobench {
namespace {

GiveOwnFile instructions(const std::string& path) {
  return [data = read_instruction_file(path)](WorkloadRequest& workload, const Mark& mark, Diagnostics& diagnostics) {
    if (workload.batch_size > data.records) {
      diagnostics.error(mark, "RB021",
                        fmt::format("{} has {} record{}, and a batch of `{}` takes {}", data.file, data.records,
                                    data.records == 1 ? "" : "s", workload.model, workload.batch_size));
    }
    workload.data_sha256 = data.sha256;
    workload.data_file = data.file;
  };
}

GiveOwnFile weights(const std::string& path) {
  return [weights = read_weights_file(path)](WorkloadRequest& workload, const Mark&, Diagnostics&) {
    workload.weights_sha256 = weights.sha256;
    workload.weights_file = weights.file;
    workload.weights_shards = weights.shards;
  };
}

GiveOwnFile package(const std::string& path) {
  return [package = read_package_file(path)](WorkloadRequest& workload, const Mark&, Diagnostics&) {
    workload.package_sha256 = package.sha256;
    workload.package_file = package.file;
  };
}

}  // namespace

std::span<const OwnFileKind> own_file_kinds() {
  static const OwnFileKind kKinds[] = {
      {kOwnFiles[0], "FILE",
       "Instructions of your own for every model that reads such: JSON or JSON Lines of records with `instruction`, "
       "`input`, `output`",
       "reads instructions", "reads no instructions", &Vocabulary::takes_data, &WorkloadDescription::takes_data,
       &MatrixSpec::data, &MatrixSpec::data_mark, &instructions},
      {kOwnFiles[1], "PATH",
       "Weights of your own for every model that takes published ones: a .safetensors file in the published naming, an "
       "index of several, or a folder with either",
       "takes published weights", "takes no published weights", &Vocabulary::takes_weights,
       &WorkloadDescription::takes_weights, &MatrixSpec::weights, &MatrixSpec::weights_mark, &weights},
      {kOwnFiles[3], "FILE",
       "An AOTInductor package of your own (.pt2) of one model's forward pass, for the probe `package`: held against "
       "eager and fp64, then timed. Its code runs",
       "runs an AOTInductor package", "runs no AOTInductor package", nullptr, nullptr, &MatrixSpec::package,
       &MatrixSpec::package_mark, &package, kPackageProbe},
  };
  return kKinds;
}

std::string refusal_of_own_file(const OwnFileKind& kind, const std::string& model, const Vocabulary& vocabulary) {
  if (kind.is_of_probe()) return "";
  const auto& described_models = vocabulary.*kind.takers;
  const auto described = described_models.find(model);
  if (described == described_models.end() || !described->second.empty()) return "";
  std::vector<std::string> takers;
  for (const auto& [name, taken] : described_models) {
    if (!taken.empty()) takers.push_back(fmt::format("`{}`", name));
  }
  const std::string begin = fmt::format("model `{}` {}; ", model, kind.other_does);
  if (takers.empty()) return begin + "no model does";
  return begin + fmt::format("{} {}", fmt::join(takers, ", "), takers.size() == 1 ? "does" : "do");
}

void give_own_file(const OwnFileKind& kind, const GiveOwnFile& give, WorkloadRequest& workload, const Mark& mark,
                   const Vocabulary& vocabulary, Diagnostics& diagnostics) {
  if (std::string refusal = refusal_of_own_file(kind, workload.model, vocabulary); !refusal.empty()) {
    diagnostics.error(mark, "RB009", std::move(refusal));
    return;
  }
  give(workload, mark, diagnostics);
}

void report_refused_weights(const WorkloadRequest& workload, const std::vector<std::string>& problems,
                            const std::string& hint, Diagnostics& diagnostics) {
  for (const std::string& problem : problems) {
    diagnostics.error({workload.weights_file, 0, 0}, "RB042", problem, &problem == &problems.front() ? hint : "");
  }
}

}  // namespace reprobench
