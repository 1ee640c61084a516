// Bytes on their way to a peer: filled from any thread, written by the io thread, bounded.
//
// What is appended while an earlier write is under way, or in the same turn of the loop, leaves in
// one write: a burst of frames costs one system call.
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/time.h"
#include "http/transport.h"

namespace takt::internal::http {

// Where reads go before anybody knows whose bytes they are; one per thread, 64 KB. What it holds is
// lost at the next suspension of the reader.
std::span<char> ReadScratch();

class Outbox : public std::enable_shared_from_this<Outbox> {
  public:
    Outbox(std::shared_ptr<Transport> transport, std::size_t bytes_max);

    // Before anything is written. Called on the io thread whenever all has been.
    void set_on_empty(std::function<void()> on_empty) { on_empty_ = std::move(on_empty); }

    // Any thread. Takes both parts or nothing; false when they do not fit or nothing more is taken.
    bool Append(std::string_view head, std::string_view body);
    // The same for small control messages, which may go 64 KB over the bound.
    bool AppendControl(std::string_view bytes);

    // Any thread: takes nothing more, writes what is there, then tells the peer that it was all.
    void Finish();

    std::size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

    // The io thread. How long bytes have waited for the peer to take any; zero when none wait.
    SteadyClock::duration StalledFor(Steady now) const;
    // The io thread: drops everything. The transport is the owner's to close.
    void Abandon();

  private:
    bool AppendWithin(std::size_t bytes_max, std::string_view head, std::string_view body);
    void Schedule();
    void Flush();
    bool TakePending();
    void WaitToWrite(IoState want);

    const std::shared_ptr<Transport> transport_;
    const boost::asio::any_io_executor executor_;
    const std::size_t bytes_max_;
    std::atomic<std::size_t> bytes_ = 0;

    std::mutex mutex_;
    std::string pending_;
    bool scheduled_ = false;
    bool finished_ = false;

    // The io thread's own.
    std::string writing_;
    std::size_t written_ = 0;
    Steady progress_{};
    std::function<void()> on_empty_;
};

}  // namespace takt::internal::http
