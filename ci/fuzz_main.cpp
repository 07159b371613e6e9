// Runs LLVMFuzzerTestOneInput on mutated seeds where the compiler brings no fuzzing engine of its own (GCC). It knows
// nothing of coverage; what it finds, it finds through the sanitizers it is built with. Options as libFuzzer has them:
//
//   trace_line_fuzz [-max_total_time=SECONDS] [-seed=N] [-artifact_prefix=PATH] SEED_FILE_OR_FOLDER...
//
// Every seed is tried as it is first. The input being tried lies in PATHcurrent-input, so that a crash leaves it
// behind.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr std::size_t kLargestInputBytes = 64 << 10;
constexpr std::string_view kWords[] = {"0",
                                       "-1",
                                       "9223372036854775807",
                                       "18446744073709551616",
                                       "1e400",
                                       "NaN",
                                       "null",
                                       "[]",
                                       "{}",
                                       "\"",
                                       "\\u0000",
                                       "\xff",
                                       ": ",
                                       "\n",
                                       "(",
                                       ")",
                                       "not ",
                                       "&a ",
                                       "*a",
                                       "../",
                                       "=",
                                       ",",
                                       "  - "};

// The input being tried, in a file that outlives this process.
class CurrentInput {
 public:
  explicit CurrentInput(const std::string& path)
      : path_(path), file_(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)) {
    if (file_ < 0) fail();
  }
  void keep(const std::string& input) {
    const bool is_kept = pwrite(file_, input.data(), input.size(), 0) == static_cast<ssize_t>(input.size()) &&
                         ftruncate(file_, static_cast<off_t>(input.size())) == 0;
    if (!is_kept) fail();
  }

 private:
  void fail() {
    std::perror(path_.c_str());
    std::exit(2);
  }

  std::string path_;
  int file_;
};

class Mutator {
 public:
  Mutator(std::vector<std::string> seeds, std::uint64_t seed) : seeds_(std::move(seeds)), random_(seed) {}

  std::string next() {
    std::string input = any_seed();
    const std::size_t edits = 1 + below(6);
    for (std::size_t i = 0; i < edits; ++i) edit(input);
    input.resize(std::min(input.size(), kLargestInputBytes));
    return input;
  }

 private:
  std::size_t below(std::size_t limit) { return limit == 0 ? 0 : random_() % limit; }
  const std::string& any_seed() { return seeds_[below(seeds_.size())]; }

  void edit(std::string& input) {
    const std::size_t at = below(input.size() + 1);
    const std::size_t length = 1 + below(below(8) == 0 ? input.size() + 1 : 8);
    switch (below(6)) {
      case 0:
        if (at < input.size()) input[at] = static_cast<char>(input[at] ^ (1 << below(8)));
        break;
      case 1:
        if (at < input.size()) input[at] = static_cast<char>(below(256));
        break;
      case 2:
        input.erase(at, length);
        break;
      case 3:
        input.insert(at, kWords[below(std::size(kWords))]);
        break;
      case 4:
        input.insert(at, input.substr(below(input.size() + 1), length));
        break;
      case 5: {  // from there on another seed
        const std::string& other = any_seed();
        input.replace(at, std::string::npos, other.substr(std::min(at, other.size())));
        break;
      }
    }
  }

  std::vector<std::string> seeds_;
  std::mt19937_64 random_;
};

std::string read_file(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str().substr(0, kLargestInputBytes);
}

void run(const std::string& input, CurrentInput& current) {
  current.keep(input);
  // A copy of its own size, so that a byte read beyond the end is noticed.
  const std::vector<std::uint8_t> bytes(input.begin(), input.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> seeds = {""};
  std::uint64_t seed = 1;
  long seconds = 20;
  std::string prefix;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const auto value = [&](std::string_view name) { return word.starts_with(name) ? argv[i] + name.size() : nullptr; };
    if (const char* text = value("-max_total_time=")) {
      seconds = std::atol(text);
    } else if (const char* number = value("-seed=")) {
      seed = std::strtoull(number, nullptr, 10);
    } else if (const char* path = value("-artifact_prefix=")) {
      prefix = path;
    } else if (std::filesystem::is_directory(word)) {
      for (const auto& entry : std::filesystem::directory_iterator(word)) seeds.push_back(read_file(entry.path()));
    } else if (std::filesystem::exists(word)) {
      seeds.push_back(read_file(word));
    } else {
      std::fprintf(stderr, "%s: is neither an option nor a seed\n", argv[i]);
      return 2;
    }
  }
  CurrentInput current(prefix + "current-input");
  for (const std::string& input : seeds) run(input, current);
  Mutator mutator(seeds, seed);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  long inputs = 0;
  while (std::chrono::steady_clock::now() < end) {
    run(mutator.next(), current);
    ++inputs;
  }
  std::filesystem::remove(prefix + "current-input");
  std::printf("%zu seeds, %ld mutated inputs, nothing found\n", seeds.size(), inputs);
  return inputs > 0 ? 0 : 1;
}
