// Mailer: sends e-mail by SMTP, one message after the other, on a thread of its own.
//
// libcurl speaks SMTP: STARTTLS or TLS from the start, AUTH PLAIN and LOGIN. Every message has a
// deadline, the queue a bound. A message goes to those whom the server accepts; whom it refuses is
// said in the log.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "alerts/channel.h"
#include "base/error.h"
#include "base/time.h"

namespace takt::internal {

class Mailer {
  public:
    using MailDone = std::move_only_function<void(Result<void>)>;

    struct Config {
        Duration connect_timeout{5'000};
        Duration timeout{30'000};  // Of one message, all together.
        std::size_t queue_max = 1'000;
    };
    explicit Mailer(Config config);
    Mailer() : Mailer(Config{}) {}
    // Breaks off the message under way within about a second; those that wait end with kCancelled.
    ~Mailer();

    // Any thread; `done` comes on the mailer's thread. Sent is what one receiver or more will get.
    // kInvalid: the server will never take it. kUnavailable: it may later, or too many wait, which
    // need not be those of this channel.
    void Send(const Channel& channel, std::string message, MailDone done);

  private:
    struct Letter {
        Channel channel;
        std::string message;
        MailDone done;
    };
    void Run();
    Result<void> SendNow(const Letter& letter) const;

    const Config config_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Letter> letters_;
    std::atomic<bool> stopping_ = false;
    std::thread thread_;
};

}  // namespace takt::internal
