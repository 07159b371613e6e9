#include "matrix/image/image_security.hpp"

#include <crypt.h>

#include "ci/catch.hpp"
#include "matrix/image/image_fixture.hpp"

namespace reprobench {
namespace {

using namespace test;
using Codes = std::vector<std::string>;

// Codes of what is found in an image of these layers, beside what the image itself is made of.
Codes found_in_image(const std::vector<std::vector<TarEntry>>& layers,
                     const nlohmann::json& container = {{"User", "1000"}},
                     const nlohmann::json& history = nlohmann::json::array()) {
  ImageFolder folder;
  ImagePlan plan;
  plan.layers = layers;
  plan.container = container;
  plan.history = history;
  const Image image = folder.read_archive(docker_archive(plan));
  Codes codes;
  for (const ImageFinding& finding : find_ways_in(image)) {
    codes.push_back(std::string(to_string(finding.severity)) + " " + finding.code + " " + finding.path);
  }
  return codes;
}

Codes found_in(const std::vector<TarEntry>& files) { return found_in_image({files}); }

std::string hash_of(const char* password) {
  crypt_data data{};
  return crypt_r(password, "$6$saltsalt$", &data);
}

TEST_CASE("an image that lets nobody in has nothing to say", "[image]") {
  CHECK(found_in({{"etc/passwd", "root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/:/usr/sbin/nologin\n"},
                  {"etc/shadow", "root:*:1:0:9:7:::\nuser:!:1:0:9:7:::\n"},
                  {"etc/ssh/sshd_config", "# PermitRootLogin yes\nPermitRootLogin no\nPasswordAuthentication no\n"},
                  {"usr/bin/su", "x", TarKind::file, 04755},
                  {"tmp", "", TarKind::folder, 01777},
                  {"usr/share/doc/key.pem", "-----BEGIN PRIVATE KEY-----"},
                  {"home/user/notes", "hf_short ghp_"}}) == Codes{});
}

TEST_CASE("accounts without a password, with one that everybody tries, or as root again", "[image]") {
  CHECK(found_in({{"etc/passwd", "a::1:1::/:/bin/sh\nb:x:0:0::/:/bin/sh\n"}}) ==
        Codes{"fail no-password /etc/passwd", "fail second-root /etc/passwd"});
  CHECK(found_in({{"etc/shadow", "root::1:0:9:7:::\n"}}) == Codes{"fail no-password /etc/shadow"});
  CHECK(found_in({{"etc/shadow", "root:" + hash_of("pytorch") + ":1:0:9:7:::\n"}}) ==
        Codes{"fail known-password /etc/shadow"});
  CHECK(found_in({{"etc/shadow", "mlops:" + hash_of("mlops") + ":1:0:9:7:::\n"}}) ==
        Codes{"fail known-password /etc/shadow"});
  CHECK(found_in({{"etc/shadow", "root:" + hash_of("k8!x-0P") + ":1:0:9:7:::\n"}}) ==
        Codes{"warn password /etc/shadow"});
  CHECK(found_in({{"etc/shadow", "root:ab8RSgmWa5FAM:1:0:9:7:::\n"}}) == Codes{"fail weak-hash /etc/shadow"});
}

TEST_CASE("sshd that lets root in, takes passwords, or shares its key", "[image]") {
  CHECK(found_in(
            {{"etc/ssh/sshd_config", "PermitRootLogin yes\nPermitEmptyPasswords  YES\nPasswordAuthentication no\n"}}) ==
        Codes{"fail ssh-root /etc/ssh/sshd_config", "fail ssh-empty-password /etc/ssh/sshd_config"});
  // The first value counts, and files of the folder are read first.
  CHECK(found_in({{"etc/ssh/sshd_config", "PermitRootLogin yes\nPasswordAuthentication no\n"},
                  {"etc/ssh/sshd_config.d/10.conf", "PermitRootLogin no\n"}}) == Codes{});
  CHECK(found_in({{"etc/ssh/sshd_config", "PermitRootLogin no\nPasswordAuthentication no\n"},
                  {"etc/ssh/sshd_config.d/10.conf", "permitrootlogin yes\n"}}) ==
        Codes{"fail ssh-root /etc/ssh/sshd_config.d/10.conf"});
  // Passwords are taken unless they are refused.
  CHECK(found_in({{"usr/sbin/sshd", "x"}, {"etc/ssh/sshd_config", "PermitRootLogin no\n"}}) ==
        Codes{"warn ssh-password /usr/sbin/sshd"});
  CHECK(found_in({{"etc/ssh/ssh_host_ed25519_key", "x"}}) == Codes{"fail ssh-host-key /etc/ssh/ssh_host_ed25519_key"});
  CHECK(found_in({{"root/.ssh/authorized_keys", "ssh-ed25519 AAAA someone\n"}}) ==
        Codes{"fail ssh-key /root/.ssh/authorized_keys"});
}

TEST_CASE("Jupyter that asks for nothing, in a file or on its command line", "[image]") {
  CHECK(found_in({{"root/.jupyter/jupyter_notebook_config.py", "c.NotebookApp.token = ''\n"}}) ==
        Codes{"fail jupyter-open /root/.jupyter/jupyter_notebook_config.py"});
  CHECK(found_in({{"etc/jupyter/jupyter_server_config.json", "{\n  \"token\": \"\",\n}"}}) ==
        Codes{"fail jupyter-open /etc/jupyter/jupyter_server_config.json"});
  CHECK(found_in({{"etc/jupyter/jupyter_server_config.py", "# c.ServerApp.token = ''\nc.ServerApp.token = 'x1'\n"}}) ==
        Codes{});
  CHECK(found_in_image({{{"a", "b"}}},
                       {{"User", "1000"}, {"Cmd", {"jupyter", "lab", "--ServerApp.token=", "--allow-root"}}}) ==
        Codes{"fail jupyter-open ", "warn jupyter-root "});
}

TEST_CASE("an empty token is found however it is written, and a password that is set still asks", "[image]") {
  const auto said = [](const std::string& text) {
    return found_in({{"etc/jupyter/jupyter_server_config.py", text}}).size();
  };
  for (const char* open :
       {"c.ServerApp.token=''", "c.NotebookApp.token = u''  # no token", "c.IdentityProvider.token = \"\"",
        "{\"ServerApp\": {\"token\": \"\", \"port\": 1}}", "c.ServerApp.token = ''\nc.ServerApp.password = ''"}) {
    CAPTURE(open);
    CHECK(said(open) == 1);
  }
  for (const char* closed :
       {"c.ServerApp.token = 'x'", "c.ServerApp.token = \"x\"", "c.ServerApp.password = ''", "#c.ServerApp.token = ''",
        "c.ServerApp.token = ''\nc.ServerApp.password = 'argon2:x'", "c.ServerApp.token = get()", "tokens = ''"}) {
    CAPTURE(closed);
    CHECK(said(closed) == 0);
  }
  CHECK(found_in_image({{{"a", "b"}}},
                       {{"User", "1"}, {"Cmd", {"sh", "-c", "jupyter lab --ServerApp.token='' --ip=0.0.0.0"}}}) ==
        Codes{"fail jupyter-open "});
}

TEST_CASE("files that anyone may change, and programs that run as their owner", "[image]") {
  CHECK(found_in({{"opt/run.sh", "x", TarKind::file, 0666}, {"opt/tool", "x", TarKind::file, 04755}}) ==
        Codes{"warn setuid /opt/tool", "warn world-writable /opt/run.sh"});
  CHECK(found_in({{"data", "", TarKind::folder, 0777}, {"data/a", "x", TarKind::file, 0666}}) ==
        Codes{"warn world-writable /data"});
}

TEST_CASE("an image that runs as root says so; a number or name of another account does not", "[image]") {
  const std::vector<std::vector<TarEntry>> files = {{{"a", "b"}}};
  for (const char* user : {"", "root", "0", "0:0", "root:root"}) {
    CAPTURE(user);
    CHECK(found_in_image(files, {{"User", user}}) == Codes{"warn runs-as-root "});
  }
  for (const char* user : {"1000", "trainer:root", "rooted"}) CHECK(found_in_image(files, {{"User", user}}) == Codes{});
}

TEST_CASE("secrets in files, variables, the history, and in files that a later layer removed", "[image]") {
  const std::string token = "hf_" + std::string(34, 'a');
  CHECK(found_in({{"root/train.py", "login(token=\"" + token + "\")\n"}}) == Codes{"fail secret /root/train.py"});
  CHECK(found_in({{"home/u/.ssh/id_rsa", "-----BEGIN OPENSSH PRIVATE KEY-----\n"}}) ==
        Codes{"fail secret /home/u/.ssh/id_rsa"});
  CHECK(found_in({{"root/.netrc", "machine x login y password z\n"}}) == Codes{"warn secret /root/.netrc"});
  CHECK(found_in_image({{{"root/.netrc", "password " + token}}, {{"root/.wh..netrc", ""}}}) ==
        Codes{"fail secret /root/.netrc"});
  CHECK(found_in({{"root/.aws/credentials", "aws_access_key_id = AKIA0123456789ABCDEF\n"}}) ==
        Codes{"fail secret /root/.aws/credentials"});
  const std::vector<std::vector<TarEntry>> nothing = {{{"a", "b"}}};
  CHECK(found_in_image(nothing, {{"User", "1"}, {"Env", {"HF_TOKEN=" + token}}}) == Codes{"fail secret "});
  CHECK(found_in_image(nothing, {{"User", "1"}, {"Env", {"WANDB_API_KEY=0123"}}}) == Codes{"warn secret "});
  CHECK(found_in_image(nothing, {{"User", "1"}, {"Env", {"WANDB_API_KEY="}}}) == Codes{});
  CHECK(found_in_image(nothing, {{"User", "1"}}, {{{"created_by", "RUN hf login --token " + token}}}) ==
        Codes{"fail secret "});
}

TEST_CASE("a file that decides who gets in and cannot be read is not taken for harmless", "[image]") {
  CHECK(found_in({{"etc/shadow", std::string(300'000, 'x')}}) == Codes{"unread security /etc/shadow"});
  CHECK(found_in({{"root/.netrc", std::string(300'000, 'x')}}) == Codes{"unread secret /root/.netrc"});
  CHECK(found_in({{"root/data.csv", std::string(300'000, 'x')}}) == Codes{});
}

}  // namespace
}  // namespace reprobench
