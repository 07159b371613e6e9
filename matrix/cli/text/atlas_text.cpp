#include "matrix/cli/text/atlas_text.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "matrix/cli/text/text_table.hpp"
#include "matrix/contract/declared_call.hpp"
#include "matrix/numerics/steps/implementation_changes.hpp"

namespace reprobench {
namespace {

// In two columns at least, and in no column otherwise that has records: without records nothing is equal.
bool is_equal_everywhere(const OperatorAtlas& atlas, const AtlasRow& row) {
  int equal = 0;
  for (std::size_t i = 0; i < row.by_column.size(); ++i) {
    if (!atlas.columns[i].problem.empty()) continue;
    if (row.by_column[i].word != CallWord::equal) return false;
    ++equal;
  }
  return equal > 1;
}

std::string cell_text(const OperatorAtlas& atlas, const AtlasRow& row, std::size_t column) {
  const CallComparison& call = row.by_column[column];
  if (!reference_of(atlas, column) && call.word == CallWord::equal) return "ref";
  switch (call.word) {
    case CallWord::equal:
      return "=";
    case CallWord::rounding:
      return (call.distance_rel ? fmt::format("{:.0e}", *call.distance_rel) : "rounding") + (call.proven ? " p" : "");
    case CallWord::differs:
      return "bits";
    case CallWord::defect:
      return "DEFECT";
    case CallWord::another_computation:
      return "OTHER";
    case CallWord::absent:
      return "absent";
    case CallWord::not_run:
      return "-";
    case CallWord::unknown:
      return "?";
  }
  return "?";
}

constexpr const char* kLegend =
    "=: equal bits; 3e-08: rounding, relative L2 distance (estimated), p: proven by replaying both orders; bits: other "
    "bits of what has no fp64 form; "
    "OTHER: "
    "another computation; DEFECT: farther from fp64 than rounding takes it, or repeats its bits on one side alone; "
    "absent: the release has no such operator; "
    "-: not run; ?: no record";

std::string atlas_summary(const OperatorAtlas& atlas) {
  return fmt::format("{} calls on {} stacks against {}; {}", atlas.rows.size(), atlas.columns.size(),
                     atlas.columns[atlas.reference].name, atlas.cpu);
}

std::string drill_line(const OperatorAtlas& atlas) {
  if (atlas.planted.empty()) return "";
  return fmt::format("DRILL, planted: {}\n", fmt::join(atlas.planted, "; "));
}

// "torch-2.9.0-cu128", of two runs "r-20261121-101502-348-7f3a:torch-2.9.0-cu128"
std::string named(const AtlasColumn& column) {
  return column.run.empty() ? column.name : fmt::format("{}:{}", column.run, column.name);
}

std::string problems_text(const OperatorAtlas& atlas) {
  std::string text;
  for (const AtlasColumn& column : atlas.columns) {
    if (!column.problem.empty()) {
      text += fmt::format("{} has no records: {}\n", named(column), column.problem);
    } else if (!column.against && !column.not_compared.empty()) {
      text += fmt::format("{} is not compared: {}\n", named(column), column.not_compared);
    }
  }
  return text;
}

// "gelu f32 approximate='tanh'": calls that differ in nothing but shapes.
std::string family_of(const DeclaredCall& call) {
  const auto tensors = call.tensors();
  std::string text = call.name + (call.overload.empty() ? "" : "." + call.overload);
  if (!tensors.empty()) text += " " + tensors.front().dtype;
  for (const DeclaredArgument& argument : call.arguments) {
    if (const auto* word = std::get_if<std::string>(&argument.value)) {
      text += fmt::format(" {}='{}'", argument.name, *word);
    } else if (!argument.name.empty() && std::holds_alternative<bool>(argument.value)) {
      text += fmt::format(" {}={}", argument.name, std::get<bool>(argument.value));
    }
  }
  return text;
}

std::string shapes_of(const DeclaredCall& call) {
  std::vector<std::string> shapes;
  for (const DeclaredTensor& tensor : call.tensors()) {
    std::string shape = fmt::format("[{}]", fmt::join(tensor.shape, ", "));
    if (std::find(shapes.begin(), shapes.end(), shape) == shapes.end()) shapes.push_back(std::move(shape));
  }
  return fmt::format("{}", fmt::join(shapes, " "));
}

// By family, in the order of the list.
struct Family {
  std::string name;
  std::map<CallWord, std::vector<std::string>> shapes;
  std::string why;  // of its strongest word
  CallWord strongest = CallWord::equal;
};

std::vector<Family> families_of(const OperatorAtlas& atlas, std::size_t column) {
  std::vector<Family> families;
  for (const AtlasRow& row : atlas.rows) {
    const DeclaredCall call = parse_call(row.call);
    const std::string name = family_of(call);
    auto family = std::find_if(families.begin(), families.end(), [&](const Family& one) { return one.name == name; });
    if (family == families.end()) family = families.insert(families.end(), Family{name, {}, "", CallWord::equal});
    const CallComparison& found = row.by_column[column];
    family->shapes[found.word].push_back(shapes_of(call));
    if (found.word <= family->strongest) continue;
    family->strongest = found.word;
    family->why = found.why;
  }
  return families;
}

std::map<CallWord, int> counts_of(const OperatorAtlas& atlas, std::size_t column) {
  std::map<CallWord, int> counts;
  for (const AtlasRow& row : atlas.rows) ++counts[row.by_column[column].word];
  return counts;
}

std::string words_text(const std::map<CallWord, int>& counts) {
  std::vector<std::string> parts;
  for (const auto& [word, count] : counts) {
    std::string text(to_string(word));
    std::replace(text.begin(), text.end(), '_', ' ');
    parts.push_back(fmt::format("{} {}", count, text));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

// The reference is held against itself, which compares nothing.
int calls_compared(const OperatorAtlas& atlas, std::size_t column) {
  if (!reference_of(atlas, column)) return 0;
  return static_cast<int>(std::ranges::count_if(atlas.rows, [&](const AtlasRow& row) {
    const CallWord word = row.by_column[column].word;
    return word != CallWord::absent && word != CallWord::not_run && word != CallWord::unknown;
  }));
}

bool is_equal_throughout(const OperatorAtlas& atlas, std::size_t column) {
  return std::ranges::all_of(atlas.rows,
                             [&](const AtlasRow& row) { return row.by_column[column].word == CallWord::equal; });
}

std::string verdict_on(const OperatorAtlas& atlas, std::size_t column) {
  const std::string& reason = atlas.columns[column].not_compared;
  return reason.empty() ? words_text(counts_of(atlas, column)) : "not comparable: " + reason;
}

std::string families_text(const OperatorAtlas& atlas, std::size_t column, const Terminal& terminal) {
  TextTable table("  <40 <");
  for (const Family& family : families_of(atlas, column)) {
    if (family.strongest == CallWord::equal) continue;
    for (const auto& [word, shapes] : family.shapes) {
      std::string label(to_string(word));
      std::replace(label.begin(), label.end(), '_', ' ');
      table.say(word == family.shapes.begin()->first ? family.name : "", "{} at {}", label, fmt::join(shapes, ", "));
    }
    if (!family.why.empty()) table.row("", terminal.paint(family.why, Style::dim));
  }
  return table.text();
}

// An operator that a release lacks is no fault of a matrix that holds older ones too; between two runs it is no
// evidence that the one has what the other had, unless both lack it.
Match word_of(const OperatorAtlas& atlas, const AtlasRow& row, std::size_t column, FailOn fail_on) {
  const CallWord word = row.by_column[column].word;
  if (word == CallWord::equal) return Match::equal;
  if (word == CallWord::absent) {
    const auto against = atlas.columns[column].against;
    return !against || row.by_column[*against].word == CallWord::absent ? Match::equal : Match::not_comparable;
  }
  if (word == CallWord::not_run || word == CallWord::unknown) return Match::not_comparable;
  const bool counts =
      fail_on == FailOn::any || word == CallWord::defect || (fail_on == FailOn::another_computation && is_broken(word));
  return counts ? Match::differs : Match::equal;
}

}  // namespace

std::string atlas_table(const OperatorAtlas& atlas, bool with_equal, const Terminal& terminal) {
  std::string layout;
  std::vector<std::string> cells;
  for (const AtlasColumn& column : atlas.columns) {
    layout += fmt::format(">{} ", std::max<std::size_t>(6, column.release.size()));
    cells.push_back(column.release);
  }
  cells.emplace_back("call");
  TextTable table(layout + " <");
  table.add(cells);
  int equal = 0;
  for (const AtlasRow& row : atlas.rows) {
    if (is_equal_everywhere(atlas, row) && !with_equal) {
      ++equal;
      continue;
    }
    for (std::size_t i = 0; i < row.by_column.size(); ++i) {
      cells[i] = cell_text(atlas, row, i);
    }
    cells.back() = row.call;
    table.add(cells);
  }
  if (equal > 0) table.line("{} calls have equal bits in every column that has records", equal);
  return drill_line(atlas) + atlas_summary(atlas) + "\n" + terminal.paint(kLegend, Style::dim) + "\n" + table.text() +
         problems_text(atlas);
}

std::string atlas_markdown(const OperatorAtlas& atlas) {
  std::string text = drill_line(atlas) + atlas_summary(atlas) + ".\n\n" + kLegend + ".\n\n| call |";
  std::string rule = "| --- |";
  for (const AtlasColumn& column : atlas.columns) {
    text += fmt::format(" {} |", column.release);
    rule += " --- |";
  }
  text += "\n" + rule + "\n";
  std::vector<std::string> equal;
  for (const AtlasRow& row : atlas.rows) {
    if (is_equal_everywhere(atlas, row)) {
      equal.push_back(fmt::format("`{}`", row.call));
      continue;
    }
    text += fmt::format("| `{}` |", row.call);
    for (std::size_t i = 0; i < row.by_column.size(); ++i) text += fmt::format(" {} |", cell_text(atlas, row, i));
    text += "\n";
  }
  if (!equal.empty()) {
    text += fmt::format("\nEqual bits in every column that has records, {} calls: {}.\n", equal.size(),
                        fmt::join(equal, ", "));
  }
  return text + problems_text(atlas);
}

std::string atlas_pairs(const OperatorAtlas& atlas, const Terminal& terminal, bool only_changed) {
  std::string text = drill_line(atlas);
  for (std::size_t column = 0; column < atlas.columns.size(); ++column) {
    const AtlasColumn& ours = atlas.columns[column];
    const auto reference = reference_of(atlas, column);
    if (!reference || !ours.problem.empty() || (only_changed && is_equal_throughout(atlas, column))) continue;
    text += fmt::format("{} against {}: {}\n", terminal.paint(named(ours), Style::bold),
                        named(atlas.columns[*reference]), verdict_on(atlas, column));
    TextTable changes("  <11 <");
    for (const SideDifference& difference : ours.changed) changes.row("changed", change_text(difference));
    const bool is_same_setup = ours.not_compared.empty() && !ours.run.empty() && ours.changed.empty();
    if (is_same_setup && !is_equal_throughout(atlas, column)) {
      changes.row("changed", "nothing that is on record: versions, settings and machine are the same");
    }
    text += changes.text();
    if (ours.not_compared.empty()) text += families_text(atlas, column, terminal);
  }
  if (atlas.expected_run.empty() && atlas.columns.size() == 1) {
    text += fmt::format("{} alone made operator calls: there is nothing to hold them against\n", atlas.columns[0].name);
  }
  return text + problems_text(atlas);
}

std::string atlas_count_text(const OperatorAtlas& atlas) {
  std::map<CallWord, int> counts;
  int calls = 0;
  int compared = 0;
  int left_out = 0;
  for (std::size_t column = 0; column < atlas.columns.size(); ++column) {
    const int answered = calls_compared(atlas, column);
    const bool is_in_question = reference_of(atlas, column) || !atlas.columns[column].not_compared.empty();
    if (is_in_question && answered == 0) ++left_out;
    if (answered == 0) continue;
    ++compared;
    calls += answered;
    for (const auto& [word, count] : counts_of(atlas, column)) counts[word] += count;
  }
  std::string text =
      fmt::format("operator calls: {} compared in {} column{}", calls, compared, compared == 1 ? "" : "s");
  if (compared > 0) text += ": " + words_text(counts);
  if (left_out > 0) text += fmt::format("; not compared: {} column{}", left_out, left_out == 1 ? "" : "s");
  return text;
}

Match overall_word(const OperatorAtlas& atlas, FailOn fail_on) {
  Match word = Match::equal;
  int columns_compared = 0;
  for (std::size_t column = 0; column < atlas.columns.size(); ++column) {
    const auto reference = reference_of(atlas, column);
    const int compared = calls_compared(atlas, column);
    if (compared > 0) ++columns_compared;
    if (reference && compared == 0) word = overall(word, Match::not_comparable);
    for (const AtlasRow& row : atlas.rows) word = overall(word, word_of(atlas, row, column, fail_on));
  }
  return columns_compared > 0 ? word : overall(word, Match::not_comparable);
}

}  // namespace reprobench
