// A terminal taken over for a live screen, and given back however the command ends.
#pragma once

#include <termios.h>

#include <string>

#include "base/time.h"

namespace takt::internal::cli {

class Screen {
  public:
    // REQUIRES: standard input and output are terminals. SIGINT and SIGTERM end WaitForQuit from
    // now on.
    Screen();
    ~Screen();
    Screen(const Screen&) = delete;
    Screen& operator=(const Screen&) = delete;

    // Shows lines from the top, cut to what fits.
    void Draw(const std::string& text);

    // True when q, ctrl-C or a signal came within `timeout`.
    bool WaitForQuit(Duration timeout);

  private:
    termios before_{};
    int signals_ = -1;
};

}  // namespace takt::internal::cli
