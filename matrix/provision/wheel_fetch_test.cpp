#include "matrix/provision/wheel_fetch.hpp"

#include "ci/catch.hpp"
#include "matrix/provision/provision_error.hpp"
#include "matrix/provision/provision_fixture.hpp"

using namespace reprobench;
using namespace reprobench::test;

namespace {

constexpr const char* kFetchedWheel = "torch-9.9.9-cp312-cp312-manylinux_2_28_x86_64.whl";

// One wheel in a folder that pip is told to use instead of any index.
class LocalIndex {
 public:
  LocalIndex() : find_links_("PIP_FIND_LINKS", (folder_.path / "index").string()), no_index_("PIP_NO_INDEX", "1") {
    write_wheel(folder_.path / "index" / kFetchedWheel, "torch", "9.9.9", {{"torch/version.py", "version"}});
    wheel_ = {
        .distribution = "torch",
        .version = "9.9.9",
        .sha256 = sha256_of_file(folder_.path / "index" / kFetchedWheel),
        .file = kFetchedWheel,
        .size_bytes = static_cast<std::int64_t>(std::filesystem::file_size(folder_.path / "index" / kFetchedWheel))};
  }
  LockedWheel wheel() const { return wheel_; }
  std::filesystem::path downloads() const { return folder_.path / "downloads"; }
  std::filesystem::path published() const { return folder_.path / "index" / kFetchedWheel; }

  // The phases that fetching went through.
  std::vector<std::string> fetch(const LockedWheel& wheel) const {
    std::vector<std::string> phases;
    fetch_wheels({wheel}, "3.12", downloads(), folder_.path / "staging", kShepherd,
                 [&](const std::string& phase, double) {
                   if (phases.empty() || phases.back() != phase) phases.push_back(phase);
                 });
    return phases;
  }

 private:
  TemporaryFolder folder_;
  TemporaryVariable find_links_;
  TemporaryVariable no_index_;
  LockedWheel wheel_;
};

}  // namespace

TEST_CASE("a wheel is fetched once and taken from the downloads folder afterwards", "[provision][process]") {
  const LocalIndex index;
  CHECK(index.fetch(index.wheel()).size() == 2);  // check, download
  CHECK(sha256_of_file(index.downloads() / kFetchedWheel) == index.wheel().sha256);
  std::filesystem::remove(index.published());
  CHECK(index.fetch(index.wheel()).size() == 1);  // check
}

TEST_CASE("a download that was damaged on disk is fetched again", "[provision][process]") {
  const LocalIndex index;
  index.fetch(index.wheel());
  std::string bytes = read_file(index.downloads() / kFetchedWheel);
  bytes[10] = static_cast<char>(bytes[10] ^ 1);
  write_file(index.downloads() / kFetchedWheel, bytes);
  index.fetch(index.wheel());
  CHECK(sha256_of_file(index.downloads() / kFetchedWheel) == index.wheel().sha256);
}

TEST_CASE("a download that was damaged on disk and cannot be fetched again is named as that", "[provision][process]") {
  const LocalIndex index;
  index.fetch(index.wheel());
  write_file(index.downloads() / kFetchedWheel, "other bytes");
  std::filesystem::remove(index.published());
  const std::string message = message_of<ProvisionError>([&] { index.fetch(index.wheel()); });
  CHECK_THAT(message,
             Catch::Matchers::StartsWith(fmt::format(
                 "{}: the file in {} has SHA-256 {}, the lock says {}; fetching it again failed: ", kFetchedWheel,
                 index.downloads().string(), sha256_of_text("other bytes"), index.wheel().sha256)));
}

TEST_CASE("a wheel with another hash than the lock names file, got and expected, and does not stay",
          "[provision][process]") {
  const LocalIndex index;
  LockedWheel wheel = index.wheel();
  const std::string real = wheel.sha256;
  wheel.sha256 = std::string(64, 'c');
  CHECK(message_of<ProvisionError>([&] { index.fetch(wheel); }) == std::string(kFetchedWheel) + ": SHA-256 is " + real +
                                                                       ", the lock says " + wheel.sha256 +
                                                                       "; the file was removed");
  CHECK_FALSE(std::filesystem::exists(index.downloads() / kFetchedWheel));

  const TemporaryFolder folder;
  write_file(folder.path / "w.whl", "other bytes");
  CHECK_THAT(message_of<ProvisionError>([&] { require_locked_hash(wheel, folder.path / "w.whl"); }),
             ContainsSubstring("SHA-256 is " + sha256_of_text("other bytes")));
  CHECK_FALSE(std::filesystem::exists(folder.path / "w.whl"));
}

