// The knobs' table against one written out by hand. A default is part of what a cell's identity leaves out, so a
// default that changes gives old results other names.
#include "matrix/contract/knob.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

std::string text_of(const std::map<std::string, std::string>& values) {
  std::string text;
  for (const auto& [name, value] : values) text += (text.empty() ? "" : " ") + name + "=" + value;
  return text;
}

TEST_CASE("the default of every knob is the one that cells were named with", "[contract]") {
  CHECK(text_of(with_defaults({})) ==
        "accumulate=1 allocator=retain attention=written_out blas=default cpu_isa=native cublas_workspace=preset "
        "cuda_allocator=released cuda_blas=released cuda_graph=off cuda_module_loading=lazy cudnn_benchmark=preset "
        "cudnn_heuristic=released determinism=strict deterministic_fill=preset flush_denormals=preset "
        "fp16_accumulation=off gathered_weights=none gelu=tanh gradient_checkpointing=off loader_prefetch=2 "
        "loader_threads=0 "
        "loss_scale=constant loss_scale_growth_interval=2000 "
        "lr_schedule=preset max_grad_norm=0 mkl_cbwr=native offload=none onednn=on onednn_isa=cpu_isa "
        "optimizer_layout=per_tensor overlap=off precision=fp32 reduced_reduction=preset rendezvous=file replicas=1 "
        "seed=1 "
        "sequence_lengths=fixed "
        "tf32=off threads=1 "
        "warmup_steps=5 zero_stage=0");
  CHECK(without_defaults(with_defaults({})).empty());
  CHECK(text_of(without_defaults(with_defaults({{"seed", "2"}, {"tf32", "off"}}))) == "seed=2");
  CHECK(text_of(without_defaults({{"no_knob", "1"}})) == "no_knob=1");
}

TEST_CASE("the knobs that act on a GPU alone are these", "[contract]") {
  std::string names;
  for (const Knob& knob : knobs()) {
    if (knob.acts_on == ActsOn::gpu) names += std::string(knob.name) + " ";
    CHECK_FALSE(knob.summary.empty());
  }
  CHECK(names ==
        "cublas_workspace cuda_allocator cuda_blas cuda_graph cuda_module_loading cudnn_benchmark cudnn_heuristic "
        "fp16_accumulation reduced_reduction tf32 ");
}

TEST_CASE("a knob takes its values, a whole number from 1 or from 0 on, or an amount", "[contract]") {
  std::string words;
  for (const Knob& knob : knobs()) {
    words += std::string(knob.name) + ":";
    for (const std::string_view value : knob.values) words += " " + std::string(value);
    constexpr const char* kNumbers[] = {";", " from 0;", " amount;"};
    words += kNumbers[static_cast<std::size_t>(knob.numbers)];
  }
  CHECK(words ==
        "accumulate:;allocator: retain system mapped;attention: written_out math flash mem_efficient cudnn;"
        "blas: default reference openblas blis;cpu_isa: native default avx2 avx512;"
        "cublas_workspace: preset 4096_8 16_8;cuda_allocator: released expandable_segments malloc_async unified;"
        "cuda_blas: released cublas cublaslt;cuda_graph: off on;cuda_module_loading: lazy eager;"
        "cudnn_benchmark: preset off on;cudnn_heuristic: released mode_b;determinism: strict default fast;"
        "deterministic_fill: preset off on;flush_denormals: preset off on;fp16_accumulation: off on;"
        "gathered_weights: none bf16 fp16;gelu: tanh erf;"
        "gradient_checkpointing: off on;loader_prefetch:;loader_threads: from 0;loss_scale: constant "
        "dynamic;loss_scale_growth_interval:;"
        "lr_schedule: preset constant warmup_cosine;max_grad_norm: amount;"
        "mkl_cbwr: native compatible avx2 avx512;offload: none optimizer optimizer_and_param;onednn: on off;"
        "onednn_isa: cpu_isa sse41 avx2 avx512;optimizer_layout: per_tensor flat;overlap: off on;"
        "precision: fp32 bf16 fp16 fp64;reduced_reduction: preset off on;rendezvous: file tcp;replicas:;seed:;"
        "sequence_lengths: fixed bucketed;tf32: off on;threads:;warmup_steps:;zero_stage: 0 1 2 3;");
  const Knob& number = *find_knob("threads");
  for (const char* taken : {"1", "9", "10", "123456789"}) CHECK(accepts(number, taken));
  for (const char* refused : {"", "0", "01", "-1", "1.0", "1234567890", "1:", "1/"})
    CHECK_FALSE(accepts(number, refused));
  const Knob& from_zero = *find_knob("loader_threads");
  for (const char* taken : {"0", "1", "10", "123456789"}) CHECK(accepts(from_zero, taken));
  for (const char* refused : {"", "00", "01", "-1", "0.0", "1234567890"}) CHECK_FALSE(accepts(from_zero, refused));
  const Knob& amount = *find_knob("max_grad_norm");
  for (const char* taken : {"0", "9", "0.0", "123456789", "0.123456789", "9.9"}) CHECK(accepts(amount, taken));
  for (const char* refused : {"", ".", "1.", ".1", "00", "1234567890", "0.1234567890", "0:", "0/", "0.1.1", "0./"}) {
    CHECK_FALSE(accepts(amount, refused));
  }
  CHECK(accepts(*find_knob("gelu"), "erf"));
  CHECK_FALSE(accepts(*find_knob("gelu"), "1"));
  CHECK(find_knob("gelus") == nullptr);
}

