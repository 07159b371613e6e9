// An atlas as table, page and pairs: whole texts of one small atlas that holds every word.
#include "matrix/cli/text/atlas_text.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

CallComparison said(CallWord word, std::string why = "", std::optional<double> distance_rel = {}) {
  CallComparison call;
  call.word = word;
  call.why = std::move(why);
  call.distance_rel = distance_rel;
  return call;
}

// Three releases, the second the reference; the last, where it is there, left no records.
OperatorAtlas small_atlas(bool with_lost_column = false) {
  OperatorAtlas atlas;
  atlas.cpu = "Test CPU, AVX2";
  atlas.columns = {
      {"torch-2.1", "2.1.0", "a", ""}, {"torch-2.8", "2.8.0", "b", ""}, {"torch-2.9", "2.9.0-rc1", "c", ""}};
  atlas.reference = 1;
  const auto row = [&](std::string call, CallComparison first, CallComparison last) {
    atlas.rows.push_back({std::move(call), {std::move(first), said(CallWord::equal), std::move(last)}});
  };
  row("exp(f32[2, 8])", said(CallWord::equal), said(CallWord::equal));
  row("exp(f32[3, 8])", said(CallWord::rounding, "close", 1.23e-7), said(CallWord::equal));
  row("exp(f32[4, 8])", said(CallWord::defect, "far"), said(CallWord::rounding, "no number"));
  row("gelu(f32[2, 8], approximate='tanh')", said(CallWord::another_computation, "other"),
      said(CallWord::differs, "bits"));
  row("add(f32[2, 3], f32[3])", said(CallWord::absent, "lacks it"), said(CallWord::not_run, "too large"));
  row("add(f32[4, 4], f32[4, 4])", said(CallWord::unknown, "no record"), said(CallWord::equal));
  if (with_lost_column) {
    atlas.columns.push_back({"torch-lost", "lost", "d", "crashed"});
    for (AtlasRow& one : atlas.rows) one.by_column.push_back(said(CallWord::unknown, "crashed"));
  }
  return atlas;
}

const std::string kLegend =
    "=: equal bits; 3e-08: rounding, relative L2 distance (estimated), p: proven by replaying both orders; bits: "
    "other bits of what has no fp64 form; OTHER: another computation; DEFECT: farther from fp64 than rounding takes "
    "it, or repeats its bits on one side "
    "alone; absent: the release has no such operator; -: not run; ?: no record";

TEST_CASE("the table has a column a release, as wide as its name, and leaves out what is equal everywhere", "[cli]") {
  const std::string head = "6 calls on 3 stacks against torch-2.8; Test CPU, AVX2\n" + kLegend + "\n";
  const std::string columns = " 2.1.0  2.8.0 2.9.0-rc1  call\n";
  const std::string rows =
      " 1e-07    ref         =  exp(f32[3, 8])\n"
      "DEFECT    ref  rounding  exp(f32[4, 8])\n"
      " OTHER    ref      bits  gelu(f32[2, 8], approximate='tanh')\n"
      "absent    ref         -  add(f32[2, 3], f32[3])\n"
      "     ?    ref         =  add(f32[4, 4], f32[4, 4])\n";
  CHECK(atlas_table(small_atlas(), false, Terminal()) ==
        head + columns + rows + "1 calls have equal bits in every column that has records\n");
  CHECK(atlas_table(small_atlas(), true, Terminal()) ==
        head + columns + "     =    ref         =  exp(f32[2, 8])\n" + rows);
}

TEST_CASE("a column without records is named below and makes nothing unequal", "[cli]") {
  const std::string text = atlas_table(small_atlas(true), false, Terminal());
  CHECK_THAT(text, Catch::Contains("6 calls on 4 stacks against torch-2.8"));
  CHECK_THAT(text, Catch::EndsWith("     ?    ref         =      ?  add(f32[4, 4], f32[4, 4])\n"
                                   "1 calls have equal bits in every column that has records\n"
                                   "torch-lost has no records: crashed\n"));
}

