#include "matrix/image/image_security.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <regex>
#include <set>
#include <sstream>

#include <crypt.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "matrix/base/regular_file.hpp"

namespace reprobench {
namespace {

constexpr std::int64_t kLargestTextBytes = 256 << 10;

// Passwords that published recipes set.
constexpr std::array<const char*, 10> kKnownPasswords = {"root",     "password", "pytorch", "ubuntu", "jupyter",
                                                         "changeme", "123456",   "admin",   "toor",   "docker"};

// Programs that distributions themselves ship with the bit of the owner or the group set.
constexpr std::array<std::string_view, 20> kOfDistributions = {"su",
                                                               "mount",
                                                               "umount",
                                                               "passwd",
                                                               "chsh",
                                                               "chfn",
                                                               "newgrp",
                                                               "gpasswd",
                                                               "sudo",
                                                               "chage",
                                                               "expiry",
                                                               "wall",
                                                               "unix_chkpwd",
                                                               "ssh-agent",
                                                               "pkexec",
                                                               "ssh-keysign",
                                                               "dbus-daemon-launch-helper",
                                                               "fusermount3",
                                                               "newuidmap",
                                                               "newgidmap"};

// Files that hold a secret by their name.
constexpr std::array<std::string_view, 11> kSecretNames = {
    "id_rsa",      "id_ed25519", "id_ecdsa", "id_dsa", ".netrc", ".git-credentials",
    "credentials", ".pypirc",    ".npmrc",   ".env",   "token"};

// Beginnings of tokens whose form is published by who issues them.
struct TokenForm {
  std::string_view beginning;
  std::size_t letters;  // that follow
  const char* what;
};
constexpr std::array<TokenForm, 6> kTokens = {{
    {"hf_", 30, "a token of Hugging Face"},
    {"ghp_", 30, "a token of GitHub"},
    {"github_pat_", 30, "a token of GitHub"},
    {"glpat-", 18, "a token of GitLab"},
    {"AKIA", 16, "an access key of AWS"},
    {"xoxb-", 20, "a token of Slack"},
}};

constexpr std::array<std::string_view, 6> kSecretVariables = {"TOKEN",  "SECRET",  "PASSWORD",
                                                              "PASSWD", "API_KEY", "CREDENTIAL"};

constexpr std::string_view kPrivateKey = " PRIVATE KEY-----";

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

// Which token `text` holds; empty for none.
std::string token_in(std::string_view text) {
  for (const TokenForm& form : kTokens) {
    for (std::size_t at = text.find(form.beginning); at != std::string_view::npos;
         at = text.find(form.beginning, at + 1)) {
      const std::string_view rest = text.substr(at + form.beginning.size());
      const auto is_letter = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; };
      const auto end = std::find_if_not(rest.begin(), rest.end(), is_letter);
      const bool begins_word = at == 0 || !is_letter(static_cast<unsigned char>(text[at - 1]));
      if (begins_word && static_cast<std::size_t>(end - rest.begin()) >= form.letters) return form.what;
    }
  }
  return "";
}

bool is_home_file(std::string_view path) {
  return path.starts_with("root/") || path.starts_with("home/") || path.starts_with("workspace/") ||
         path.starts_with("app/");
}

bool is_secret_name(std::string_view path) {
  const std::string_view name = name_of_path(path);
  if (std::find(kSecretNames.begin(), kSecretNames.end(), name) != kSecretNames.end()) return true;
  if (name == "config.json") return path.ends_with(".docker/config.json");
  return (name.ends_with(".pem") || name.ends_with(".key")) && !path.starts_with("usr/") &&
         !path.starts_with("etc/ssl/");
}

bool is_jupyter_configuration(std::string_view path) {
  const std::string_view name = name_of_path(path);
  return name.starts_with("jupyter_") && (name.ends_with("_config.py") || name.ends_with("_config.json"));
}

class WaysIn {
 public:
  explicit WaysIn(const Image& image) : image_(image) {}

  std::vector<ImageFinding> find() {
    check_accounts();
    check_passwords();
    check_sshd();
    check_jupyter();
    check_modes();
    check_configuration();
    for (const auto& [path, entry] : image_.tree.entries()) check_secret(path, entry, "");
    for (const BuriedFile& buried : image_.buried) {
      check_secret(buried.path, buried.entry, "; a later layer removes it, and whoever has the image still has it");
    }
    return std::move(findings_);
  }

 private:
  void add(FindingSeverity severity, const char* code, const std::string& path, std::string what) {
    findings_.push_back({severity, code, path.empty() ? "" : "/" + path, std::move(what)});
  }

  // Text of a file; nothing if there is none. One that cannot be read is said, since nobody has looked into it then.
  std::optional<std::string> text_of(const std::string& path) {
    ImageText text = text_in(image_.tree, path, kLargestTextBytes);
    if (text.problem.empty()) return std::move(text.text);
    if (text.problem != "missing") add(FindingSeverity::unread, "security", path, "it " + text.problem);
    return std::nullopt;
  }