TEST_CASE("what a knob's value sets before LibTorch is loaded", "[contract]") {
  const auto set_by = [](const char* knob, const char* value) { return text_of(knob_environment({{knob, value}})); };
  CHECK(set_by("threads", "3") ==
        "MKL_DYNAMIC=FALSE MKL_NUM_THREADS=3 OMP_DYNAMIC=false OMP_NUM_THREADS=3 OMP_WAIT_POLICY=PASSIVE "
        "OPENBLAS_NUM_THREADS=3");
  CHECK(set_by("cpu_isa", "native").empty());
  CHECK(set_by("cpu_isa", "default") == "ATEN_CPU_CAPABILITY=default DNNL_MAX_CPU_ISA=SSE41 ONEDNN_MAX_CPU_ISA=SSE41");
  CHECK(set_by("cpu_isa", "avx2") == "ATEN_CPU_CAPABILITY=avx2 DNNL_MAX_CPU_ISA=AVX2 ONEDNN_MAX_CPU_ISA=AVX2");
  CHECK(set_by("cpu_isa", "avx512") ==
        "ATEN_CPU_CAPABILITY=avx512 DNNL_MAX_CPU_ISA=AVX512_CORE ONEDNN_MAX_CPU_ISA=AVX512_CORE");
  CHECK(set_by("onednn_isa", "cpu_isa").empty());
  CHECK(set_by("onednn_isa", "sse41") == "DNNL_MAX_CPU_ISA=SSE41 ONEDNN_MAX_CPU_ISA=SSE41");
  CHECK(set_by("onednn_isa", "avx2") == "DNNL_MAX_CPU_ISA=AVX2 ONEDNN_MAX_CPU_ISA=AVX2");
  CHECK(set_by("onednn_isa", "avx512") == "DNNL_MAX_CPU_ISA=AVX512_CORE ONEDNN_MAX_CPU_ISA=AVX512_CORE");
  CHECK(set_by("blas", "default").empty());
  CHECK(set_by("blas", "reference") == "LD_PRELOAD=/usr/lib/x86_64-linux-gnu/blas/libblas.so.3");
  CHECK(set_by("blas", "blis") == "LD_PRELOAD=/usr/lib/x86_64-linux-gnu/blis-pthread/libblas.so.3");
  CHECK(set_by("mkl_cbwr", "native").empty());
  CHECK(set_by("mkl_cbwr", "compatible") == "MKL_CBWR=COMPATIBLE");
  CHECK(set_by("mkl_cbwr", "avx2") == "MKL_CBWR=AVX2");
  CHECK(set_by("mkl_cbwr", "avx512") == "MKL_CBWR=AVX512");
  CHECK(set_by("cublas_workspace", "preset").empty());
  CHECK(set_by("cublas_workspace", "4096_8") == "CUBLAS_WORKSPACE_CONFIG=:4096:8");
  CHECK(set_by("cublas_workspace", "16_8") == "CUBLAS_WORKSPACE_CONFIG=:16:8");
  CHECK(set_by("determinism", "strict") == "CUBLAS_WORKSPACE_CONFIG=:4096:8");
  CHECK(set_by("determinism", "fast").empty());
  CHECK(set_by("cuda_allocator", "released").empty());
  CHECK(set_by("cuda_allocator", "unified").empty());
  CHECK(set_by("cuda_allocator", "expandable_segments") == "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True");
  CHECK(set_by("cuda_allocator", "malloc_async") == "PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync");
  CHECK(set_by("cuda_blas", "released").empty());
  CHECK(set_by("cuda_blas", "cublas") == "DISABLE_ADDMM_CUDA_LT=1 TORCH_BLAS_PREFER_CUBLASLT=0");
  CHECK(set_by("cuda_blas", "cublaslt") == "TORCH_BLAS_PREFER_CUBLASLT=1");
  CHECK(set_by("cuda_module_loading", "lazy") == "CUDA_MODULE_LOADING=LAZY");
  CHECK(set_by("cuda_module_loading", "eager") == "CUDA_MODULE_LOADING=EAGER");
  CHECK(set_by("cudnn_heuristic", "released").empty());
  CHECK(set_by("cudnn_heuristic", "mode_b") == "TORCH_CUDNN_USE_HEURISTIC_MODE_B=1");
  CHECK(set_by("allocator", "system").empty());
  CHECK(set_by("allocator", "mapped") == "MALLOC_MMAP_THRESHOLD_=65536");
  CHECK(set_by("allocator", "retain") ==
        "MALLOC_MMAP_THRESHOLD_=1073741824 MALLOC_TOP_PAD_=67108864 MALLOC_TRIM_THRESHOLD_=2147483648");
  CHECK(set_by("no_knob", "1").empty());
}