TEST_CASE("where one column alone has records nothing is equal everywhere", "[cli]") {
  OperatorAtlas atlas = small_atlas();
  atlas.columns[0].problem = atlas.columns[2].problem = "crashed";
  CHECK_THAT(atlas_table(atlas, false, Terminal()), Catch::Contains("exp(f32[2, 8])\n"));
  atlas.columns[0].problem = "";
  CHECK_THAT(atlas_table(atlas, false, Terminal()), !Catch::Contains("exp(f32[2, 8])\n"));
}

TEST_CASE("an atlas of a drill begins with what was planted, in every form", "[cli]") {
  OperatorAtlas atlas = small_atlas();
  atlas.planted = {"one", "two"};
  for (const std::string& text :
       {atlas_table(atlas, false, Terminal()), atlas_markdown(atlas), atlas_pairs(atlas, Terminal())}) {
    CHECK_THAT(text, Catch::StartsWith("DRILL, planted: one; two\n"));
  }
}

TEST_CASE("the page has the table, and the equal calls in a sentence", "[cli]") {
  CHECK(atlas_markdown(small_atlas(true)) ==
        "6 calls on 4 stacks against torch-2.8; Test CPU, AVX2.\n\n" + kLegend +
            ".\n\n"
            "| call | 2.1.0 | 2.8.0 | 2.9.0-rc1 | lost |\n"
            "| --- | --- | --- | --- | --- |\n"
            "| `exp(f32[3, 8])` | 1e-07 | ref | = | ? |\n"
            "| `exp(f32[4, 8])` | DEFECT | ref | rounding | ? |\n"
            "| `gelu(f32[2, 8], approximate='tanh')` | OTHER | ref | bits | ? |\n"
            "| `add(f32[2, 3], f32[3])` | absent | ref | - | ? |\n"
            "| `add(f32[4, 4], f32[4, 4])` | ? | ref | = | ? |\n"
            "\nEqual bits in every column that has records, 1 calls: `exp(f32[2, 8])`.\n"
            "torch-lost has no records: crashed\n");
  OperatorAtlas unequal = small_atlas();
  unequal.rows.erase(unequal.rows.begin());
  CHECK_THAT(atlas_markdown(unequal), !Catch::Contains("Equal bits in every") && Catch::EndsWith("| ? | ref | = |\n"));
}

TEST_CASE("pairs name what differs by family and shape, with the strongest word's reason", "[cli]") {
  CHECK(atlas_pairs(small_atlas(true), Terminal()) ==
        "torch-2.1 against torch-2.8: 1 equal, 1 rounding, 1 defect, 1 another computation, 1 absent, 1 unknown\n"
        "  exp f32                                  equal at [2, 8]\n"
        "                                           rounding at [3, 8]\n"
        "                                           defect at [4, 8]\n"
        "                                           far\n"
        "  gelu f32 approximate='tanh'              another computation at [2, 8]\n"
        "                                           other\n"
        "  add f32                                  absent at [2, 3] [3]\n"
        "                                           unknown at [4, 4]\n"
        "                                           no record\n"
        "torch-2.9 against torch-2.8: 3 equal, 1 rounding, 1 differs, 1 not run\n"
        "  exp f32                                  equal at [2, 8], [3, 8]\n"
        "                                           rounding at [4, 8]\n"
        "                                           no number\n"
        "  gelu f32 approximate='tanh'              differs at [2, 8]\n"
        "                                           bits\n"
        "  add f32                                  equal at [4, 4]\n"
        "                                           not run at [2, 3] [3]\n"
        "                                           too large\n"
        "torch-lost has no records: crashed\n");
}

TEST_CASE("calls are of one family where their name, overload, type, words and named flags are", "[cli]") {
  OperatorAtlas atlas;
  atlas.columns = {{"a", "a", "", ""}, {"b", "b", "", ""}};
  const auto add = [&](std::string call) {
    atlas.rows.push_back({std::move(call), {said(CallWord::equal), said(CallWord::differs)}});
  };
  add("sum(f32[2])");
  add("sum(bf16[2])");
  add("sum(f32[3])");
  add("sum(f32[4], keepdim=true)");
  add("sum(f32[5], true)");
  add("sum(f32[6], keepdim=false)");
  CHECK(atlas_pairs(atlas, Terminal()) ==
        "b against a: 6 differs\n"
        "  sum f32                                  differs at [2], [3], [5]\n"
        "  sum bf16                                 differs at [2]\n"
        "  sum f32 keepdim=true                     differs at [4]\n"
        "  sum f32 keepdim=false                    differs at [6]\n");
}

