#include "http/outbox.h"

#include <array>
#include <boost/asio/post.hpp>

namespace takt::internal::http {
namespace {

constexpr std::size_t kControlExtra = 64 << 10;
// Beyond this a buffer is given back when it is empty, so that one burst is not paid for ever.
constexpr std::size_t kOutboxKept = 1024;

}  // namespace

std::span<char> ReadScratch() {
    thread_local std::unique_ptr<std::array<char, 64 << 10>> scratch(
        new std::array<char, 64 << 10>);
    return *scratch;
}

Outbox::Outbox(std::shared_ptr<Transport> transport, std::size_t bytes_max)
    : transport_(std::move(transport)),
      executor_(transport_->socket().get_executor()),
      bytes_max_(bytes_max) {}

bool Outbox::Append(std::string_view head, std::string_view body) {
    return AppendWithin(bytes_max_, head, body);
}

bool Outbox::AppendControl(std::string_view bytes) {
    return AppendWithin(bytes_max_ + kControlExtra, bytes, {});
}

bool Outbox::AppendWithin(std::size_t bytes_max, std::string_view head, std::string_view body) {
    const std::lock_guard lock(mutex_);
    const std::size_t size = head.size() + body.size();
    const std::size_t queued = bytes();
    if (finished_ || size > bytes_max || queued > bytes_max - size) return false;
    pending_.append(head).append(body);
    bytes_.fetch_add(size, std::memory_order_relaxed);
    Schedule();
    return true;
}

void Outbox::Finish() {
    const std::lock_guard lock(mutex_);
    if (finished_) return;
    finished_ = true;
    Schedule();
}

// REQUIRES: mutex_ is held.
void Outbox::Schedule() {
    if (scheduled_) return;
    scheduled_ = true;
    boost::asio::post(executor_, [self = shared_from_this()] { self->Flush(); });
}

// False when there is nothing left to write.
bool Outbox::TakePending() {
    if (written_ < writing_.size()) return true;
    writing_.clear();
    written_ = 0;
    if (writing_.capacity() > kOutboxKept) writing_ = std::string();
    const std::lock_guard lock(mutex_);
    if (pending_.empty()) {
        scheduled_ = false;
        if (finished_) transport_->ShutdownWrite();
        return false;
    }
    writing_.swap(pending_);
    progress_ = SteadyClock::now();
    return true;
}

void Outbox::Flush() {
    while (TakePending()) {
        const IoResult result = transport_->TryWrite(std::string_view(writing_).substr(written_));
        switch (result.state) {
            case IoState::kDone:
                written_ += result.bytes;
                bytes_.fetch_sub(result.bytes, std::memory_order_relaxed);
                progress_ = SteadyClock::now();
                if (on_empty_ && bytes() == 0) on_empty_();
                continue;
            case IoState::kWantRead:
            case IoState::kWantWrite:
                return WaitToWrite(result.state);
            case IoState::kClosed:
            case IoState::kFailed:
                Abandon();
                transport_->Close();  // Wakes the reader, who reports the end.
                return;
        }
    }
}

void Outbox::WaitToWrite(IoState want) {
    transport_->Wait(want, [self = shared_from_this()](const boost::system::error_code& error) {
        if (error) return self->Abandon();
        self->Flush();
    });
}

SteadyClock::duration Outbox::StalledFor(Steady now) const {
    return written_ < writing_.size() ? now - progress_ : SteadyClock::duration::zero();
}

void Outbox::Abandon() {
    writing_ = std::string();
    written_ = 0;
    const std::lock_guard lock(mutex_);
    finished_ = true;
    pending_ = std::string();
    bytes_ = 0;
}

}  // namespace takt::internal::http