TEST_CASE("a knob that sets what another sets has the last word, or leaves it alone", "[contract]") {
  CHECK(knob_environment({{"cpu_isa", "avx512"}, {"onednn_isa", "avx2"}}).at("ONEDNN_MAX_CPU_ISA") == "AVX2");
  CHECK(knob_environment({{"cpu_isa", "avx512"}, {"onednn_isa", "cpu_isa"}}).at("ONEDNN_MAX_CPU_ISA") == "AVX512_CORE");
  CHECK(knob_environment({{"cublas_workspace", "16_8"}, {"determinism", "strict"}}).at("CUBLAS_WORKSPACE_CONFIG") ==
        ":16:8");
}

TEST_CASE("the settings of nobody's choice are the defaults of all knobs, and each has a member of its own",
          "[contract]") {
  CHECK(settings_of({}) == Settings());
  CHECK(settings_of(with_defaults({})) == Settings());
  const Settings defaults;
  for (const Knob& knob : knobs()) {
    INFO(knob.name);
    CHECK(knob.setting.text(knob, defaults) == knob.default_value);
    CHECK(&detail::knob_read_by(knob.setting.read) == &knob);
  }
}

TEST_CASE("every value of a knob is read into its member alone and written as the same text", "[contract]") {
  for (const Knob& knob : knobs()) {
    std::vector<std::string_view> values = knob.values;
    if (values.empty()) values = {"7", "123456789"};
    if (knob.numbers == KnobNumbers::amounts) values = {"0", "0.25", "7"};
    for (const std::string_view value : values) {
      INFO(knob.name << "=" << value);
      Settings settings = settings_of({{std::string(knob.name), std::string(value)}});
      CHECK(knob.setting.text(knob, settings) == value);
      CHECK((settings == Settings()) == (value == knob.default_value));
      knob.setting.read(knob, knob.default_value, settings);
      CHECK(settings == Settings());
    }
  }
}

