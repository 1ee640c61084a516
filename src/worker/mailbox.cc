#include "worker/mailbox.h"

#include <algorithm>

#include "base/utf8.h"
#include "wire/frame_codec.h"

namespace takt::internal {
namespace {

// Longer lines are cut; the scheduler would do it too.
constexpr std::size_t kLineBytesMax = 16 << 10;
constexpr std::size_t kMessageBytesMax = 4 << 10;

// A handler that was abandoned, or a thread that it left, may talk for ever; its result waits for
// what it said before.
bool IsOver(const Held& held) {
    const Held::Phase phase = held.phase;
    return phase == Held::Phase::kEnded || phase == Held::Phase::kWithdrawn;
}

}  // namespace

void Held::OnProgress(double fraction, std::string_view message) {
    mailbox->Progress(*this, fraction, message);
}

void Held::OnLog(std::string_view line) {
    while (true) {
        const std::size_t end = line.find('\n');
        std::string_view first = line.substr(0, end);
        if (first.ends_with('\r')) first.remove_suffix(1);
        mailbox->Log(*this, first);
        if (end == std::string_view::npos || end + 1 == line.size()) return;
        line.remove_prefix(end + 1);
    }
}

bool Held::HasLogRoom() const {
    return mailbox->HasLogRoom();
}

void Mailbox::Ring() {
    if (!closed_ && !std::exchange(rung_, true)) wake_();
}

void Mailbox::Started(HeldPtr held) {
    const std::scoped_lock lock(mutex_);
    // Nobody would take it, and box and attempt would hold each other for ever.
    if (closed_) return;
    mail_.started.push_back(std::move(held));
    Ring();
}

void Mailbox::Finished(HeldPtr held, TaskResult result) {
    const std::scoped_lock lock(mutex_);
    // Nobody would take it, and box and attempt would hold each other for ever.
    if (closed_) return;
    mail_.finished.emplace_back(std::move(held), std::move(result));
    Ring();
}

void Mailbox::AskLock(HeldPtr held, LockCallPtr call) {
    const std::scoped_lock lock(mutex_);
    if (closed_) return;
    mail_.lock_asks.emplace_back(std::move(held), std::move(call));
    Ring();
}

void Mailbox::DropLock(HeldPtr held, std::uint64_t ask) {
    const std::scoped_lock lock(mutex_);
    if (closed_) return;
    mail_.lock_drops.emplace_back(std::move(held), ask);
    Ring();
}

void Mailbox::AskFetch(HeldPtr held, FetchCallPtr call) {
    const std::scoped_lock lock(mutex_);
    if (closed_) return;
    mail_.fetches.emplace_back(std::move(held), std::move(call));
    Ring();
}

void Mailbox::List(Held& held) {
    if (std::exchange(held.news.listed, true)) return;
    mail_.news.push_back(held.shared_from_this());
}

void Mailbox::PutBack(HeldPtr held) {
    const std::scoped_lock lock(mutex_);
    if (closed_) return;
    mail_.put_back.push_back(std::move(held));
    Ring();
}

void Mailbox::Progress(Held& held, double fraction, std::string_view message) {
    std::string text(CutUtf8(message, kMessageBytesMax));
    MakeUtf8(text);
    const std::scoped_lock lock(mutex_);
    if (closed_ || IsOver(held)) return;
    held.news.progressed = true;
    // Also turns what is not a number into 0.
    held.news.fraction = fraction > 0 ? std::min(fraction, 1.0) : 0;
    held.news.message = std::move(text);
    List(held);
    Ring();
}

void Mailbox::Log(Held& held, std::string_view line) {
    std::string text(CutUtf8(line, kLineBytesMax));
    MakeUtf8(text);
    const std::scoped_lock lock(mutex_);
    if (closed_ || IsOver(held)) return;
    if (held.news.lines_dropped > 0 || log_bytes_ + text.size() > log_bytes_max_) {
        ++held.news.lines_dropped;
    } else {
        log_bytes_ += text.size() + 1;
        held.news.lines.push_back(std::move(text));
    }
    List(held);
    Ring();
}

bool Mailbox::HasLogRoom() const {
    const std::scoped_lock lock(mutex_);
    return closed_ || log_bytes_ <= log_bytes_max_ / 2;
}

void Mailbox::TakeMail(Mail& mail) {
    const std::scoped_lock lock(mutex_);
    std::swap(mail.started, mail_.started);
    std::swap(mail.finished, mail_.finished);
    std::swap(mail.put_back, mail_.put_back);
    std::swap(mail.lock_asks, mail_.lock_asks);
    std::swap(mail.lock_drops, mail_.lock_drops);
    std::swap(mail.fetches, mail_.fetches);
    std::ranges::move(mail_.news, std::back_inserter(mail.news));
    mail_.news.clear();
    rung_ = false;
}

bool Mailbox::TakeNews(Held& held, std::size_t bytes_max, Held::News& out) {
    const std::scoped_lock lock(mutex_);
    out = {};
    out.progressed = std::exchange(held.news.progressed, false);
    out.fraction = held.news.fraction;
    out.message = std::move(held.news.message);
    std::size_t bytes = 0;
    while (!held.news.lines.empty() && bytes < bytes_max) {
        bytes += held.news.lines.front().size() + 1;
        out.lines.push_back(std::move(held.news.lines.front()));
        held.news.lines.pop_front();
    }
    log_bytes_ -= std::min(log_bytes_, bytes);
    if (!held.news.lines.empty()) return false;
    if (const auto dropped = std::exchange(held.news.lines_dropped, 0); dropped > 0) {
        out.lines.push_back("[" + std::to_string(dropped) +
                            " lines left out: more than could be sent]");
    }
    held.news.listed = false;
    return true;
}

void Mailbox::Close() {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    mail_ = {};
}

}  // namespace takt::internal
