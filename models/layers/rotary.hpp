// The angles of rotary position embeddings (Su et al. 2021, "RoFormer"): position t turns pair i of a head of D
// elements by t base^(-2 i / D). The tables are computed in IEEE operations alone, without a power, sine or cosine of a
// C library, since they are part of the bits of a run.
#pragma once

#include <cstdint>
#include <vector>

namespace reprobench {

// How LLaMA 3.1 scales the angles of long waves over more positions than it was first trained with.
struct RotaryScaling {
  double factor = 1;  // 1: no scaling
  double least_turns = 1;
  double most_turns = 4;
  double first_context = 8192;
};

struct Rotary {
  std::int64_t head_width = 0;  // D, even
  double base = 10000;
  RotaryScaling scaling = {};
};

struct RotaryTables {
  std::vector<float> cosines;  // (positions, D / 2)
  std::vector<float> sines;
};

RotaryTables rotary_tables(const Rotary& rotary, std::int64_t positions);

// The angle between neighbours of each pair, D / 2 of them.
std::vector<double> rotary_frequencies(const Rotary& rotary);

}  // namespace reprobench
