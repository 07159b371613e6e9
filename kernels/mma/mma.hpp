// The result of a tensor core for a matrix product, bit for bit, on the CPU: the multiply-accumulate rules of NVIDIA's
// generations as a table and the arithmetic they share.
//
// One instruction adds `fused_k` products to the accumulator at once. Every product and the accumulator are aligned to
// the largest exponent among them (a product's is the sum of its factors', not normalised). They are cut towards zero
// to `fraction_bits` and summed exactly, and the sum is cut towards zero to the accumulator's format. A longer row is a
// chain of such instructions in the order of k.
//
// The rules are those that MMA-Sim found by probing real devices (Xie et al., "MMA-Sim: Bit-Accurate Reference Model of
// Tensor Cores and Matrix Cores", arXiv:2511.10909). This project has not compared them with hardware. It is an
// assumption that a library runs one chain over all of k without splitting it. A kernel that splits k, or has several
// accumulators, gives other bits, which nothing here reproduces.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace reprobench {

// The type of the factors. tf32 takes fp32 and drops the low 13 bits.
enum class MmaType { fp16, bf16, tf32, fp8_e4m3, fp8_e5m2 };

struct MmaRule {
  std::string_view generation;  // "Hopper"
  int fused_k = 0;              // products added at once; Ampere and Ada split an instruction's k in halves
  int fraction_bits = 0;        // of an aligned addend
  int accumulator_bits = 23;    // fraction bits that survive an instruction; 13 of fp8 on Ada and Hopper

  friend bool operator==(const MmaRule& a, const MmaRule& b) {
    return a.fused_k == b.fused_k && a.fraction_bits == b.fraction_bits && a.accumulator_bits == b.accumulator_bits;
  }
};

// The rule of a device class; nothing if it has no such instruction, or if its rule is not known.
std::optional<MmaRule> mma_rule(std::string_view device_class, MmaType type);

// a[0]*b[0] + a[1]*b[1] + ... as a chain of instructions that starts from zero. The factors are exact values of `type`;
// for tf32 any fp32 values. A sum with a NaN or an infinity is that of IEEE arithmetic, with NaN as 0x7fffffff.
float mma_dot(const MmaRule& rule, MmaType type, std::span<const float> a, std::span<const float> b);

}  // namespace reprobench
