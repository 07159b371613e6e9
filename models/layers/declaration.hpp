// A network where nothing is computed: shapes flow through it, and its parameters, its buffers and the products of a
// step are the result. `Pass` (pass.hpp) has the same members and computes them. So a model writes its network once, as
// a template over the two, and cannot count or declare another network than it trains.
//
// Shapes begin with the batch, B. T and S are positions, C channels, H heads, D = C / H.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "models/activation_tape.hpp"
#include "models/model_spec.hpp"

namespace reprobench {

inline constexpr float kWeightScale = 0.02F;  // standard deviation of initial weights, as GPT-2 and LLaMA have it

struct Linear {
  std::int64_t out = 0;
  bool bias = false;
  float init_scale = kWeightScale;
  bool frozen = false;
};

// Query heads share key and value heads if there are fewer of the latter (Ainslie et al. 2023, "GQA").
struct Attention {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  bool causal = false;
};

// A convolution whose windows do not overlap: an image cut into squares, each of them one position.
struct Patches {
  std::int64_t out = 0;
  std::int64_t side = 0;  // pixels of a square
  bool bias = false;
  float init_scale = kWeightScale;
};

// A tensor's shape, whether a step computes its gradient, and its id on the tape.
struct Extent {
  std::vector<std::int64_t> shape;
  bool has_gradient = false;
  ActivationTape::Id id = ActivationTape::kNone;
  std::int64_t parameter_elements = 0;  // of the parameter that this is, or is a view of

  std::int64_t elements() const;
};

class Declaration {
 public:
  using Value = Extent;

  explicit Declaration(std::int64_t batch_size) : batch_size_(batch_size) {}

  Extent field(std::string_view name, std::vector<std::int64_t> sample_shape);  // of the batch: (B, ...)
  Extent parameter(ParameterSpec spec);
  // A buffer of constants. A pass has them already and does not compute them again.
  Extent table(const std::string& name, const std::vector<std::int64_t>& shape,
               const std::function<std::vector<float>()>& values);

  Extent embedding(const Extent& tokens, const Extent& rows, const std::string& name);
  Extent linear(const Extent& x, const std::string& name, const Linear& linear);
  Extent patches(const Extent& image, const std::string& name, const Patches& patches);
  Extent layer_norm(const Extent& x, const std::string& name);
  Extent rms_norm(const Extent& x, const std::string& name, bool frozen = false);
  Extent attention(const Extent& query, const Extent& key, const Extent& value, const std::string& name,
                   const Attention& attention);
  Extent rotate(const Extent& x, const Extent& cosines, const Extent& sines, std::int64_t heads);
  Extent product(const Extent& x, const Extent& rows, const std::string& name);
  Extent add(const Extent& a, const Extent& b, double times = 1);
  Extent multiply(const Extent& a, const Extent& b);
  Extent times_exponential(const Extent& x, const Extent& exponent);
  Extent gelu(const Extent& x, const std::string& name);
  Extent quick_gelu(const Extent& x, const std::string& name);
  Extent silu(const Extent& x, const std::string& name);
  Extent normalized(const Extent& x);
  Extent for_each_of(const Extent& samples, const Extent& x) const;
  Extent concatenated(const Extent& a, const Extent& b);
  Extent positions(const Extent& x, std::int64_t first, std::int64_t count) const;
  Extent first(const Extent& x) const;
  Extent position(const Extent& x, const Extent& index);
  Extent frames_apart(const Extent& x) const;
  Extent frames_together(const Extent& x, std::int64_t frames) const;
  Extent shown(const Extent& x, const std::string& name);
  void choice(const Extent& scores, const std::string& event);

  // A block, which a training may compute a second time (StepContext::block); operations count once.
  template <class Compute>
  Extent block(const std::vector<Extent>& inputs, const Compute& compute) {
    std::vector<ActivationTape::Id> ids;
    for (const Extent& input : inputs) ids.push_back(input.id);
    tape.begin_block(ids);
    const Extent out = compute(inputs);
    tape.end_block();
    return out;
  }

  // The operations of one step, by kFlopConvention. A product costs the same again for the gradient of each factor that
  // has one.
  std::int64_t flops() const { return 2 * multiply_adds_; }

  std::vector<ParameterSpec> parameters;
  std::vector<BufferSpec> buffers;
  ActivationTape tape;  // as `Pass` computes it on a CPU in fp32, with attention written out

 private:
  // Puts `out`, which a call makes of its inputs, on the tape. If it has no gradient, nothing is saved for one.
  Extent made(Extent out, const std::vector<Extent>& read, const std::vector<ActivationTape::Id>& saved,
              std::int64_t gradients = 0);
  void count(std::int64_t multiply_adds, const Extent& a, const Extent& b);

  std::int64_t batch_size_;
  std::int64_t multiply_adds_ = 0;
  ActivationTape::Id embedded_ = ActivationTape::kNone;  // by the latest table of rows
};

}  // namespace reprobench