// The word of one call beside an equal one.
Match word_of(CallWord call, FailOn fail_on, CallWord beside = CallWord::equal) {
  OperatorAtlas atlas;
  atlas.columns = {{"a", "a", "", ""}, {"b", "b", "", ""}};
  atlas.rows = {{"a", {said(CallWord::equal), said(beside)}}, {"b", {said(CallWord::equal), said(call)}}};
  return overall_word(atlas, fail_on);
}

TEST_CASE("an atlas differs by what was asked for, and is not comparable where something is not known", "[cli]") {
  using enum CallWord;
  for (const FailOn fail_on : {FailOn::any, FailOn::another_computation, FailOn::defect}) {
    CHECK(word_of(equal, fail_on) == Match::equal);
    CHECK(word_of(absent, fail_on) == Match::equal);
    CHECK(word_of(unknown, fail_on) == Match::not_comparable);
    CHECK(word_of(not_run, fail_on) == Match::not_comparable);
    CHECK(word_of(defect, fail_on) == Match::differs);
    CHECK(word_of(defect, fail_on, unknown) == Match::differs);
    CHECK(word_of(unknown, fail_on, defect) == Match::differs);
    CHECK(word_of(equal, fail_on, not_run) == Match::not_comparable);
    const bool is_any = fail_on == FailOn::any;
    CHECK(word_of(rounding, fail_on) == (is_any ? Match::differs : Match::equal));
    CHECK(word_of(differs, fail_on) == (is_any ? Match::differs : Match::equal));
    CHECK(word_of(another_computation, fail_on) == (fail_on == FailOn::defect ? Match::equal : Match::differs));
  }
}

TEST_CASE("an atlas in which no call was compared is never equal", "[cli]") {
  OperatorAtlas atlas;
  CHECK(overall_word(atlas, FailOn::any) == Match::not_comparable);
  atlas.columns = {{"a", "a", "", ""}};
  atlas.rows = {{"exp(f32[2])", {said(CallWord::equal)}}};  // the reference, by itself
  CHECK(overall_word(atlas, FailOn::any) == Match::not_comparable);
  CHECK(atlas_count_text(atlas) == "operator calls: 0 compared in 0 columns");
  CHECK(atlas_pairs(atlas, Terminal()) == "a alone made operator calls: there is nothing to hold them against\n");
  atlas.columns.push_back({"b", "b", "", ""});
  atlas.rows[0].by_column.push_back(said(CallWord::absent));
  CHECK(overall_word(atlas, FailOn::defect) == Match::not_comparable);
  CHECK(atlas_count_text(atlas) == "operator calls: 0 compared in 0 columns; not compared: 1 column");
  atlas.rows.push_back({"exp(f32[3])", {said(CallWord::equal), said(CallWord::equal)}});
  CHECK(overall_word(atlas, FailOn::any) == Match::equal);
  // Another column has to have one of its own.
  atlas.columns.push_back({"c", "c", "", ""});
  for (AtlasRow& row : atlas.rows) row.by_column.push_back(said(CallWord::absent));
  CHECK(overall_word(atlas, FailOn::any) == Match::not_comparable);
}

// Two columns of run r-b against the one of r-a, which stands last.
OperatorAtlas two_runs() {
  OperatorAtlas atlas;
  atlas.run = "r-b";
  atlas.expected_run = "r-a";
  atlas.columns = {{"torch-2.8", "2.8.0", "x", ""}, {"torch-2.9", "2.9.0", "y", ""}, {"torch-2.8", "2.8.0", "x", ""}};
  for (std::size_t i : {0, 1}) {
    atlas.columns[i].run = "r-b";
    atlas.columns[i].against = 2;
  }
  atlas.columns[2].run = "r-a";
  atlas.columns[1].changed = {{"torch", "2.9.0", "2.8.0"}};
  atlas.rows = {{"exp(f32[2])", {said(CallWord::equal), said(CallWord::equal), said(CallWord::equal)}},
                {"exp(f32[3])", {said(CallWord::equal), said(CallWord::rounding, "close"), said(CallWord::equal)}}};
  return atlas;
}

