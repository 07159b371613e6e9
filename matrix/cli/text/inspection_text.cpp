#include "matrix/cli/text/inspection_text.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/base/plain_text.hpp"
#include "matrix/cli/text/text_table.hpp"

namespace reprobench {
namespace {

constexpr std::size_t kInspectionIndent = 2;

// Components that people ask for, in this order; packages of Python beyond them are in the JSON.
constexpr std::array<std::string_view, 10> kShown = {"python", "torch", "torchvision", "torchaudio", "cuda",
                                                     "cudnn",  "nccl",  "mkl",         "onednn",     "numpy"};

Style style_of(ClaimWord word) {
  return word == ClaimWord::agrees ? Style::green : word == ClaimWord::contradicted ? Style::red : Style::yellow;
}

Style style_of(FindingSeverity severity) { return severity == FindingSeverity::fail ? Style::red : Style::yellow; }

std::string head_text(const Inspection& inspection) {
  TextTable table("<9 <");
  table.row("image", plain_line(inspection.image));
  std::int64_t unpacked_bytes = 0;
  for (const ImageLayer& layer : inspection.layers) unpacked_bytes += layer.unpacked_bytes;
  const std::string layers = inspection.layers.empty()
                                 ? ""
                                 : fmt::format("{} layers, {:.2f} GB unpacked, ", inspection.layers.size(),
                                               static_cast<double>(unpacked_bytes) / 1e9);
  table.say("form", "{}, {}{} entries", to_string(inspection.form), layers, inspection.entries);
  if (!inspection.digest.empty()) table.row("digest", inspection.digest);
  if (!inspection.tags.empty()) table.row("tags", plain_line(fmt::format("{}", fmt::join(inspection.tags, ", "))));
  return table.text();
}

std::string or_dash(const std::string& text) { return text.empty() ? "-" : plain_line(text); }

bool was_run(const Inspection& inspection) {
  return std::ranges::any_of(inspection.components, [](const ComponentRow& row) { return !row.loaded.empty(); });
}

// A row whose cell at `place` is what was loaded. It has no such cell unless the image was run.
void add_row(TextTable& table, bool was_run, std::size_t place, std::vector<std::string> cells) {
  if (!was_run) cells.erase(cells.begin() + static_cast<std::ptrdiff_t>(place));
  table.add(std::move(cells));
}

std::string found_text(const Inspection& inspection) {
  const bool ran = was_run(inspection);
  TextTable table(ran ? "  <12 <16 <16 <" : "  <12 <16 <");
  table.line("\nfound{}", ran ? ", and what a worker inside had loaded" : "");
  for (const std::string_view shown : kShown) {
    for (const ComponentRow& row : inspection.components) {
      if (row.component != shown) continue;
      add_row(table, ran, 2, {row.component, or_dash(row.version), or_dash(row.loaded), plain_line(row.evidence)});
    }
  }
  for (const ImageLibrary& library : inspection.libraries) {
    const bool is_shown = library.name == "libtorch_cuda.so" || library.name.starts_with("libnccl.so");
    if (!library.is_taken || !is_shown || library.capabilities.empty()) continue;
    table.say(library.component, "{} (device code)", fmt::join(library.capabilities, " "));
  }
  return table.text();
}

std::string claims_text(const Inspection& inspection, const Terminal& terminal) {
  if (inspection.claims.empty())
    return "\nnothing is claimed: no tag, variable, label or claims file names a version\n";
  const bool ran = was_run(inspection);
  TextTable table(ran ? "<12 < < < <12 <" : "<12 < < <12 <");
  add_row(table, ran, 3, {"component", "claimed", "found", "loaded", "", "claimed by"});
  for (const JudgedClaim& claim : inspection.claims) {
    add_row(table, ran, 3,
            {plain_line(claim.component), plain_line(claim.claimed), or_dash(claim.found), or_dash(claim.loaded),
             terminal.paint(to_string(claim.word), style_of(claim.word)), plain_line(claim.source)});
    if (claim.why.empty()) continue;
    table.line("  {}", wrapped(plain_line(claim.why), kInspectionIndent, kInspectionIndent + 2));
  }
  return "\n" + table.text();
}

std::string findings_text(const Inspection& inspection, const Terminal& terminal) {
  TextTable table("  ~");
  for (const ImageFinding& finding : inspection.findings) {
    const std::string word = fmt::format("{}[{}]", to_string(finding.severity), finding.code);
    table.line("{}{}", terminal.paint(word, style_of(finding.severity)),
               finding.path.empty() ? "" : ": " + plain_line(finding.path));
    table.row(plain_line(finding.what));
  }
  return inspection.findings.empty() ? "" : "\n" + table.text();
}

}  // namespace

std::string inspection_text(const Inspection& inspection, const Terminal& terminal) {
  const Style style = inspection.word == InspectionWord::refused     ? Style::red
                      : inspection.word == InspectionWord::undecided ? Style::yellow
                      : inspection.word == InspectionWord::warned    ? Style::yellow
                                                                     : Style::green;
  return head_text(inspection) + found_text(inspection) + claims_text(inspection, terminal) +
         findings_text(inspection, terminal) + "\n" +
         terminal.paint(wrapped(inspection.summary, 0, kInspectionIndent), style) + "\n";
}

}  // namespace reprobench
