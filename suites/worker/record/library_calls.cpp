#include "suites/worker/record/library_calls.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include "suites/worker/record/library_text.hpp"

namespace reprobench {
namespace {

using SetVerbose = int (*)(int);

// By name, because LibTorch exports its own since 1.13 or later, a distribution's keeps the libraries beside it, and
// another BLAS takes MKL's place.
SetVerbose find_switch(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (void* symbol = dlsym(RTLD_DEFAULT, name)) return reinterpret_cast<SetVerbose>(symbol);
  }
  return nullptr;
}

SetVerbose onednn_switch() {
  return find_switch({"_ZN5torch7verbose19_mkldnn_set_verboseEi", "dnnl_set_verbose", "mkldnn_set_verbose"});
}
SetVerbose mkl_switch() { return find_switch({"MKL_Verbose", "mkl_verbose"}); }

class Verbose {
 public:
  Verbose() : onednn_(onednn_switch()), mkl_(mkl_switch()) { set(1); }
  ~Verbose() { set(0); }
  Verbose(const Verbose&) = delete;
  Verbose& operator=(const Verbose&) = delete;

  std::string silent() const {
    if (onednn_ != nullptr && mkl_ != nullptr) return "";
    const char* which = onednn_ == nullptr && mkl_ == nullptr ? "oneDNN and MKL"
                        : onednn_ == nullptr                  ? "oneDNN"
                                                              : "MKL";
    return std::string("this LibTorch has no switch that makes ") + which + " tell of its calls";
  }

 private:
  void set(int level) {
    if (onednn_ != nullptr) onednn_(level);
    if (mkl_ != nullptr) mkl_(level);
  }
  SetVerbose onednn_;
  SetVerbose mkl_;
};

// Standard output goes to memory while it lives.
class CaughtOutput {
 public:
  CaughtOutput() {
    std::fflush(stdout);
    before_ = dup(STDOUT_FILENO);  // first: where it is closed, a new file would take its number
    if (before_ >= 0) file_ = memfd_create("library calls", MFD_CLOEXEC);
    if (file_ < 0 || dup2(file_, STDOUT_FILENO) < 0) problem_ = std::strerror(errno);
  }
  ~CaughtOutput() {
    release();
    if (file_ >= 0) close(file_);
    if (before_ >= 0) close(before_);
  }
  CaughtOutput(const CaughtOutput&) = delete;
  CaughtOutput& operator=(const CaughtOutput&) = delete;

  const std::string& problem() const { return problem_; }

  // From here on standard output goes where it went.
  void release() {
    if (!problem_.empty() || released_) return;
    std::fflush(stdout);
    dup2(before_, STDOUT_FILENO);
    released_ = true;
  }

  std::string text() const {
    std::string text;
    char block[4096];
    for (ssize_t got = 0; (got = pread(file_, block, sizeof block, static_cast<off_t>(text.size()))) > 0;) {
      text.append(block, static_cast<std::size_t>(got));
    }
    return text;
  }

 private:
  int file_ = -1;
  int before_ = -1;
  std::string problem_;
  bool released_ = false;
};

void add_reason(std::string& unheard, const std::string& reason) {
  if (!reason.empty()) unheard += (unheard.empty() ? "" : "; ") + reason;
}

}  // namespace

LibraryCalls library_calls(const std::function<void()>& work) {
  LibraryCalls seen;
  CaughtOutput output;
  if (!output.problem().empty()) {
    work();
    seen.unheard = "standard output could not be caught: " + output.problem();
    return seen;
  }
  std::exception_ptr failure;
  {
    const Verbose verbose;
    seen.unheard = verbose.silent();
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
  }
  output.release();
  LibraryText text = read_library_text(output.text());
  std::fwrite(text.others.data(), 1, text.others.size(), stdout);
  if (failure) std::rethrow_exception(failure);
  seen.calls = std::move(text.calls);
  if (text.unread_lines > 0) {
    add_reason(seen.unheard, std::to_string(text.unread_lines) + " lines of the libraries are not understood");
  }
  return seen;
}

}  // namespace reprobench