TEST_CASE("columns of two runs are named with their runs, each with what changed since its partner", "[cli]") {
  const OperatorAtlas atlas = two_runs();
  const std::string differing =
      "r-b:torch-2.9 against r-a:torch-2.8: 1 equal, 1 rounding\n"
      "  changed     torch: `2.9.0` against `2.8.0`\n"
      "  exp f32                                  equal at [2]\n"
      "                                           rounding at [3]\n"
      "                                           close\n";
  CHECK(atlas_pairs(atlas, Terminal()) == "r-b:torch-2.8 against r-a:torch-2.8: 2 equal\n" + differing);
  CHECK(atlas_pairs(atlas, Terminal(), /*only_changed=*/true) == differing);
  OperatorAtlas unexplained = atlas;
  unexplained.columns[1].changed.clear();
  CHECK_THAT(
      atlas_pairs(unexplained, Terminal(), /*only_changed=*/true),
      Catch::StartsWith("r-b:torch-2.9 against r-a:torch-2.8: 1 equal, 1 rounding\n"
                        "  changed     nothing that is on record: versions, settings and machine are the same\n"));
  CHECK(atlas_count_text(atlas) == "operator calls: 4 compared in 2 columns: 3 equal, 1 rounding");
  CHECK(overall_word(atlas, FailOn::any) == Match::differs);
  CHECK(overall_word(atlas, FailOn::defect) == Match::equal);
}

TEST_CASE("a column of two runs that is in no pair, or may not be held against its partner, is named and never equal",
          "[cli]") {
  OperatorAtlas atlas = two_runs();
  atlas.columns[1].not_compared = "the workloads differ: seed 1 against 0";
  for (AtlasRow& row : atlas.rows) row.by_column[1] = said(CallWord::unknown, atlas.columns[1].not_compared);
  const std::string text = atlas_pairs(atlas, Terminal());
  CHECK_THAT(text, Catch::Contains("r-b:torch-2.9 against r-a:torch-2.8: not comparable: the workloads differ: seed 1 "
                                   "against 0\n  changed     torch: `2.9.0` against `2.8.0`\n") &&
                       !Catch::Contains("exp f32"));
  CHECK(overall_word(atlas, FailOn::any) == Match::not_comparable);
  CHECK(atlas_count_text(atlas) == "operator calls: 2 compared in 1 column: 2 equal; not compared: 1 column");
  atlas.columns[1].against.reset();
  atlas.columns[1].not_compared = "no cell of the other run is its partner";
  CHECK_THAT(atlas_pairs(atlas, Terminal()),
             Catch::EndsWith("r-b:torch-2.9 is not compared: no cell of the other run is its partner\n"));
  CHECK(overall_word(atlas, FailOn::any) == Match::not_comparable);
}

TEST_CASE("an operator that one of two runs alone has is not comparable; one that both lack says nothing", "[cli]") {
  OperatorAtlas atlas = two_runs();
  atlas.rows[1].by_column[1] = said(CallWord::absent);
  CHECK(overall_word(atlas, FailOn::any) == Match::not_comparable);
  for (std::size_t i : {0, 1}) atlas.rows[1].by_column[i] = said(CallWord::unknown, "the reference did not run it");
  atlas.rows[1].by_column[2] = said(CallWord::absent);
  CHECK(overall_word(atlas, FailOn::any) == Match::not_comparable);
  for (std::size_t i : {0, 1}) atlas.rows[1].by_column[i] = said(CallWord::absent);
  CHECK(overall_word(atlas, FailOn::any) == Match::equal);
  for (std::size_t i : {0, 1, 2}) atlas.rows[0].by_column[i] = said(CallWord::absent);
  CHECK(overall_word(atlas, FailOn::any) == Match::not_comparable);
}

}  // namespace
}  // namespace reprobench
