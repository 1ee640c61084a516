#include "sdk/event_dispatcher.h"

#include <exception>
#include <vector>

#include "base/log.h"

namespace takt {
namespace {

// The dispatcher whose callbacks this thread runs.
thread_local const void* tl_dispatcher = nullptr;

void CallSafely(const EventCallback& call, const Event& event) {
    const auto complain = [&](std::string_view what) {
        internal::Log(internal::LogLevel::kError, "sdk", "an event callback threw",
                      {{"event", Name(event.type)}, {"error", what}});
    };
    try {
        call(event);
    } catch (const std::exception& error) {
        complain(error.what());
    } catch (...) {
        complain("something that is no std::exception");
    }
}

}  // namespace

EventDispatcher::EventDispatcher(std::size_t events_max)
    : events_max_(std::max<std::size_t>(events_max, 1)) {}

EventDispatcher::~EventDispatcher() {
    Stop(Duration(0));
}

std::uint64_t EventDispatcher::Add(std::optional<EventType> type, EventCallback callback) {
    const std::scoped_lock lock(shared_->mutex);
    const std::uint64_t number = ++shared_->last_number;
    shared_->callbacks.emplace(
        number, Callback{type, std::make_shared<const EventCallback>(std::move(callback))});
    return number;
}

void EventDispatcher::Remove(std::uint64_t number) {
    const std::scoped_lock lock(shared_->mutex);
    shared_->callbacks.erase(number);
}

std::uint64_t EventDispatcher::dropped() const {
    const std::scoped_lock lock(shared_->mutex);
    return shared_->dropped;
}

bool EventDispatcher::on_own_thread() const {
    return tl_dispatcher == shared_.get();
}

void EventDispatcher::Start() {
    const std::scoped_lock lock(shared_->mutex);
    shared_->stopping = false;
    shared_->ended = false;
    thread_ = std::thread(
        [shared = shared_, run = ++shared_->run] { EventDispatcher::Run(shared, run); });
}

void EventDispatcher::Stop(Duration patience) {
    if (!thread_.joinable()) return;
    std::unique_lock lock(shared_->mutex);
    shared_->stopping = true;
    shared_->changed.notify_all();
    // A callback may stop the scheduler itself; it cannot wait for its own end.
    const bool own = on_own_thread();
    const bool ended =
        !own && shared_->changed.wait_for(lock, patience, [&] { return shared_->ended; });
    ++shared_->run;
    shared_->dropped += shared_->events.size();
    shared_->events.clear();
    lock.unlock();
    ended ? thread_.join() : thread_.detach();
    if (!ended && !own) {
        internal::Log(internal::LogLevel::kWarning, "sdk",
                      "an event callback does not return; its thread is left to itself");
    }
}

// REQUIRES: the mutex is held.
void EventDispatcher::Append(Event event) {
    if (shared_->events.size() == events_max_) {
        shared_->events.pop_front();
        ++shared_->dropped;
    }
    shared_->events.push_back(std::move(event));
    shared_->changed.notify_all();
}

void EventDispatcher::Tell(Event event) {
    const std::scoped_lock lock(shared_->mutex);
    if (shared_->callbacks.empty() || shared_->stopping) return;
    Append(std::move(event));
}

void EventDispatcher::TellHeard(std::uint64_t serial, const std::function<Event()>& make) {
    const std::scoped_lock lock(shared_->mutex);
    if (serial <= shared_->last_serial) return;
    shared_->last_serial = serial;
    if (shared_->callbacks.empty() || shared_->stopping) return;
    Append(make());
}

std::uint64_t EventDispatcher::last_serial() const {
    const std::scoped_lock lock(shared_->mutex);
    return shared_->last_serial;
}

bool EventDispatcher::wanted() const {
    const std::scoped_lock lock(shared_->mutex);
    return !shared_->callbacks.empty();
}

void EventDispatcher::Run(const std::shared_ptr<Shared>& shared, std::uint64_t run) {
    tl_dispatcher = shared.get();
    std::unique_lock lock(shared->mutex);
    while (true) {
        shared->changed.wait(lock, [&] {
            return shared->run != run || shared->stopping || !shared->events.empty();
        });
        if (shared->run != run) return;
        if (shared->events.empty()) break;
        const Event event = std::move(shared->events.front());
        shared->events.pop_front();
        std::vector<std::shared_ptr<const EventCallback>> calls;
        for (const auto& [number, callback] : shared->callbacks) {
            const bool wanted =
                !callback.type || *callback.type == event.type || event.type == EventType::kMissed;
            if (wanted) calls.push_back(callback.call);
        }
        lock.unlock();
        for (const auto& call : calls) CallSafely(*call, event);
        lock.lock();
        if (shared->run != run) return;
    }
    shared->ended = true;
    shared->changed.notify_all();
}

}  // namespace takt
