#include "matrix/cli/text/ingest_text.hpp"

#include <fmt/format.h>

#include "matrix/base/plain_text.hpp"
#include "matrix/cli/text/text_table.hpp"

namespace reprobench {
namespace {

constexpr std::size_t kReasonIndent = 2;

std::string timings_text(const std::vector<NcclTestsTiming>& timings) {
  TextTable table(">12  <8 <5 >4  <6 >10 >9 >9 >5");
  table.row("bytes", "type", "redop", "root", "place", "time us", "alg GB/s", "bus GB/s", "wrong");
  const auto decimal = [](double value) { return fmt::format("{:.2f}", value); };
  for (const NcclTestsTiming& timing : timings) {
    if (!timing.time_us) continue;
    table.row(timing.size_bytes, timing.type, plain_line(timing.redop), plain_line(timing.root),
              timing.is_in_place ? "in" : "out", decimal(*timing.time_us), decimal(timing.algorithm_gb_per_s),
              decimal(timing.bus_gb_per_s), timing.wrong ? fmt::to_string(*timing.wrong) : "-");
  }
  return table.text();
}

Style style_of_status(CheckStatus status) {
  if (status == CheckStatus::passed) return Style::green;
  return status == CheckStatus::failed ? Style::red : Style::yellow;
}

std::string status_text(CheckStatus status, const Terminal& terminal) {
  return terminal.paint(std::string(to_string(status)), style_of_status(status));
}

std::string ratio_text(const NcclTestsRatio& ratio, const Terminal& terminal) {
  const std::string time =
      ratio.time ? fmt::format("{:.3f} [{:.3f}, {:.3f}]", ratio.time->ratio, ratio.time->low, ratio.time->high)
                 : fmt::format("{:.3f}", ratio.measured_us / ratio.reference_us);
  return fmt::format("{}\n  {:.2f} us against {:.2f} us, {:.2f} GB/s against {:.2f} GB/s, time x {}: {}\n",
                     plain_line(ratio.name), ratio.measured_us, ratio.reference_us, ratio.measured_gb_per_s,
                     ratio.reference_gb_per_s, time, status_text(ratio.status, terminal));
}

std::string fit_text(const std::optional<TransferFit>& fit) {
  if (!fit) return "no startup time and bandwidth fit";
  return fmt::format("startup {:.2f} us, {:.2f} GB/s; farthest size off by a factor of {:.2f}", fit->startup_ns / 1e3,
                     fit->bandwidth_gb_per_s, fit->worst_factor);
}

}  // namespace

std::string ingest_comparison_text(const NcclTestsComparison& comparison, const Terminal& terminal) {
  std::string text = "measured against reference:\n";
  for (const NcclTestsRatio& ratio : comparison.ratios) text += ratio_text(ratio, terminal);
  for (const NcclTestsFits& fits : comparison.fits) {
    text += fmt::format("{}: time of S bytes as startup + S / bandwidth\n", plain_line(fits.name));
    text +=
        TextTable("  <10 <").row("measured", fit_text(fits.measured)).row("reference", fit_text(fits.reference)).text();
  }
  for (const std::string& reason : comparison.undecided) {
    text += wrapped(plain_line("inconclusive: " + reason), 0, kReasonIndent) + "\n";
  }
  return text + "comparison: " + status_text(comparison.status(), terminal) + "\n";
}

std::string ingest_text(const NcclTestsFile& file, const Terminal& terminal) {
  std::string text = plain_line(file.file) + "\n";
  text += wrapped(plain_line(fmt::format("{} on {} ranks, NCCL {}.{}.{}, {}", file.operation, file.ranks,
                                         file.nccl_version / 10000, file.nccl_version / 100 % 100,
                                         file.nccl_version % 100, file.devices)),
                  0, kReasonIndent) +
          "\n";
  text += timings_text(file.timings);
  for (const auto* reasons : {&file.failures, &file.undecided}) {
    const char* word = reasons == &file.failures ? "failed" : "inconclusive";
    for (const std::string& reason : *reasons) {
      text += fmt::format("{}\n", wrapped(plain_line(fmt::format("{}: {}", word, reason)), 0, kReasonIndent));
    }
  }
  return text + status_text(file.status(), terminal) + "\n";
}

}  // namespace reprobench
