#include "matrix/cli/text/batch_fit_text.hpp"

#include <fmt/format.h>

#include "matrix/cli/text/text_table.hpp"

namespace reprobench {
namespace {

std::string names_of(const KnobValues& knobs) {
  std::string text;
  for (const auto& [name, value] : knobs) text += (text.empty() ? "" : " ") + name + "=" + value;
  return text.empty() ? "default knobs" : text;
}

// "batch 12: at most 3.9 GB; about 3.6 GB: 0.5 parameters + ..."
std::string batch_text(const BatchNeed& batch) {
  const std::string cut =
      batch.micro_batch_size == batch.batch_size ? "" : fmt::format(" in micro-batches of {}", batch.micro_batch_size);
  return fmt::format("batch {}{}: at most {:.1f} GB; about {}", batch.batch_size, cut,
                     static_cast<double>(batch.at_most_bytes) * 1e-9, arithmetic_of(batch.need));
}

std::string largest_text(const LargestBatch& answer) {
  TextTable table("  <14 <");
  table.line("{}", names_of(answer.knobs));
  if (!answer.why_not.empty()) return table.row("not predicted", answer.why_not).text();
  table.row("largest", answer.largest ? batch_text(*answer.largest) : "none: not even the smallest batch fits");
  table.row("too large", answer.too_large ? batch_text(*answer.too_large) : "nothing that can be asked for");
  return table.text();
}

std::string wished_text(const BatchFit& fit) {
  if (fit.wished_batch == 0) return "";
  if (fit.wished_fits) return fmt::format("batch {} fits: {}\n", fit.wished_batch, batch_text(*fit.wished));
  std::string text = fit.wished ? fmt::format("batch {} does not fit: {}\n", fit.wished_batch, batch_text(*fit.wished))
                                : fmt::format("batch {} is not predicted: {}\n", fit.wished_batch, fit.asked.why_not);
  if (fit.ways.empty()) return text + "  and no micro-batches of it do\n";
  text += "the same global batch in this memory, by these knobs:\n";
  for (const BatchWay& way : fit.ways) text += fmt::format("  {}\n    {}\n", names_of(way.knobs), batch_text(way.need));
  return text;
}

}  // namespace

std::string batch_fit_text(const BatchFit& fit) {
  std::string text = fmt::format(
      "{}/{} on {}, cpu: {:.1f} GB ({})\n", fit.model, fit.preset, fit.stack,
      static_cast<double>(fit.available_bytes) * 1e-9,
      fit.available_source == "free" ? "free on this host and in its control groups" : fit.available_source);
  text += largest_text(fit.asked);
  for (const LargestBatch& other : fit.others) {
    if (other.why_not.empty()) text += largest_text(other);
  }
  text += wished_text(fit);
  KnobValues mapped;
  set<&Settings::allocator>(mapped, Allocator::mapped);
  return text + fmt::format(
                    "at most: {:.0f} % above the prediction with allocator=mapped, {:.0f} % with another, by what was "
                    "measured\n",
                    100 * largest_excess(mapped), 100 * largest_excess({}));
}

ExitCode exit_code_of(const BatchFit& fit) {
  bool any_predicted = fit.asked.why_not.empty();
  bool any_fits = fit.asked.largest.has_value();
  for (const LargestBatch& other : fit.others) {
    any_predicted = any_predicted || other.why_not.empty();
    any_fits = any_fits || other.largest.has_value();
  }
  if (fit.wished_batch > 0) any_fits = fit.wished_fits || !fit.ways.empty();
  return any_fits ? ExitCode::passed : any_predicted ? ExitCode::failed : ExitCode::undecided;
}

}  // namespace reprobench