  void check_accounts() {
    const auto accounts = text_of("etc/passwd");
    for (const std::string& line : split(accounts.value_or(""), '\n')) {
      const std::vector<std::string> fields = split(line, ':');
      if (fields.size() < 4) continue;
      if (fields[1].empty()) {
        add(FindingSeverity::fail, "no-password", "etc/passwd",
            fmt::format("`{}` logs in without a password", fields[0]));
      }
      if (fields[2] == "0" && fields[0] != "root") {
        add(FindingSeverity::fail, "second-root", "etc/passwd", fmt::format("`{}` is root by another name", fields[0]));
      }
    }
  }

  void check_passwords() {
    const auto shadow = text_of("etc/shadow");
    for (const std::string& line : split(shadow.value_or(""), '\n')) {
      const std::vector<std::string> fields = split(line, ':');
      if (fields.size() < 2) continue;
      const std::string& hash = fields[1];
      if (hash.empty()) {
        add(FindingSeverity::fail, "no-password", "etc/shadow",
            fmt::format("`{}` logs in without a password", fields[0]));
      } else if (hash[0] == '$') {
        check_hash(fields[0], hash);
      } else if (hash[0] != '!' && hash[0] != '*') {
        add(FindingSeverity::fail, "weak-hash", "etc/shadow",
            fmt::format("`{}` has a password in a form that is broken in minutes", fields[0]));
      }
    }
  }

  // A password in an image is the same in every container, so it is said even where nobody knows it.
  void check_hash(const std::string& account, const std::string& hash) {
    std::vector<std::string> guesses(kKnownPasswords.begin(), kKnownPasswords.end());
    guesses.push_back(account);
    for (const std::string& guess : guesses) {
      crypt_data data{};
      const char* tried = crypt_r(guess.c_str(), hash.c_str(), &data);
      if (tried == nullptr || hash != tried) continue;
      add(FindingSeverity::fail, "known-password", "etc/shadow",
          fmt::format("the password of `{}` is one that everybody tries first", account));
      return;
    }
    add(FindingSeverity::warn, "password", "etc/shadow",
        fmt::format("`{}` has a password, the same in every container", account));
  }

  void check_sshd() {
    std::vector<std::string> files = {"etc/ssh/sshd_config"};
    for (const std::string& name : image_.tree.names_in("etc/ssh/sshd_config.d")) {
      if (name.ends_with(".conf")) files.insert(files.end() - 1, "etc/ssh/sshd_config.d/" + name);  // read first
    }
    std::set<std::string> said;  // sshd takes the first value of a keyword
    for (const std::string& file : files) {
      for (const std::string& line : split(text_of(file).value_or(""), '\n')) {
        std::istringstream words(line);
        std::string key, value;
        if (!(words >> key >> value) || key[0] == '#') continue;
        for (std::string* word : {&key, &value}) {
          std::transform(word->begin(), word->end(), word->begin(), [](unsigned char c) { return std::tolower(c); });
        }
        if (key == "match") break;
        if (!said.insert(key).second || value != "yes") continue;
        if (key == "permitrootlogin") {
          add(FindingSeverity::fail, "ssh-root", file, "sshd lets root log in, with a password too");
        } else if (key == "permitemptypasswords") {
          add(FindingSeverity::fail, "ssh-empty-password", file, "sshd takes an empty password");
        } else if (key == "passwordauthentication") {
          add(FindingSeverity::warn, "ssh-password", file, "sshd takes passwords");
        }
      }
    }
    if (image_.tree.find("usr/sbin/sshd") != nullptr && said.count("passwordauthentication") == 0) {
      add(FindingSeverity::warn, "ssh-password", "usr/sbin/sshd",
          "sshd takes passwords, since nothing tells it not to");
    }
    for (const std::string& name : image_.tree.names_in("etc/ssh")) {
      if (name.starts_with("ssh_host_") && name.ends_with("_key")) {
        add(FindingSeverity::fail, "ssh-host-key", "etc/ssh/" + name,
            "every container of this image has the same host key, and whoever has the image can pose as each");
      }
    }
  }

  void check_jupyter() {
    for (const auto& [path, entry] : image_.tree.entries()) {
      if (is_jupyter_configuration(path) && entry.kind == EntryKind::file)
        check_jupyter_text(path, text_of(path).value_or(""));
    }
    check_jupyter_text("", fmt::format("{}", fmt::join(image_.config.command, "\n")));
  }

