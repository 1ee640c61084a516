// Mailbox: what handlers say, on its way from their threads to the network thread.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "worker/held.h"

namespace takt::internal {

// Outlives the worker when abandoned handlers do. All methods from any thread.
class Mailbox {
  public:
    // `wake` is called, from any thread, when the box is not empty any more; it must not call back.
    Mailbox(std::size_t log_bytes_max, std::function<void()> wake)
        : log_bytes_max_(log_bytes_max), wake_(std::move(wake)) {}

    void Started(HeldPtr held);
    void Finished(HeldPtr held, TaskResult result);
    // Its handler was not begun, and must not be.
    void PutBack(HeldPtr held);
    void Progress(Held& held, double fraction, std::string_view message);
    // A line for which there is no room is left out, and so are all after it until it can be said
    // how many they were: what is missing is missing at one place.
    void Log(Held& held, std::string_view line);
    void AskLock(HeldPtr held, LockCallPtr call);
    void DropLock(HeldPtr held, std::uint64_t ask);
    void AskFetch(HeldPtr held, FetchCallPtr call);
    // Half of the room is left: enough for what is on its way on some other threads.
    bool HasLogRoom() const;

    struct Mail {
        std::vector<HeldPtr> started;
        std::vector<std::pair<HeldPtr, TaskResult>> finished;
        std::vector<HeldPtr> put_back;
        std::vector<std::pair<HeldPtr, LockCallPtr>> lock_asks;
        std::vector<std::pair<HeldPtr, std::uint64_t>> lock_drops;
        std::vector<std::pair<HeldPtr, FetchCallPtr>> fetches;
        std::vector<HeldPtr> news;  // They have progress or lines; see TakeNews.
    };
    // Everything so far, but the news, which wait where they are until they can be sent.
    void TakeMail(Mail& mail);
    // Moves one attempt's news out, at most about `bytes_max` of lines; true if that was all.
    bool TakeNews(Held& held, std::size_t bytes_max, Held::News& out);

    // Nobody takes anything any more.
    void Close();

  private:
    void List(Held& held);
    void Ring();  // Under the lock, so that nothing rings after Close.

    const std::size_t log_bytes_max_;
    mutable std::mutex mutex_;
    std::function<void()> wake_;
    Mail mail_;
    bool rung_ = false;
    bool closed_ = false;
    std::size_t log_bytes_ = 0;
};

}  // namespace takt::internal
