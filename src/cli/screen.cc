#include "cli/screen.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

namespace takt::internal::cli {

Screen::Screen() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    signals_ = signalfd(-1, &set, SFD_CLOEXEC);
    tcgetattr(STDIN_FILENO, &before_);
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    std::fputs("\x1b[?1049h\x1b[?25l", stdout);  // The other page, no cursor.
}

Screen::~Screen() {
    std::fputs("\x1b[?25h\x1b[?1049l", stdout);
    std::fflush(stdout);
    tcsetattr(STDIN_FILENO, TCSANOW, &before_);
    if (signals_ >= 0) close(signals_);
}

void Screen::Draw(const std::string& text) {
    winsize size{};
    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    const std::size_t rows_max = size.ws_row > 1 ? size.ws_row - 1u : 23u;
    // Lines that are too long must not wrap, or the screen would scroll.
    std::string out = "\x1b[?7l\x1b[H";
    std::size_t rows = 0;
    for (std::size_t at = 0; at < text.size() && rows < rows_max; ++rows) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        out += text.substr(at, end - at) + "\x1b[K\r\n";
        at = end + 1;
    }
    out += "\x1b[J\x1b[?7h";
    std::fwrite(out.data(), 1, out.size(), stdout);
    std::fflush(stdout);
}

bool Screen::WaitForQuit(Duration timeout) {
    const Steady end = SteadyClock::now() + timeout;
    while (true) {
        const auto left = std::chrono::duration_cast<Duration>(end - SteadyClock::now());
        if (left <= Duration(0)) return false;
        pollfd sources[] = {{STDIN_FILENO, POLLIN, 0}, {signals_, POLLIN, 0}};
        if (poll(sources, 2, static_cast<int>(left.count())) <= 0) continue;
        if (sources[1].revents) return true;
        if (sources[0].revents) {
            char key = 0;
            // A terminal that is gone reads as its end.
            if (read(STDIN_FILENO, &key, 1) <= 0) return true;
            if (key == 'q' || key == 'Q' || key == 3) return true;
        }
    }
}

}  // namespace takt::internal::cli