TEST_CASE("names of knobs are in order, which is how they are found", "[contract]") {
  CHECK(std::ranges::is_sorted(knobs(), {}, &Knob::name));
  for (const Knob& knob : knobs()) CHECK(find_knob(knob.name) == &knob);
}

TEST_CASE("one setting is asked for by its member", "[contract]") {
  CHECK(setting_in<&Settings::accumulate>({{"accumulate", "4"}}) == 4);
  CHECK(setting_in<&Settings::accumulate>({}) == 1);
  CHECK(setting_in<&Settings::precision>({{"precision", "fp64"}}) == Precision::fp64);
  CHECK(setting_in<&Settings::onednn>({{"onednn", "off"}}) == false);
  CHECK(said_of<&Settings::zero_stage>({{"zero_stage", "3"}}) == 3);
  CHECK_FALSE(said_of<&Settings::zero_stage>({}));
  CHECK_FALSE(said_of<&Settings::zero_stage>({{"zero_stage", "4"}}));
  KnobValues values;
  set<&Settings::precision>(values, Precision::bf16);
  set<&Settings::threads>(values, 12);
  set<&Settings::tf32>(values, true);
  CHECK(text_of(values) == "precision=bf16 tf32=on threads=12");
  CHECK(words_of<&Settings::offload>(Settings()) == "offload=none");
  CHECK(knob_for<&Settings::max_grad_norm>().name == "max_grad_norm");
}

TEST_CASE("a name or a value that no knob has is refused by name", "[contract]") {
  CHECK_THROWS_WITH(settings_of({{"no_knob", "1"}}), "there is no knob `no_knob`");
  CHECK_THROWS_WITH(settings_of({{"threads", "0"}}), "knob `threads` does not take `0`");
  CHECK_THROWS_WITH((setting_in<&Settings::gelu>({{"gelu", "1"}})), "knob `gelu` does not take `1`");
}

template <class Property>
std::string names_with(Property property) {
  std::string names;
  for (const Knob& knob : knobs()) {
    if (property(knob)) names += (names.empty() ? "" : " ") + std::string(knob.name);
  }
  return names;
}

// Held against lists written out by hand: a new knob says here what it does to each.
TEST_CASE("what a row says of resuming, comparing, sharing out, memory and sums", "[contract]") {
  CHECK(names_with([](const Knob& knob) { return knob.keeps_bits; }) ==
        "accumulate allocator cuda_allocator cuda_module_loading gathered_weights loader_prefetch loader_threads "
        "overlap rendezvous replicas zero_stage");
  CHECK(names_with([](const Knob& knob) { return knob.must_agree; }) == "precision seed");
  CHECK(names_with([](const Knob& knob) { return knob.shares_out == SharesOut::batch; }) == "accumulate replicas");
  CHECK(names_with([](const Knob& knob) { return knob.shares_out == SharesOut::state; }) ==
        "offload overlap zero_stage");
  CHECK(names_with([](const Knob& knob) { return knob.memory == MemoryEffect::none; }) ==
        "cpu_isa flush_denormals gelu mkl_cbwr onednn_isa optimizer_layout precision seed sequence_lengths threads");
  CHECK(names_with([](const Knob& knob) { return knob.memory == MemoryEffect::counted; }) ==
        "accumulate allocator gradient_checkpointing");
  CHECK(names_with([](const Knob& knob) { return knob.acts_by == ActsBy::model; }) == "gelu");
  std::string orders;
  for (const Knob& knob : knobs()) {
    for (const std::string_view value : knob.other_orders) {
      CHECK(accepts(knob, value));
      orders += std::string(knob.name) + "=" + std::string(value) + " ";
    }
  }
  CHECK(orders == "cpu_isa=avx2 cpu_isa=default mkl_cbwr=compatible onednn=off threads=2 threads=4 ");
}

}  // namespace
}  // namespace reprobench