TEST_CASE("a wheel the index lacks, and an index nobody answers for, are told apart", "[provision][process]") {
  const LocalIndex index;
  LockedWheel wheel = index.wheel();
  wheel.version = "9.9.8";
  wheel.file = "torch-9.9.8-cp312-cp312-manylinux_2_28_x86_64.whl";
  CHECK_THAT(message_of<ProvisionError>([&] { index.fetch(wheel); }),
             ContainsSubstring("has no torch 9.9.8 with these tags"));

  const TemporaryVariable use_index("PIP_NO_INDEX", std::nullopt);
  const TemporaryVariable no_links("PIP_FIND_LINKS", std::nullopt);
  const TemporaryVariable dead_index("PIP_INDEX_URL", "http://127.0.0.1:9/simple");
  const TemporaryVariable no_proxy("NO_PROXY", "127.0.0.1");
  const std::string message = message_of<ProvisionError>([&] { index.fetch(index.wheel()); });
  CHECK_THAT(message,
             ContainsSubstring("the package index cannot be reached") && ContainsSubstring("check the network"));
}

TEST_CASE("wheels that cannot fit on the disk are refused before pip starts", "[provision][process]") {
  const LocalIndex index;
  LockedWheel wheel = index.wheel();
  wheel.size_bytes = 900'000'000'000'000;
  CHECK_THAT(message_of<ProvisionError>([&] { index.fetch(wheel); }),
             ContainsSubstring("1800000000 MB are needed for 1 wheels"));
}

TEST_CASE("a Python chosen by the user comes first, and one without pip is passed over", "[provision][process]") {
  const std::string usual = find_python_with_pip();
  {
    const TemporaryVariable chosen("REPROBENCH_PYTHON", "/bin/false");
    CHECK(find_python_with_pip() == usual);
  }
  const TemporaryFolder folder;
  write_file(folder.path / "python", "#!/bin/sh\nexit 0\n");
  std::filesystem::permissions(folder.path / "python", std::filesystem::perms::owner_all);
  const TemporaryVariable chosen("REPROBENCH_PYTHON", (folder.path / "python").string());
  CHECK(find_python_with_pip() == (folder.path / "python").string());
}

namespace {

// A Python whose pip writes down how it was called, prints this and ends so.
class ScriptedPip {
 public:
  ScriptedPip(const std::string& out, const std::string& err, int exit_code, const std::string& command = "true") {
    write_file(folder_.path / "out", out);
    write_file(folder_.path / "err", err);
    const std::string at = folder_.path.string();
    write_file(
        folder_.path / "python",
        fmt::format(
            "#!/bin/sh\n[ \"$3\" = -c ] && exit 0\nfor word in \"$@\"; do echo \"$word\"; done >{0}/called\n"
            "echo \"$PWD $TMPDIR $PIP_NO_INDEX $CANARY\" >{0}/variables\n{1}\ncat {0}/out\ncat {0}/err >&2\nexit {2}\n",
            at, command, exit_code));
    std::filesystem::permissions(folder_.path / "python", std::filesystem::perms::owner_all);
    python_.emplace("REPROBENCH_PYTHON", at + "/python");
  }
  std::filesystem::path downloads() const { return folder_.path / "downloads"; }
  std::filesystem::path staging() const { return folder_.path / "staging"; }
  std::string text_of(const char* file) const { return read_file(folder_.path / file); }

  // Why it failed, and the phases until then.
  std::string fetch(const std::vector<LockedWheel>& wheels, const std::filesystem::path& shepherd = kShepherd) {
    return message_of<ProvisionError>([&] {
      fetch_wheels(wheels, "3.12", downloads(), staging(), shepherd, [&](const std::string& phase, double fraction) {
        if (phases.empty() || phases.back() != phase) phases.push_back(phase);
        least = std::min(least, fraction);
      });
    });
  }

  std::vector<std::string> phases;
  double least = 2;

 private:
  TemporaryFolder folder_;
  std::optional<TemporaryVariable> python_;
};

LockedWheel scripted_wheel(const std::string& file = "a_b-1.2-cp312-cp312-manylinux1_x86_64.manylinux2_x86_64.whl") {
  return {.distribution = "a-b",
          .version = "1.2",
          .sha256 = sha256_of_text("bytes"),
          .file = file,
          .size_bytes = 7'600'000};
}

}  // namespace

TEST_CASE("every way in which pip fails has its sentence", "[provision]") {
  const std::string file = scripted_wheel().file;
  const std::string unreachable =
      "; check the network and pip's configuration (`pip config list`), or copy the wheel into the downloads folder";
  const auto [out, err, sentence] = GENERATE_COPY(table<std::string, std::string, std::string>({
      {"Expected sha256 x\n Got   y5\n", "THESE PACKAGES DO NOT MATCH THE HASHES",
       "SHA-256 is y5, the lock says " + scripted_wheel().sha256 + "; the file was removed"},
      {"DO NOT MATCH THE HASHES", "",
       "SHA-256 is unknown, the lock says " + scripted_wheel().sha256 + "; the file was removed"},
      {"", "OSError: No space left on device",
       "no space left while downloading 8 MB; free some or choose another folder"},
      {"", "NewConnectionError x", "the package index cannot be reached (NewConnectionError)" + unreachable},
      {"Max retries exceeded", "", "the package index cannot be reached (Max retries exceeded)" + unreachable},
      {"", "Temporary failure in name resolution",
       "the package index cannot be reached (Temporary failure in name resolution)" + unreachable},
      {"", "Connection refused", "the package index cannot be reached (Connection refused)" + unreachable},
      {"", "ConnectTimeout", "the package index cannot be reached (ConnectTimeout)" + unreachable},
      {"", "ReadTimeout", "the package index cannot be reached (ReadTimeout)" + unreachable},
      {"", "Read timed out", "the package index cannot be reached (Read timed out)" + unreachable},
      {"", "ProxyError No matching distribution", "the package index cannot be reached (ProxyError)" + unreachable},
      {"", "SSLError", "the package index cannot be reached (SSLError)" + unreachable},
      {"", "ERROR: No matching distribution found",
       "the package index pip is configured for has no a-b 1.2 with these tags; add an index that has it, or copy the "
       "wheel into the downloads folder"},
      {"said\n", "first\nlast words\n\n", "pip failed with exit code 3: last words"},
      {"said\nlast said\n", "", "pip failed with exit code 3: last said"},
      {"", "\n", "pip failed with exit code 3: it printed nothing"},
  }));
  ScriptedPip pip(out, err, 3);
  CHECK(pip.fetch({scripted_wheel()}) == file + ": " + sentence);
}

