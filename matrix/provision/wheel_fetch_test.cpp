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
  LocalIndex() : find_links_("PIP_FIND_LINKS", (folder_.path() / "index").string()), no_index_("PIP_NO_INDEX", "1") {
    write_wheel(folder_.path() / "index" / kFetchedWheel, "torch", "9.9.9", {{"torch/version.py", "version"}});
    wheel_ = {
        .distribution = "torch",
        .version = "9.9.9",
        .sha256 = sha256_of_file(folder_.path() / "index" / kFetchedWheel),
        .file = kFetchedWheel,
        .size_bytes = static_cast<std::int64_t>(std::filesystem::file_size(folder_.path() / "index" / kFetchedWheel))};
  }
  LockedWheel wheel() const { return wheel_; }
  std::filesystem::path downloads() const { return folder_.path() / "downloads"; }
  std::filesystem::path published() const { return folder_.path() / "index" / kFetchedWheel; }

  // The phases that fetching went through.
  std::vector<std::string> fetch(const LockedWheel& wheel) const {
    std::vector<std::string> phases;
    fetch_wheels({wheel}, "3.12", downloads(), folder_.path() / "staging", kShepherd,
                 [&](const std::string& phase, double) {
                   if (phases.empty() || phases.back() != phase) phases.push_back(phase);
                 });
    return phases;
  }

 private:
  TemporaryFolder folder_;
  ScopedVariable find_links_;
  ScopedVariable no_index_;
  LockedWheel wheel_;
};

}  // namespace

TEST_CASE("a wheel is fetched once and taken from the downloads folder afterwards", "[provision]") {
  const LocalIndex index;
  CHECK(index.fetch(index.wheel()).size() == 2);  // check, download
  CHECK(sha256_of_file(index.downloads() / kFetchedWheel) == index.wheel().sha256);
  std::filesystem::remove(index.published());
  CHECK(index.fetch(index.wheel()).size() == 1);  // check
}

TEST_CASE("a download that was damaged on disk is fetched again", "[provision]") {
  const LocalIndex index;
  index.fetch(index.wheel());
  std::string bytes = read_file(index.downloads() / kFetchedWheel);
  bytes[10] = static_cast<char>(bytes[10] ^ 1);
  write_file(index.downloads() / kFetchedWheel, bytes);
  index.fetch(index.wheel());
  CHECK(sha256_of_file(index.downloads() / kFetchedWheel) == index.wheel().sha256);
}

TEST_CASE("a download that was damaged on disk and cannot be fetched again is named as that", "[provision]") {
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

TEST_CASE("a wheel with another hash than the lock names file, got and expected, and does not stay", "[provision]") {
  const LocalIndex index;
  LockedWheel wheel = index.wheel();
  const std::string real = wheel.sha256;
  wheel.sha256 = std::string(64, 'c');
  CHECK(message_of<ProvisionError>([&] { index.fetch(wheel); }) == std::string(kFetchedWheel) + ": SHA-256 is " + real +
                                                                       ", the lock says " + wheel.sha256 +
                                                                       "; the file was removed");
  CHECK_FALSE(std::filesystem::exists(index.downloads() / kFetchedWheel));

  const TemporaryFolder folder;
  write_file(folder.path() / "w.whl", "other bytes");
  CHECK_THAT(message_of<ProvisionError>([&] { require_locked_hash(wheel, folder.path() / "w.whl"); }),
             ContainsSubstring("SHA-256 is " + sha256_of_text("other bytes")));
  CHECK_FALSE(std::filesystem::exists(folder.path() / "w.whl"));
}

TEST_CASE("a wheel the index lacks, and an index nobody answers for, are told apart", "[provision]") {
  const LocalIndex index;
  LockedWheel wheel = index.wheel();
  wheel.version = "9.9.8";
  wheel.file = "torch-9.9.8-cp312-cp312-manylinux_2_28_x86_64.whl";
  CHECK_THAT(message_of<ProvisionError>([&] { index.fetch(wheel); }),
             ContainsSubstring("has no torch 9.9.8 with these tags"));

  const ScopedVariable use_index("PIP_NO_INDEX", std::nullopt);
  const ScopedVariable no_links("PIP_FIND_LINKS", std::nullopt);
  const ScopedVariable dead_index("PIP_INDEX_URL", "http://127.0.0.1:9/simple");
  const ScopedVariable no_proxy("NO_PROXY", "127.0.0.1");
  const std::string message = message_of<ProvisionError>([&] { index.fetch(index.wheel()); });
  CHECK_THAT(message,
             ContainsSubstring("the package index cannot be reached") && ContainsSubstring("check the network"));
}

TEST_CASE("wheels that cannot fit on the disk are refused before pip starts", "[provision]") {
  const LocalIndex index;
  LockedWheel wheel = index.wheel();
  wheel.size_bytes = 900'000'000'000'000;
  CHECK_THAT(message_of<ProvisionError>([&] { index.fetch(wheel); }),
             ContainsSubstring("1800000000 MB are needed for 1 wheels"));
}

TEST_CASE("a Python chosen by the user comes first, and one without pip is passed over", "[provision]") {
  const std::string usual = find_python_with_pip();
  {
    const ScopedVariable chosen("REPROBENCH_PYTHON", "/bin/false");
    CHECK(find_python_with_pip() == usual);
  }
  const TemporaryFolder folder;
  write_file(folder.path() / "python", "#!/bin/sh\nexit 0\n");
  std::filesystem::permissions(folder.path() / "python", std::filesystem::perms::owner_all);
  const ScopedVariable chosen("REPROBENCH_PYTHON", (folder.path() / "python").string());
  CHECK(find_python_with_pip() == (folder.path() / "python").string());
}
