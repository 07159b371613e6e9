// A library to preload: what a worker calls becomes slow, stalls, leaks, is skipped or starts late, without a word of
// the worker's own. PRELOADED_FAULT says which; ci/preloaded_faults.sh builds it and asks a run about each.
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

namespace {

std::string_view fault() {
  static const char* const name = std::getenv("PRELOADED_FAULT");
  return name == nullptr ? "" : name;
}

void wait_us(long us) {
  const timespec time{us / 1'000'000, us % 1'000'000 * 1000};
  nanosleep(&time, nullptr);
}

void keep_bytes(std::size_t bytes) {
  static void* volatile kept;  // seen from outside, so the compiler cannot leave the memory out
  kept = std::malloc(bytes);
  if (void* here = kept) std::memset(here, 1, bytes);
}

// As the loader calls it, before `main`.
__attribute__((constructor)) void begin() {
  if (fault() == "starts_late") wait_us(3'000'000);
  if (fault() == "takes_more") keep_bytes(200'000'000);
}

__attribute__((destructor)) void end() {
  if (fault() == "ends_late") wait_us(2'000'000);
}

void before_linear() {
  static long calls = 0;
  ++calls;
  if (fault() == "slow") wait_us(300);
  if (fault() == "stalls" && calls % 200 == 0) wait_us(100'000);  // every 100th step of mlp, which has two products
  if (fault() == "stutters" && calls % 100 == 0) wait_us(2500);   // four steps' time in every 50th
  if (fault() == "hiccups" && calls % 250 == 0) wait_us(20'000);  // less than one step in a hundred
  if (fault() == "slows_later" && calls > 3360) wait_us(150);     // from the 1,681st of 3,000 steps on
  if (fault() == "leaks") keep_bytes(128'000);
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

// Gloo sends what is small in one piece.
void before_message(std::size_t bytes) {
  if (fault() == "slow_messages" && bytes < 1000) wait_us(2000);
}

}  // namespace

// A tensor that is returned is made where the first argument points to, and one that is changed is returned by address
// (System V ABI of x86-64), so that nothing of ATen is needed to stand in between.
extern "C" {

#define LINEAR "_ZN2at4_ops6linear4callERKNS_6TensorES4_RKSt8optionalIS2_E"
void* linear(void* made, void* input, void* weight, void* bias) __asm__(LINEAR);
void* linear(void* made, void* input, void* weight, void* bias) {
  static auto* const real = next<void*(void*, void*, void*, void*)>(LINEAR);
  before_linear();
  return real(made, input, weight, bias);
}

#define RELU "_ZN2at4_ops4relu4callERKNS_6TensorE"
void* relu(void* made, void* input) __asm__(RELU);
void* relu(void* made, void* input) {
  static auto* const real = next<void*(void*, void*)>(RELU);
  static auto* const alias = next<void*(void*, void*)>("_ZN2at4_ops5alias4callERKNS_6TensorE");
  static long calls = 0;
  return fault() == "skips_relu" && ++calls % 7 == 0 ? alias(made, input) : real(made, input);
}

// Adam's own: a training without it keeps its weights.
#define UPDATE "_ZN2at4_ops8addcdiv_4callERNS_6TensorERKS2_S5_RKN3c106ScalarE"
void* update(void* weights, void* moment, void* divisor, void* factor) __asm__(UPDATE);
void* update(void* weights, void* moment, void* divisor, void* factor) {
  static auto* const real = next<void*(void*, void*, void*, void*)>(UPDATE);
  static long calls = 0;
  return fault() == "loses_updates" && ++calls % 5 == 0 ? weights : real(weights, moment, divisor, factor);
}

ssize_t send(int socket, const void* bytes, size_t count, int flags) {
  static auto* const real = next<ssize_t(int, const void*, size_t, int)>("send");
  before_message(count);
  return real(socket, bytes, count, flags);
}

ssize_t writev(int file, const iovec* parts, int count) {
  static auto* const real = next<ssize_t(int, const iovec*, int)>("writev");
  std::size_t bytes = 0;
  for (int i = 0; i < count; ++i) bytes += parts[i].iov_len;
  before_message(bytes);
  return real(file, parts, count);
}

ssize_t sendmsg(int socket, const msghdr* message, int flags) {
  static auto* const real = next<ssize_t(int, const msghdr*, int)>("sendmsg");
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < message->msg_iovlen; ++i) bytes += message->msg_iov[i].iov_len;
  before_message(bytes);
  return real(socket, message, flags);
}
}
