#include "suites/worker/record/library_calls.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

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

}  // namespace

namespace library_calls_detail {

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

  // What was written since it was asked last.
  std::string take() {
    std::fflush(stdout);
    std::string text;
    char block[4096];
    for (ssize_t got = 0; (got = pread(file_, block, sizeof block, taken_bytes_)) > 0; taken_bytes_ += got) {
      text.append(block, static_cast<std::size_t>(got));
    }
    give_back_memory();
    return text;
  }

 private:
  // Attention may take a hundred thousand products. Places in the file stay, so that nobody's text is lost.
  void give_back_memory() {
    constexpr off_t kWorthIt_bytes = off_t{1} << 20;
    if (taken_bytes_ - given_back_bytes_ < kWorthIt_bytes) return;
    fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, taken_bytes_);
    given_back_bytes_ = taken_bytes_;
  }

  int file_ = -1;
  int before_ = -1;
  off_t taken_bytes_ = 0;
  off_t given_back_bytes_ = 0;
  std::string problem_;
  bool released_ = false;
};

}  // namespace library_calls_detail

// The output is caught first, and given back when the libraries are silent.
struct HeardLibraries::Parts {
  library_calls_detail::CaughtOutput output;
  std::optional<library_calls_detail::Verbose> verbose;
};

HeardLibraries::HeardLibraries() : parts_(std::make_unique<Parts>()) {
  if (parts_->output.problem().empty()) parts_->verbose.emplace();
}

HeardLibraries::~HeardLibraries() {
  parts_->verbose.reset();
  take();
  parts_->output.release();
  std::fwrite(others_.data(), 1, others_.size(), stdout);
}

LibraryText HeardLibraries::take() {
  if (!parts_->output.problem().empty()) return {};
  LibraryText text = read_library_text(parts_->output.take());
  others_ += text.others;
  static std::string mkl_processors;  // MKL says it once
  if (mkl_processors.empty()) mkl_processors = text.mkl_processors;
  text.mkl_processors = mkl_processors;
  return text;
}

std::string HeardLibraries::unheard() const {
  if (!parts_->verbose) return "standard output could not be caught: " + parts_->output.problem();
  return parts_->verbose->silent();
}

LibraryCalls library_calls(const std::function<void()>& work) {
  HeardLibraries heard;
  work();
  LibraryText text = heard.take();
  LibraryCalls seen{std::move(text.calls), heard.unheard()};
  if (text.unread_lines > 0) {
    seen.unheard += (seen.unheard.empty() ? "" : "; ") + not_understood(text);
  }
  return seen;
}

}  // namespace reprobench