TEST_CASE("what starts pip and is not there is named, not pip", "[provision]") {
  ScriptedPip pip("", "", 0);
  const std::string problem = pip.fetch({scripted_wheel()}, "/no/such/shepherd");
  CHECK_THAT(problem, Catch::Matchers::StartsWith(scripted_wheel().file + ": pip could not be started: "));
  CHECK_THAT(problem, Catch::Contains("/no/such/shepherd"));
}

TEST_CASE("pip is told which file to bring by the tags of its name, and where to leave its own", "[provision]") {
  ScriptedPip pip("", "", 0);
  const TemporaryVariable index("PIP_NO_INDEX", "1");
  const TemporaryVariable canary("CANARY", "passed on");
  const LockedWheel wheel = scripted_wheel();
  CHECK(pip.fetch({wheel}) == wheel.file + ": pip brought another file of a-b 1.2 than the lock names");
  const std::string staging = pip.staging().string();
  CHECK(pip.text_of("called") ==
        "-I\n-B\n-u\n-m\npip\ndownload\n--require-hashes\n--no-deps\n--only-binary=:all:\n--no-cache-dir\n--no-input\n"
        "--progress-bar\noff\n--disable-pip-version-check\n--retries\n3\n--implementation\ncp\n--python-version\n3.12\n"
        "--abi\ncp312\n--platform\nmanylinux1_x86_64\n--platform\nmanylinux2_x86_64\n--dest\n" +
            staging + "/wheels\n--requirement\n" + staging + "/requirements.txt\n");
  CHECK(pip.text_of("variables") == staging + " " + staging + "/pip 1 \n");
  CHECK(read_file(pip.staging() / "requirements.txt") == requirement_line(wheel) + "\n");
  CHECK(pip.phases == std::vector<std::string>{"check " + wheel.file, "download a-b 1.2 (1 of 1, 8 MB)"});
  CHECK(pip.least == -1);
}

TEST_CASE("wheels come one after the other, and those that are there are left", "[provision]") {
  ScriptedPip pip(
      "", "", 0,
      "while [ \"$1\" != --dest ]; do shift; done; printf bytes >\"$2/$(cut -d= -f1 \"$4\")-1-py3-none-any.whl\"");
  std::vector<LockedWheel> wheels;
  for (const char* name : {"a", "b", "c"}) {
    wheels.push_back(scripted_wheel(std::string(name) + "-1-py3-none-any.whl"));
    wheels.back().distribution = name;
  }
  write_file(pip.downloads() / wheels[1].file, "bytes");
  CHECK(pip.fetch(wheels) == "nothing was thrown");
  CHECK(pip.phases == std::vector<std::string>{"check " + wheels[0].file, "check " + wheels[1].file,
                                               "check " + wheels[2].file, "download a 1.2 (1 of 2, 8 MB)",
                                               "download c 1.2 (2 of 2, 8 MB)"});
  for (const LockedWheel& wheel : wheels) CHECK(read_file(pip.downloads() / wheel.file) == "bytes");
}

TEST_CASE("the name of a wheel has five parts or six", "[provision]") {
  ScriptedPip pip("", "", 0);
  CHECK(pip.fetch({scripted_wheel("a-1-py3-any.whl")}) == "a-1-py3-any.whl: is no wheel name with its five parts");
  pip.fetch({scripted_wheel("a-1-build7-cp39-abi3-linux.whl")});
  CHECK_THAT(pip.text_of("called"), ContainsSubstring("\n--abi\nabi3\n--platform\nlinux\n--dest\n"));
}

TEST_CASE("the space for wheels is that of all, and of the largest once more", "[provision]") {
  ScriptedPip pip("", "", 0);
  std::vector<LockedWheel> wheels = {scripted_wheel("a-1-py3-none-any.whl"), scripted_wheel("b-1-py3-none-any.whl")};
  wheels[0].size_bytes = 900'000'000'000'000;
  wheels[1].size_bytes = 300'000'000'000'000;
  CHECK_THAT(pip.fetch(wheels),
             Catch::Matchers::StartsWith(pip.downloads().string() + ": 2100000000 MB are needed for 2 wheels and "));
}
