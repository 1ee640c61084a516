#include "cli/signals.h"

#include <pthread.h>

#include <utility>

#include "base/log.h"

namespace takt::internal::cli {

BlockedSignals::BlockedSignals() {
    sigemptyset(&set_);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set_, signal);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
}

SignalWatch::SignalWatch(const BlockedSignals& blocked, Calls calls)
    : blocked_(blocked), calls_(std::move(calls)), thread_([this](const std::stop_token& ended) {
          bool stopping = false;
          while (true) {
              int signal = 0;
              sigwait(&blocked_.set(), &signal);
              if (ended.stop_requested()) return;
              if (signal == SIGHUP) {
                  calls_.reopen();
              } else if (std::exchange(stopping, true)) {
                  calls_.hurry();
              } else {
                  calls_.stop();
              }
          }
      }) {}

SignalWatch::~SignalWatch() {
    thread_.request_stop();
    // To this thread alone, whose sigwait takes it, now or when its call has ended.
    pthread_kill(thread_.native_handle(), SIGHUP);
}

void ReopenLog(const LogOptions& options) {
    if (options.file.empty()) return;
    if (auto reopened = StartLogging(options); !reopened) {
        Log(LogLevel::kError, "log", "the log file was not opened anew",
            {{"error", reopened.error().detail}});
        return;
    }
    Log(LogLevel::kInfo, "log", "the log file was opened anew");
}

}  // namespace takt::internal::cli
