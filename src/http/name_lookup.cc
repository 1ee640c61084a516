#include "http/name_lookup.h"

#include <fmt/format.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "base/time.h"

namespace takt::internal::http {

Result<HostAddresses> SystemLookup(const std::string& host) {
    boost::asio::io_context own;
    boost::asio::ip::tcp::resolver resolver(own);
    boost::system::error_code error;
    const auto found = resolver.resolve(host, "", error);
    if (error) {
        return Fail(ErrorCode::kUnavailable,
                    fmt::format("{} cannot be resolved: {}", host, error.message()));
    }
    HostAddresses addresses;
    for (const auto& entry : found) addresses.push_back(entry.endpoint().address());
    return addresses;
}

// Shared with the threads, which may outlive everything else: a lookup cannot be broken off.
struct NameLookup::State : std::enable_shared_from_this<State> {
    struct Pending {
        std::vector<Done> waiting;
        std::optional<Steady> began;  // Empty: it waits for a thread.
    };

    State(boost::asio::io_context& loop, NameLookupOptions chosen)
        : options(std::move(chosen)), io(&loop) {}

    void Ask(const std::string& host, Done done);
    // REQUIRES for all of these: mutex is held.
    std::optional<Error> Refusal(const std::string& host) const;
    void Tell(std::vector<Done> waiting, Result<HostAddresses> result);
    void Begin(const std::string& host);

    // The life of a thread.
    void Work(std::string host);
    std::optional<std::string> Finish(const std::string& host, Result<HostAddresses> result);

    const NameLookupOptions options;
    std::mutex mutex;
    boost::asio::io_context* io;  // Null once closed.
    std::map<std::string, Pending> pending;
    std::deque<std::string> queue;  // Of those that wait for a thread.
    std::size_t waiting = 0;
    std::size_t threads = 0;
};

std::optional<Error> NameLookup::State::Refusal(const std::string& host) const {
    if (waiting >= options.waiting_max) {
        return Error{ErrorCode::kUnavailable, "too many names are being looked up", ""};
    }
    const auto found = pending.find(host);
    if (found == pending.end() || !found->second.began) return std::nullopt;
    if (SteadyClock::now() - *found->second.began < options.hang_max) return std::nullopt;
    return Error{ErrorCode::kUnavailable,
                 fmt::format("{} cannot be resolved: the name server has not answered yet", host),
                 ""};
}

void NameLookup::State::Ask(const std::string& host, Done done) {
    const std::scoped_lock lock(mutex);
    if (!io) return;
    std::vector<Done> asking;
    asking.push_back(std::move(done));
    if (auto refusal = Refusal(host)) {
        return Tell(std::move(asking), std::unexpected(std::move(*refusal)));
    }
    ++waiting;
    auto [entry, is_new] = pending.try_emplace(host);
    entry->second.waiting.push_back(std::move(asking.front()));
    if (is_new) Begin(host);
}

void NameLookup::State::Tell(std::vector<Done> told, Result<HostAddresses> result) {
    if (!io) return;
    boost::asio::post(*io, [told = std::move(told), result = std::move(result)]() mutable {
        for (Done& done : told) done(result);
    });
}

void NameLookup::State::Begin(const std::string& host) {
    if (threads >= options.threads_max) return queue.push_back(host);
    pending.at(host).began = SteadyClock::now();
    try {
        std::thread([self = shared_from_this(), host] { self->Work(host); }).detach();
        ++threads;
    } catch (const std::system_error& error) {
        auto entry = pending.extract(host);
        waiting -= entry.mapped().waiting.size();
        Tell(std::move(entry.mapped().waiting),
             Fail(ErrorCode::kUnavailable,
                  fmt::format("{} cannot be resolved: no thread for it: {}", host, error.what())));
    }
}

void NameLookup::State::Work(std::string host) {
    for (std::optional<std::string> next = std::move(host); next;) {
        auto result = options.find(*next);
        next = Finish(*next, std::move(result));
    }
}

// The next name to look up; nothing: the thread is not needed any more.
std::optional<std::string> NameLookup::State::Finish(const std::string& host,
                                                     Result<HostAddresses> result) {
    const std::scoped_lock lock(mutex);
    if (auto entry = pending.extract(host)) {
        waiting -= entry.mapped().waiting.size();
        Tell(std::move(entry.mapped().waiting), std::move(result));
    }
    if (queue.empty()) {
        --threads;
        return std::nullopt;
    }
    std::string next = std::move(queue.front());
    queue.pop_front();
    pending.at(next).began = SteadyClock::now();
    return next;
}

NameLookup::NameLookup(boost::asio::io_context& io, NameLookupOptions options)
    : state_(std::make_shared<State>(io, std::move(options))) {}

NameLookup::~NameLookup() {
    Close();
}

void NameLookup::Ask(const std::string& host, Done done) {
    state_->Ask(host, std::move(done));
}

void NameLookup::Close() {
    std::map<std::string, State::Pending> dropped;  // Destroyed without the lock.
    const std::scoped_lock lock(state_->mutex);
    state_->io = nullptr;
    state_->queue.clear();
    state_->waiting = 0;
    dropped.swap(state_->pending);
}

}  // namespace takt::internal::http
