#include "matrix/spec/yaml_reader.hpp"

#include <istream>
#include <map>
#include <optional>
#include <streambuf>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "matrix/spec/checkout.hpp"
#include "matrix/spec/files/input_text.hpp"

namespace reprobench {
namespace {

// Unwinds yaml-cpp once a cap is passed; the diagnostic is already on record.
struct ReadingStopped {};

// One open sequence or map.
struct OpenNode {
  YamlNode node;
  std::optional<YamlEntry> entry;    // of a map: its key is read, its value not yet
  bool entry_refused = false;        // of a map: that key was reported, so its value is read and dropped
  std::map<std::string, Mark> keys;  // of a map: where each was first
};

class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::string file, Diagnostics& diagnostics) : file_(std::move(file)), diagnostics_(diagnostics) {}

  YamlNode take_root() { return std::move(root_); }

  // The place where the last quoted scalar starts; nothing if there was none.
  const std::optional<YAML::Mark>& last_quoted() const { return last_quoted_; }

  void OnDocumentStart(const YAML::Mark& at) override {
    if (++documents_ < 2) return;
    diagnostics_.error(mark(at), "RB006", "a second document starts here", "one file holds one document");
    throw ReadingStopped{};
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& at, YAML::anchor_t anchor) override {
    refuse_anchor(at, anchor);
    attach(leaf(at));
  }

  void OnAlias(const YAML::Mark& at, YAML::anchor_t) override {
    refuse_anchor(at, 1);
    YamlNode node = leaf(at);
    node.refused = true;
    attach(std::move(node));
  }

  // yaml-cpp gives the tag "!" to a quoted scalar and "?" to a plain one.
  void OnScalar(const YAML::Mark& at, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_anchor(at, anchor);
    refuse_tag(at, tag);
    YamlNode node = leaf(at);
    node.kind = YamlNode::Kind::scalar;
    node.quoted = tag == "!";
    if (node.quoted) last_quoted_ = at;
    node.text = value;
    check_scalar(node);
    attach(std::move(node));
  }

