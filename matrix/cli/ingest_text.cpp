#include "matrix/cli/ingest_text.hpp"

#include <fmt/format.h>

#include "matrix/cli/wrapped_text.hpp"
#include "matrix/contract/plain_text.hpp"

namespace reprobench {
namespace {

constexpr std::size_t kIndent = 2;

std::string timing_text(const NcclTestsTiming& timing) {
  if (!timing.time_us) return "";
  return fmt::format("{:>12}  {:<8} {:<5} {:>4}  {:<6} {:>10.2f} {:>9.2f} {:>9.2f} {:>5}\n", timing.size_bytes,
                     timing.type, plain_line(timing.redop), plain_line(timing.root), timing.is_in_place ? "in" : "out",
                     *timing.time_us, timing.algorithm_gb_per_s, timing.bus_gb_per_s,
                     timing.wrong ? fmt::to_string(*timing.wrong) : "-");
}

Style style_of_status(CheckStatus status) {
  if (status == CheckStatus::passed) return Style::green;
  return status == CheckStatus::failed ? Style::red : Style::yellow;
}

}  // namespace

std::string ingest_text(const NcclTestsFile& file, const Terminal& terminal) {
  std::string text = plain_line(fmt::format("{}: {} on {} ranks, NCCL {}.{}.{}, {}", file.file, file.operation,
                                            file.ranks, file.nccl_version / 10000, file.nccl_version / 100 % 100,
                                            file.nccl_version % 100, file.devices));
  text = wrapped(text, 0, kIndent) + "\n";
  text += fmt::format("{:>12}  {:<8} {:<5} {:>4}  {:<6} {:>10} {:>9} {:>9} {:>5}\n", "bytes", "type", "redop", "root",
                      "place", "time us", "alg GB/s", "bus GB/s", "wrong");
  for (const NcclTestsTiming& timing : file.timings) text += timing_text(timing);
  for (const auto* reasons : {&file.failures, &file.undecided}) {
    const char* word = reasons == &file.failures ? "failed" : "inconclusive";
    for (const std::string& reason : *reasons) {
      text += fmt::format("{}\n", wrapped(plain_line(fmt::format("{}: {}", word, reason)), 0, kIndent));
    }
  }
  return text + terminal.paint(std::string(to_string(file.status())), style_of_status(file.status())) + "\n";
}

}  // namespace reprobench
