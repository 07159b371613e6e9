#include "matrix/cli/text/inspection_text.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/base/plain_text.hpp"
#include "matrix/cli/text/wrapped_text.hpp"

namespace reprobench {
namespace {

constexpr std::size_t kInspectionIndent = 2;

// Components that people ask for, in this order; packages of Python beyond them are in the JSON.
constexpr std::array<std::string_view, 8> kShown = {"python", "torch", "torchvision", "torchaudio",
                                                    "cuda",   "cudnn", "nccl",        "numpy"};

Style style_of(ClaimWord word) {
  return word == ClaimWord::agrees ? Style::green : word == ClaimWord::contradicted ? Style::red : Style::yellow;
}

Style style_of(FindingSeverity severity) { return severity == FindingSeverity::fail ? Style::red : Style::yellow; }

std::string head_text(const Inspection& inspection) {
  std::string text = fmt::format("image     {}\n", plain_line(inspection.image));
  std::int64_t unpacked_bytes = 0;
  for (const ImageLayer& layer : inspection.layers) unpacked_bytes += layer.unpacked_bytes;
  if (inspection.layers.empty()) {
    text += fmt::format("form      {}, {} entries\n", to_string(inspection.form), inspection.entries);
  } else {
    text += fmt::format("form      {}, {} layers, {:.2f} GB unpacked, {} entries\n", to_string(inspection.form),
                        inspection.layers.size(), static_cast<double>(unpacked_bytes) / 1e9, inspection.entries);
  }
  if (!inspection.digest.empty()) text += fmt::format("digest    {}\n", inspection.digest);
  if (!inspection.tags.empty())
    text += plain_line(fmt::format("tags      {}", fmt::join(inspection.tags, ", "))) + "\n";
  return text;
}

std::string found_text(const Inspection& inspection) {
  std::string text = "\nfound\n";
  for (const std::string_view shown : kShown) {
    for (const ComponentRow& row : inspection.components) {
      if (row.component != shown) continue;
      text += plain_line(fmt::format("  {:<12} {:<16} {}", row.component, row.version, row.evidence)) + "\n";
    }
  }
  for (const ImageLibrary& library : inspection.libraries) {
    const bool is_shown = library.name == "libtorch_cuda.so" || library.name.starts_with("libnccl.so");
    if (!library.is_taken || !is_shown || library.capabilities.empty()) continue;
    const std::string line = fmt::format("  {:<12} {}", library.component, fmt::join(library.capabilities, " "));
    text += fmt::format("{} (device code)\n", line);
  }
  return text;
}

std::string claims_text(const Inspection& inspection, const Terminal& terminal) {
  if (inspection.claims.empty())
    return "\nnothing is claimed: no tag, variable, label or claims file names a version\n";
  std::size_t claimed = 7;
  std::size_t found = 5;
  for (const JudgedClaim& claim : inspection.claims) {
    claimed = std::max(claimed, columns(claim.claimed));
    found = std::max(found, columns(claim.found));
  }
  constexpr std::size_t kWord = 12;  // "contradicted"
  std::string text = fmt::format("\n{:<12} {:<{}} {:<{}} {:<{}} {}\n", "component", "claimed", claimed, "found", found,
                                 "", kWord, "claimed by");
  for (const JudgedClaim& claim : inspection.claims) {
    const std::string word(to_string(claim.word));
    text += fmt::format("{:<12} {:<{}} {:<{}} {}{:<{}} {}\n", plain_line(claim.component), plain_line(claim.claimed),
                        claimed, plain_line(claim.found.empty() ? "-" : claim.found), found,
                        terminal.paint(word, style_of(claim.word)), "", kWord - word.size(), plain_line(claim.source));
    if (claim.why.empty()) continue;
    text += fmt::format("{:<{}}{}\n", "", kInspectionIndent,
                        wrapped(plain_line(claim.why), kInspectionIndent, kInspectionIndent + 2));
  }
  return text;
}

std::string findings_text(const Inspection& inspection, const Terminal& terminal) {
  std::string text = inspection.findings.empty() ? "" : "\n";
  for (const ImageFinding& finding : inspection.findings) {
    const std::string word = fmt::format("{}[{}]", to_string(finding.severity), finding.code);
    text += fmt::format("{}{}\n", terminal.paint(word, style_of(finding.severity)),
                        finding.path.empty() ? "" : ": " + plain_line(finding.path));
    text += fmt::format("{:<{}}{}\n", "", kInspectionIndent,
                        wrapped(plain_line(finding.what), kInspectionIndent, kInspectionIndent));
  }
  return text;
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