  void OnSequenceStart(const YAML::Mark& at, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::sequence, at, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& at, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::map, at, tag, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  Mark mark(const YAML::Mark& at) const { return {file_, at.line + 1, at.column + 1}; }

  YamlNode leaf(const YAML::Mark& at) {
    YamlNode node;
    node.mark = mark(at);
    if (++nodes_ > kMaxNodes) stop(node.mark, "RB016", fmt::format("more than {} values", kMaxNodes));
    return node;
  }

  [[noreturn]] void stop(const Mark& at, const char* code, std::string what) {
    diagnostics_.error(at, code, std::move(what));
    throw ReadingStopped{};
  }

  void refuse_anchor(const YAML::Mark& at, YAML::anchor_t anchor) {
    if (anchor == 0) return;
    diagnostics_.error(mark(at), "RB010", "anchors and aliases are not accepted", "use `defaults:`");
  }

  void refuse_tag(const YAML::Mark& at, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    diagnostics_.error(mark(at), "RB014", fmt::format("tag `{}` is not accepted", tag),
                       "values are typed by where they stand");
  }

  void check_scalar(YamlNode& node) {
    if (node.text.size() > kMaxScalarBytes) {
      diagnostics_.error(node.mark, "RB016",
                         fmt::format("value of {} bytes; limit {}", node.text.size(), kMaxScalarBytes));
      node.refused = true;
    }
    const std::size_t variable = node.text.find("${");
    if (variable == std::string::npos) return;
    node.refused = true;
    const std::size_t end = node.text.find('}', variable);
    constexpr std::size_t kLongestShown = 64;
    const std::size_t length = end == std::string::npos ? 2 : std::min(end + 1 - variable, kLongestShown);
    diagnostics_.error(node.mark, "RB030",
                       fmt::format("variables are not expanded: `{}`", node.text.substr(variable, length)),
                       "write the value itself");
  }

  void open(YamlNode::Kind kind, const YAML::Mark& at, const std::string& tag, YAML::anchor_t anchor) {
    refuse_anchor(at, anchor);
    refuse_tag(at, tag);
    if (static_cast<int>(open_.size()) >= kMaxDepth) {
      stop(mark(at), "RB015", fmt::format("nesting deeper than {}", kMaxDepth));
    }
    OpenNode opened;
    opened.node = leaf(at);
    opened.node.kind = kind;
    open_.push_back(std::move(opened));
  }

  void close() {
    YamlNode node = std::move(open_.back().node);
    open_.pop_back();
    attach(std::move(node));
  }

  void attach(YamlNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    OpenNode& parent = open_.back();
    if (parent.node.is_sequence()) {
      parent.node.items.push_back(std::move(node));
    } else if (!parent.entry) {
      begin_entry(parent, node);
    } else {
      finish_entry(parent, std::move(node));
    }
  }

  void begin_entry(OpenNode& parent, const YamlNode& key) {
    const bool merge = key.text == "<<" && !key.quoted;
    if (merge) {
      diagnostics_.error(key.mark, "RB010", "merge keys are not accepted", "use `defaults:`");
    } else if (!key.is_scalar() && !key.refused) {
      diagnostics_.error(key.mark, "RB019", fmt::format("a key must be text, got {}", shown(key)));
    }
    parent.entry = YamlEntry{key.text, key.mark, {}};
    parent.entry_refused = merge || !key.is_scalar() || key.refused;
  }

  void finish_entry(OpenNode& parent, YamlNode value) {
    YamlEntry entry = std::move(*parent.entry);
    parent.entry.reset();
    // yaml-cpp marks an absent value at whatever follows it, often lines below.
    if (value.kind == YamlNode::Kind::null && value.mark.line != entry.key_mark.line) value.mark = entry.key_mark;
    entry.value = std::move(value);
    if (parent.entry_refused) return;
    const auto [first, is_new] = parent.keys.emplace(entry.key, entry.key_mark);
    if (is_new) {
      parent.node.entries.push_back(std::move(entry));
      return;
    }
    diagnostics_.error(
        entry.key_mark, "RB008",
        fmt::format("key `{}` appears twice; first at {}:{}", entry.key, first->second.line, first->second.column));
  }

  std::string file_;
  Diagnostics& diagnostics_;
  YamlNode root_;
  std::vector<OpenNode> open_;
  std::optional<YAML::Mark> last_quoted_;
  std::size_t nodes_ = 0;
  int documents_ = 0;
};

// std::istream over bytes that outlive it, without a copy.
class ViewBuffer : public std::streambuf {
 public:
  explicit ViewBuffer(std::string_view text) {
    char* start = const_cast<char*>(text.data());  // only read from: the buffer has no put area
    setg(start, start, start + text.size());
  }
};

std::string plain_words(const std::string& yaml_cpp_message) {
  if (yaml_cpp_message == YAML::ErrorMsg::EOF_IN_SCALAR) return "a quote is not closed";
  if (yaml_cpp_message == YAML::ErrorMsg::END_OF_MAP_FLOW) return "`{` is not closed";
  if (yaml_cpp_message == YAML::ErrorMsg::END_OF_SEQ_FLOW) return "`[` is not closed";
  return yaml_cpp_message;
}

void report_syntax(const YAML::Exception& error, const std::string& file, Diagnostics& diagnostics) {
  const Mark at = error.mark.is_null() ? Mark{file, 1, 1} : Mark{file, error.mark.line + 1, error.mark.column + 1};
  if (error.msg == YAML::ErrorMsg::UNKNOWN_ANCHOR) {
    diagnostics.error(at, "RB010", "anchors and aliases are not accepted", "use `defaults:`");
  } else {
    diagnostics.error(at, "RB005", "not valid YAML: " + plain_words(error.msg));
  }
}

// True if the quoted scalar that starts at `start` ends before the text does.
bool is_closed(std::string_view text, std::size_t start) {
  const char quote = text[start];
  if (quote != '"' && quote != '\'') return true;
  for (std::size_t at = start + 1; at < text.size(); ++at) {
    if (quote == '"' && text[at] == '\\') {
      ++at;
    } else if (text[at] == quote) {
      const bool doubled = quote == '\'' && at + 1 < text.size() && text[at + 1] == quote;
      if (!doubled) return true;
      ++at;
    }
  }
  return false;
}

// yaml-cpp takes the end of the file for the end of a quote if a newline stands before it.
bool all_quotes_closed(std::string_view text, const std::string& file, const TreeBuilder& builder,
                       Diagnostics& diagnostics) {
  const auto& last = builder.last_quoted();
  if (!last || is_closed(text, static_cast<std::size_t>(last->pos))) return true;
  diagnostics.error({file, last->line + 1, last->column + 1}, "RB005", "not valid YAML: a quote is not closed");
  return false;
}

// False if the text could not be read to its end: what the builder holds then means nothing.
bool parse(std::string_view text, const std::string& file, TreeBuilder& builder, Diagnostics& diagnostics) {
  ViewBuffer buffer(text);
  std::istream in(&buffer);
  try {
    YAML::Parser parser(in);
    while (parser.HandleNextDocument(builder)) {
    }
    return all_quotes_closed(text, file, builder, diagnostics);
  } catch (const ReadingStopped&) {
    return false;
  } catch (const YAML::Exception& error) {
    report_syntax(error, file, diagnostics);
    return false;
  }
}

}  // namespace

YamlNode read_yaml(const std::string& text, const std::string& file, const FileKind& kind, Diagnostics& diagnostics) {
  const Mark start{file, 1, 1};
  YamlNode empty;
  empty.kind = YamlNode::Kind::map;
  empty.mark = start;
  if (text.size() > kMaxFileBytes) {
    diagnostics.error(start, "RB016", fmt::format("file is larger than {} bytes", kMaxFileBytes));
    return empty;
  }
  const std::size_t before = diagnostics.size();
  const std::string_view content = without_byte_order_mark(text);
  check_input_text(content, file, diagnostics);
  if (diagnostics.size() > before) return empty;

  TreeBuilder builder(file, diagnostics);
  if (!parse(content, file, builder, diagnostics)) return empty;
  YamlNode root = builder.take_root();
  if (root.is_map()) return root;
  if (diagnostics.size() > before) return empty;
  if (root.kind == YamlNode::Kind::null) {
    diagnostics.error(start, "RB001",
                      fmt::format("file has no content; {} needs `{}:`", kind.article_and_name, kind.needed_key));
  } else {
    diagnostics.error(root.mark, "RB007", fmt::format("the file must be a map of keys, got {}", shown(root)));
  }
  return empty;
}

std::string read_yaml_file(const std::string& path) {
  if (const std::string why = leads_out(path); !why.empty()) {
    throw_spec_error({path, 0, 0}, "RB027", "cannot be read: " + why, "name the file itself");
  }
  return read_input_file(path, kMaxFileBytes);
}

}  // namespace reprobench
