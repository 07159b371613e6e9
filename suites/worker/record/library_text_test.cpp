// Lines as the libraries wrote them, from several versions, and lines that must not be taken for a call.
#include "suites/worker/record/library_text.hpp"

#include "ci/catch.hpp"

namespace reprobench {
namespace {

using NamedCalls = std::vector<std::string>;

NamedCalls calls_in(const std::string& line) {
  const LibraryText read = read_library_text(line + "\n");
  CHECK(read.unread_lines == 0);
  CHECK(read.others.empty());
  return read.calls;
}

bool is_unread(const std::string& text) {
  const LibraryText read = read_library_text(text);
  return read.unread_lines == 1 && read.calls.empty() && read.others.empty();
}

TEST_CASE("a primitive that oneDNN ran is read from the lines of every version", "[worker]") {
  const std::string descriptors =
      "src_f32::blocked:abcd:f0 dst_f32::blocked:abcd:f0,,alg:convolution_direct,mb2_ic16,0.12";
  const NamedCalls convolution = {"onednn convolution jit:avx2"};
  // 0.x had no engine; 1.x to 2.3 another name; 3.2 and 3.5 each put a word before.
  CHECK(calls_in("mkldnn_verbose,exec,convolution,jit:avx2,forward_training," + descriptors) == convolution);
  CHECK(calls_in("dnnl_verbose,exec,cpu,convolution,jit:avx2,forward_training," + descriptors) == convolution);
  CHECK(calls_in("onednn_verbose,exec,cpu,convolution,jit:avx2,forward_training," + descriptors) == convolution);
  CHECK(calls_in("onednn_verbose,1693221904.53,exec,cpu,convolution,jit:avx2,backward_data," + descriptors) ==
        convolution);
  CHECK(calls_in("onednn_verbose,primitive,exec,cpu,convolution,jit:avx2,backward_data," + descriptors) == convolution);
  CHECK(calls_in("onednn_verbose,v1,primitive,exec,cpu,convolution,jit:avx2,backward_data," + descriptors) ==
        convolution);
  CHECK(calls_in("onednn_verbose,exec,cpu,matmul,gemm:jit,undef,src_f32::blocked:ab:f0,,,64x64:64x64,0.03") ==
        NamedCalls{"onednn matmul gemm:jit"});
  // Written by oneDNN 3.7.1 in LibTorch 2.9.0, on an AMD EPYC with avx512_bf16.
  CHECK(
      calls_in("onednn_verbose,v1,primitive,exec,cpu,matmul,brg_matmul:avx512_core_bf16,undef,src:bf16::blocked:ab::f0 "
               "wei:bf16::blocked:ab::f0 dst:bf16::blocked:ab::f0,attr-scratchpad:user,,64x64:64x64,0.0300293") ==
      NamedCalls{"onednn matmul brg_matmul:avx512_core_bf16"});
}

TEST_CASE("a call of MKL is read by its name", "[worker]") {
  // Written by MKL 2024.0.2 in LibTorch 2.9.0.
  CHECK(calls_in("MKL_VERBOSE SGEMM(N,N,64,64,64,0x7fffb97f4930,0x55a706a77980,64,0x55a706a77980,64,0x7fffb97f4950,"
                 "0x55a706ac7cc0,64) 59.54ms CNR:OFF Dyn:1 FastMM:1 TID:0  NThr:2") == NamedCalls{"mkl SGEMM"});
  CHECK(calls_in("MKL_VERBOSE GEMM_BF16BF16F32(T,N,128,32,64,0x7fffb97f3a90,0x55a706af50c0,64) 51us CNR:OFF") ==
        NamedCalls{"mkl GEMM_BF16BF16F32"});
  CHECK(calls_in("MKL_VERBOSE FFT(drfo64) 1.37s CNR:AVX2 Dyn:1") == NamedCalls{"mkl FFT CNR:AVX2"});
  CHECK(calls_in("MKL_VERBOSE SGEMM(N,N,8,8,8) 9us CNR:AVX2,STRICT Dyn:1") == NamedCalls{"mkl SGEMM"});
}

TEST_CASE("a call is told once, in the order of its first line, and the text of others is kept as it was", "[worker]") {
  const std::string product = "MKL_VERBOSE SGEMM(N,N,8,8,8) 9.60us CNR:OFF\n";
  const std::string reorder = "onednn_verbose,v1,primitive,exec,cpu,reorder,jit:blk,undef,src:f32,,,2x16x32x32,0.06\n";
  const LibraryText read = read_library_text("step 1\n" + product + reorder + "\n" + product + "no end");
  CHECK(read.calls == NamedCalls{"mkl SGEMM", "onednn reorder jit:blk"});
  CHECK(read.others == "step 1\n\nno end");
  CHECK(read.unread_lines == 0);
  CHECK(read_library_text("").others.empty());
}

TEST_CASE("versions, settings and primitives that were only made are no calls", "[worker]") {
  for (const char* note :
       {"onednn_verbose,v1,info,oneDNN v3.7.1 (commit 8d263e693366ef8db40acc569cc7d8edf644556d)",
        "onednn_verbose,v1,info,cpu,isa:Intel AVX-512 with Intel DL Boost and bfloat16 support",
        "onednn_verbose,v1,primitive,info,template:operation,engine,primitive,implementation,prop_kind,exec_time",
        "onednn_verbose,v1,graph,info,template:operation,engine,partition_id,partition_kind,op_names,exec_time",
        "dnnl_verbose,info,oneDNN v2.6.3 (commit 52b5f107dd9cf10910aaa19cb47f3abf9b349815)",
        "dnnl_verbose,create:cache_miss,cpu,convolution,jit:avx2,forward_training,src_f32,,,mb2_ic16,0.3",
        "onednn_verbose,v1,primitive,create:dispatch,matmul,cpu,matmul,brg_matmul:avx512_core_amx,undef,unsupported "
        "isa",
        "MKL_VERBOSE oneMKL 2024.0 Update 2 Product build 20240605 for Intel(R) 64 architecture processors, Lnx lp64",
        "MKL_VERBOSE Intel(R) MKL 2020.0 Update 4 Product build 20200917 for Intel(R) 64 architecture, Lnx 2.60GHz"}) {
    CAPTURE(note);
    CHECK(calls_in(note).empty());
  }
}

TEST_CASE("whose code MKL takes is read from its note, by the short names", "[worker]") {
  const auto processors = [](const std::string& text) {
    return read_library_text("MKL_VERBOSE oneMKL 2024.0 Update 2 Product build 20240605 for " + text +
                             ", Lnx 2.60GHz lp64 gnu_thread\n")
        .mkl_processors;
  };
  // Written by MKL 2024.0.2 under the classes avx2, avx512 and avx2_amd of ci/cpu_classes.sh.
  CHECK(
      processors("Intel(R) 64 architecture Intel(R) Advanced Vector Extensions 2 (Intel(R) AVX2) enabled processors") ==
      "AVX2");
  CHECK(processors("Intel(R) 64 architecture Intel(R) Advanced Vector Extensions 512 (Intel(R) AVX-512) enabled "
                   "processors") == "AVX-512");
  CHECK(processors("Intel(R) 64 architecture Intel(R) Architecture processors") == "Intel(R) Architecture");
  CHECK(
      processors("Intel(R) 64 architecture Intel(R) Advanced Vector Extensions 512 (Intel(R) AVX-512) with support "
                 "for INT8, BF16, FP16 (limited) instructions, and Intel(R) Advanced Matrix Extensions (Intel(R) AMX) "
                 "with INT8 and BF16 enabled processors") ==
      "AVX-512 with support for INT8, BF16, FP16 (limited) instructions, and AMX with INT8 and BF16");
  CHECK(processors("Intel(R) 64 architecture (Intel(R) AVX2 processors") == "(Intel(R) AVX2");
  CHECK(processors("Intel(R) 64 architecture").empty());
  CHECK(processors("other processors").empty());
  CHECK(read_library_text("MKL_VERBOSE SGEMM(N,N,8,8,8) 9us CNR:OFF\n").mkl_processors.empty());
}

// Negative control: a reader that takes what it finds would report calls that were never made, or miss one silently.
TEST_CASE("a line that was cut off, run into or never seen before is counted and gives no call", "[worker]") {
  for (const char* odd :
       {"onednn_verbose,\n", "onednn_verbose,v1,primitive,exec,cpu,convolution\n",
        "onednn_verbose,exec,cpu,,jit:avx2,x\n", "onednn_verbose,exec,cpu,convolution,jit:avx2\n",
        "onednn_verbose,exec,cpu,matmul,brg\x1b[31m,undef,x\n",
        "onednn_verbose,v9,exec,cpu,matmul,brg_matmul,undef,x\n", "onednn_verbose,v1,graph,exec,cpu,100002,sdp,x\n",
        "onednn_verbose,exec,cpu,matmul,a b,undef,x\n", "MKL_VERBOSE \n", "MKL_VERBOSE SGEMM\n",
        "MKL_VERBOSE SGEMM(N,N,64\n", "MKL_VERBOSE SGEMM(N,N) \n", "MKL_VERBOSE SGEMM(N,N) 5 years\n",
        "MKL_VERBOSE SGEMM(N,N) us CNR:OFF\n", "MKL_VERBOSE (N,N) 5us CNR:OFF\n", "MKL_VERBOSE SGEMM(N,N) 5us CNR:OFF",
        "MKL_VERBOSE SGEMM(N,NMKL_VERBOSE DGEMM(N,N) 5us CNR:OFF\n",
        "onednn_verbose,exec,cpu,matmul,brg:avx2,undef,xonednn_verbose,exec,cpu,reorder,jit:uni,undef,x\n",
        "loss 0.5 MKL_VERBOSE SGEMM(N,N) 5us CNR:OFF\n"}) {
    CAPTURE(odd);
    CHECK(is_unread(odd));
  }
  CHECK(read_library_text(std::string("onednn_verbose,exec,cpu,mat\0mul,x,y\n", 36)).unread_lines == 1);
}

}  // namespace
}  // namespace reprobench
