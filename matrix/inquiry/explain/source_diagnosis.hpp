// What a difference is, in one word, out of all that an explanation knows. The strongest evidence comes first: what the
// two sides were asked to compute, then what the operator made of it against fp64, then whole steps against fp64.
#pragma once

#include <string_view>

#include "matrix/inquiry/comparison.hpp"

namespace reprobench {

// Of two operators, or two subgraphs of calls, in fp64 on equal values: what is further apart than this is not the same
// computation. fp64 rounds seven orders below.
inline constexpr double kSameFormRel = 1e-9;

// One side is called farther from fp64 than the other from this factor on: E_max of class B1.
inline constexpr double kFartherFactor = 4;

// How the sentence about any other source than the first begins.
inline constexpr std::string_view kBehindFirst = "behind the first difference, ";

// From harmless to worst: rounding, undecided, another computation, defect.
int rank_of(ExplainedWord word);

// Of one source of `explanation` by itself, beside what the steps against fp64 say.
Diagnosis source_diagnosis(const DifferenceSource& source, const Explanation& explanation);

// Of the explanation and of each further source. The worst of them counts: a source behind a difference that is
// rounding is not rounding because of that, and one within its own bound is not blamed for what the steps say. Nothing
// where no call of the step makes a difference: then only the steps are judged. Of a replay that took another course
// than its run nothing is called rounding.
void diagnose_sources(Explanation& explanation);

// The source that the diagnosis is about, the first one if none has a worse word. Its diagnoses are there.
const DifferenceSource& blamed_source(const Explanation& explanation);

// That source is another computation or beyond its own bound: it does not take the word from the steps.
bool is_shown_by_a_call(const Explanation& explanation);

// Its operator. Empty: there is no source, or none that a defect of the steps can be put down to.
std::string blamed_operator(const Explanation& explanation);

}  // namespace reprobench