  // "c.ServerApp.token = ''", "--NotebookApp.token=", "{\"token\": \"\"}". A password that is set still asks.
  void check_jupyter_text(const std::string& path, const std::string& text) {
    static const std::regex kNoToken(R"re(\btoken["']?(\s*[=:]\s*u?(''|"")|=(\s|$)))re");
    static const std::regex kPassword(R"re(password["']?\s*[=:]\s*(u?["'][^"']|[^"'\s,}u]))re");
    static const std::regex kRoot(R"re(allow_root\s*=\s*True|"allow_root"\s*:\s*true|--allow-root\b)re");
    bool has_token = true;
    bool has_password = false;
    bool may_be_root = false;
    for (const std::string& line : split(text, '\n')) {
      const std::string said = line.substr(0, line.find('#'));
      has_token = has_token && !std::regex_search(said, kNoToken);
      has_password = has_password || std::regex_search(said, kPassword);
      may_be_root = may_be_root || std::regex_search(said, kRoot);
    }
    if (!has_token && !has_password) {
      add(FindingSeverity::fail, "jupyter-open", path,
          "Jupyter is told to ask for no token: whoever reaches its port runs programs");
    }
    if (may_be_root) add(FindingSeverity::warn, "jupyter-root", path, "Jupyter is told to run as root");
  }

  void check_modes() {
    std::vector<std::string> writable;
    std::string folder_said = "/";  // one line a folder, not one a file in it
    for (const auto& [path, entry] : image_.tree.entries()) {
      const bool is_sticky = entry.kind == EntryKind::folder && (entry.mode & 01000U) != 0;
      const bool counts = entry.kind == EntryKind::folder || entry.kind == EntryKind::file;
      if (counts && (entry.mode & 0002U) != 0 && !is_sticky && !path.starts_with(folder_said)) {
        writable.push_back("/" + path);
        folder_said = path + "/";
      }
      if (entry.kind != EntryKind::file || (entry.mode & 06000U) == 0) continue;
      const std::string_view name = name_of_path(path);
      if (std::find(kOfDistributions.begin(), kOfDistributions.end(), name) == kOfDistributions.end()) {
        add(FindingSeverity::warn, "setuid", path,
            "it runs with the rights of its owner or group, and no distribution ships it so");
      }
    }
    constexpr std::size_t kMostSaid = 5;
    if (writable.empty()) return;
    const std::size_t more = writable.size() - std::min(writable.size(), kMostSaid);
    writable.resize(writable.size() - more);
    add(FindingSeverity::warn, "world-writable", writable.front().substr(1),
        fmt::format("every account may change {}{}", fmt::join(writable, ", "),
                    more == 0 ? "" : fmt::format(" and {} more", more)));
  }

  void check_configuration() {
    const std::string user = image_.config.user.substr(0, image_.config.user.find(':'));
    if (image_.form != ImageForm::root && (user.empty() || user == "root" || user == "0")) {
      add(FindingSeverity::warn, "runs-as-root", "", "its programs run as root; a `USER` of its own would be safer");
    }
    for (const auto& variable : image_.config.environment) {
      const std::string& name = variable.first;
      const std::string& value = variable.second;
      const bool is_secret = std::any_of(kSecretVariables.begin(), kSecretVariables.end(),
                                         [&](std::string_view part) { return name.find(part) != std::string::npos; });
      if (const std::string token = token_in(value); !token.empty()) {
        add(FindingSeverity::fail, "secret", "", fmt::format("variable {} holds {}", name, token));
      } else if (is_secret && !value.empty()) {
        add(FindingSeverity::warn, "secret", "",
            fmt::format("variable {} has a value, and its name says it is secret", name));
      }
    }
    for (const std::string& command : image_.config.history) {
      if (const std::string token = token_in(command); !token.empty()) {
        add(FindingSeverity::fail, "secret", "", fmt::format("the history of its layers holds {}", token));
      }
    }
  }

  void check_secret(const std::string& path, const ImageEntry& entry, const std::string& where) {
    if (entry.kind != EntryKind::file || (!is_secret_name(path) && !is_home_file(path))) return;
    if (entry.content.empty() || entry.size_bytes > kLargestTextBytes) {
      // A large file in a home is data; a large one of such a name is not looked into, and that is said.
      if (is_secret_name(path))
        add(FindingSeverity::unread, "secret", path, "it is too large to be looked into" + where);
      return;
    }
    if (name_of_path(path) == "authorized_keys") {
      add(FindingSeverity::fail, "ssh-key", path,
          "whoever has the key that it names gets into every container" + where);
      return;
    }
    const FileText text = read_regular_file(entry.content, kLargestTextBytes, Links::refused);
    if (!text.problem.empty()) {
      add(FindingSeverity::unread, "secret", path, "it " + text.problem);
    } else if (text.text.find(kPrivateKey) != std::string::npos) {
      add(FindingSeverity::fail, "secret", path, "it holds a private key" + where);
    } else if (const std::string token = token_in(text.text); !token.empty()) {
      add(FindingSeverity::fail, "secret", path, fmt::format("it holds {}{}", token, where));
    } else if (is_secret_name(path) && !text.text.empty()) {
      add(FindingSeverity::warn, "secret", path, "files of this name hold secrets" + where);
    }
  }

  const Image& image_;
  std::vector<ImageFinding> findings_;
};

}  // namespace

std::vector<ImageFinding> find_ways_in(const Image& image) { return WaysIn(image).find(); }

bool is_security_evidence(std::string_view path, std::int64_t size_bytes) {
  if (size_bytes > kLargestTextBytes) return false;
  return path == "etc/passwd" || path == "etc/shadow" || path.starts_with("etc/ssh/") || is_home_file(path) ||
         is_secret_name(path) || is_jupyter_configuration(path);
}

}  // namespace reprobench
