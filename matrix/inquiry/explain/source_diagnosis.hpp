// The diagnosis of a difference, in one word, from everything in an explanation. The strongest evidence comes first:
// the computation that each side was asked for, then the operator's results against fp64, then whole steps against
// fp64.
#pragma once

#include <string_view>

#include "matrix/inquiry/comparison.hpp"

namespace reprobench {

// Two operators, or two subgraphs of calls, that are further apart than this in fp64 on equal values are not the same
// computation. fp64 rounds seven orders of magnitude below.
inline constexpr double kSameFormRel = 1e-9;

// From this factor on, one side is called farther from fp64 than the other: E_max of class B1.
inline constexpr double kFartherFactor = 4;

// How the sentence about any other source than the first begins.
inline constexpr std::string_view kBehindFirst = "behind the first difference, ";

// From harmless to worst: rounding, undecided, another computation, defect.
int rank_of(ExplainedWord word);

// What differs in what the two sides were asked for; empty: nothing that is on record.
std::string other_computation(const DifferenceSource& source);

// The diagnosis of one source of `explanation`, together with that of the steps against fp64.
Diagnosis source_diagnosis(const DifferenceSource& source, const Explanation& explanation);

// Sets the diagnosis of the explanation and of each further source. The worst of them counts. A source behind a
// difference that is rounding need not be rounding, and a source within its own bound is not blamed for the result of
// the steps. There is nothing if no call of the step makes a difference; then only the steps are judged. If a replay
// took another course than its run, nothing is called rounding.
void diagnose_sources(Explanation& explanation);

// The source that the diagnosis is about; the first one if none has a worse word. The sources must have their
// diagnoses.
const DifferenceSource& blamed_source(const Explanation& explanation);

// Whether that source is another computation or beyond its own bound, so that its diagnosis does not rest on the steps.
bool is_shown_by_a_call(const Explanation& explanation);

// False: a side gave other bits where it did the same again, by chance. Its difference then tells nothing about a
// cause.
bool repeats_itself(const Explanation& explanation);

// The operator of that source; empty if there is no source, or none that can explain a defect of the steps.
std::string blamed_operator(const Explanation& explanation);

}  // namespace reprobench
