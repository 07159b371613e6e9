// A terminal that a test reads: what is written to stderr as long as it lives, with the marks that move its cursor.
#pragma once

#include <cstdlib>
#include <stdexcept>
#include <string>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

namespace reprobench {

class PseudoTerminal {
 public:
  explicit PseudoTerminal(unsigned short columns = 200)
      : master_(posix_openpt(O_RDWR | O_NOCTTY)), before_(dup(STDERR_FILENO)) {
    if (master_ < 0 || grantpt(master_) != 0 || unlockpt(master_) != 0) throw std::runtime_error("no pseudo terminal");
    const int slave = open(ptsname(master_), O_RDWR | O_NOCTTY);
    termios raw{};
    tcgetattr(slave, &raw);
    cfmakeraw(&raw);
    tcsetattr(slave, TCSANOW, &raw);
    const winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    ioctl(slave, TIOCSWINSZ, &size);
    fcntl(master_, F_SETFL, O_NONBLOCK);
    dup2(slave, STDERR_FILENO);
    close(slave);
  }
  ~PseudoTerminal() {
    dup2(before_, STDERR_FILENO);
    close(before_);
    close(master_);
  }
  PseudoTerminal(const PseudoTerminal&) = delete;
  PseudoTerminal& operator=(const PseudoTerminal&) = delete;

  // The text that was written since the last call.
  std::string text() const {
    std::string all;
    char part[4096];
    for (ssize_t count = read(master_, part, sizeof part); count > 0; count = read(master_, part, sizeof part)) {
      all.append(part, static_cast<std::size_t>(count));
    }
    return all;
  }

 private:
  int master_;
  int before_;
};

}  // namespace reprobench
