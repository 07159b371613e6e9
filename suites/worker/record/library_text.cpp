#include "suites/worker/record/library_text.hpp"

#include <algorithm>
#include <cctype>
#include <optional>

namespace reprobench {
namespace {

// Of one line: a call, a note (an empty text), or nothing that can be understood.
using ReadLine = std::optional<std::string>;

constexpr std::string_view kMkl = "MKL_VERBOSE ";

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789.") == std::string_view::npos;
}

// "brgconv:avx512_core_amx", "gemm:x8s8s32x:any", "GEMM_BF16BF16F32": no list of all names is to be had.
bool is_name(std::string_view text) {
  const auto belongs = [](unsigned char letter) {
    return std::isalnum(letter) != 0 || letter == '_' || letter == ':' || letter == '+' || letter == '-' ||
           letter == '.';
  };
  return !text.empty() && std::isalpha(static_cast<unsigned char>(text.front())) != 0 &&
         std::all_of(text.begin(), text.end(), belongs);
}

std::string_view take_field(std::string_view& line) {
  const std::size_t comma = line.find(',');
  const std::string_view field = line.substr(0, comma);
  line = comma == std::string_view::npos ? std::string_view() : line.substr(comma + 1);
  return field;
}

bool is_among(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

// After the first comma: 0.x "exec,PRIMITIVE,IMPLEMENTATION", 1.x and 2.x "exec,ENGINE,PRIMITIVE,IMPLEMENTATION", 3.x
// "v1,primitive,exec,ENGINE,..." or a part of that. A time may stand before all, and notes take the place of "exec".
ReadLine read_onednn(std::string_view rest) {
  std::string_view field = take_field(rest);
  while (is_number(field) || is_among(field, {"v0", "v1", "primitive"})) field = take_field(rest);
  // A graph or a ukernel that was run says nothing of an implementation.
  if (is_among(field, {"graph", "ukernel"})) return take_field(rest) == "exec" ? std::nullopt : ReadLine("");
  for (const std::string_view note : {"info", "create", "error", "warn", "common"}) {
    if (field.starts_with(note)) return "";
  }
  if (field != "exec") return std::nullopt;
  field = take_field(rest);
  if (field.starts_with("cpu") || field.starts_with("gpu")) field = take_field(rest);
  const std::string_view primitive = field;
  const std::string_view implementation = take_field(rest);
  // A line that was cut off has nothing behind these.
  if (!is_name(primitive) || !is_name(implementation) || rest.empty()) return std::nullopt;
  return "onednn " + std::string(primitive) + " " + std::string(implementation);
}

// "OFF" is the usual one, which takes the fastest code that the CPU has.
std::string reproducibility_branch(std::string_view rest) {
  constexpr std::string_view kKey = " CNR:";
  const std::size_t key = rest.find(kKey);
  if (key == std::string_view::npos) return "";
  rest.remove_prefix(key + kKey.size());
  const std::string_view branch = rest.substr(0, rest.find(' '));
  return branch == "OFF" || !is_name(branch) ? "" : " CNR:" + std::string(branch);
}

// "SGEMM(N,N,64,...) 59.54us CNR:OFF ...". A note names the product, whose "Intel(R)" is followed by no time.
ReadLine read_mkl(std::string_view rest) {
  const std::size_t open = rest.find('(');
  const std::string_view name = rest.substr(0, open);
  if (rest.starts_with("Intel(R) ") || rest.starts_with("oneMKL ")) return "";
  if (open == std::string_view::npos || !is_name(name)) return std::nullopt;
  const std::size_t close = rest.find(") ", open);
  if (close == std::string_view::npos) return std::nullopt;
  const std::string_view time = rest.substr(close + 2);
  const std::size_t unit = time.find_first_not_of("0123456789.");
  if (unit == 0 || unit == std::string_view::npos) return std::nullopt;
  const std::string_view word = time.substr(unit, time.find(' ', unit) - unit);
  if (!is_among(word, {"ns", "us", "ms", "s"})) return std::nullopt;
  return "mkl " + std::string(name) + reproducibility_branch(time);
}

// "... for Intel(R) 64 architecture Intel(R) Advanced Vector Extensions 2 (Intel(R) AVX2) enabled processors, Lnx ...".
std::string processors_in(std::string_view note) {
  constexpr std::string_view kBefore = "for Intel(R) 64 architecture ";
  constexpr std::string_view kShort = " (Intel(R) ";
  const std::size_t before = note.find(kBefore);
  if (before == std::string_view::npos) return "";
  note.remove_prefix(before + kBefore.size());
  std::string text(note.substr(0, note.find(" processors")));
  if (text.size() == note.size()) return "";
  if (text.ends_with(" enabled")) text.resize(text.size() - std::string_view(" enabled").size());
  for (std::size_t open = 0; (open = text.find(kShort)) != std::string::npos;) {
    const std::size_t begin = text.rfind("Intel(R) ", open);
    const std::size_t close = text.find(')', open + kShort.size());
    if (begin == std::string::npos || close == std::string::npos) break;
    const std::string name = text.substr(open + kShort.size(), close - open - kShort.size());
    text.replace(begin, close + 1 - begin, name);
  }
  return text;
}

// oneDNN changed its name twice.
constexpr std::string_view kOneDnnMarkers[] = {"onednn_verbose,", "mkldnn_verbose,", "dnnl_verbose,"};

ReadLine read_line(std::string_view line) {
  if (line.starts_with(kMkl)) return read_mkl(line.substr(kMkl.size()));
  take_field(line);
  return read_onednn(line);
}

// Where the libraries' words begin that stand at the head of their lines.
std::vector<std::size_t> places_of_markers(std::string_view line) {
  std::vector<std::size_t> places;
  const auto add = [&](std::string_view marker) {
    for (std::size_t at = line.find(marker); at != std::string_view::npos; at = line.find(marker, at + 1)) {
      places.push_back(at);
    }
  };
  add(kMkl);
  for (const std::string_view marker : kOneDnnMarkers) add(marker);
  return places;
}

}  // namespace

LibraryText read_library_text(std::string_view text) {
  LibraryText read;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const bool is_whole = line.size() < text.size();
    const std::vector<std::size_t> places = places_of_markers(line);
    if (places.empty()) {
      read.others += text.substr(0, line.size() + (is_whole ? 1 : 0));
    } else {
      // Threads of a library that has no lock may write into each other's lines.
      const ReadLine call = is_whole && places == std::vector<std::size_t>{0} ? read_line(line) : std::nullopt;
      if (!call) ++read.unread_lines;
      if (call && call->empty() && read.mkl_processors.empty() && line.starts_with(kMkl)) {
        read.mkl_processors = processors_in(line);
      }
      if (call && !call->empty() && std::find(read.calls.begin(), read.calls.end(), *call) == read.calls.end()) {
        read.calls.push_back(*call);
      }
    }
    text.remove_prefix(line.size() + (is_whole ? 1 : 0));
  }
  return read;
}

std::string not_understood(const LibraryText& said) {
  return std::to_string(said.unread_lines) + " lines of the libraries are not understood";
}

}  // namespace reprobench
