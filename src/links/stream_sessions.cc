// All sessions of stream workers: which there are, and who has said Hello.
#include <algorithm>
#include <utility>

#include "links/stream_session.h"
#include "node/node.h"

namespace takt::internal {

StreamSessions::StreamSessions(Runtime& runtime, StreamLinkConfig config)
    : runtime_(runtime),
      config_(std::move(config)),
      unfinished_(std::make_shared<UnfinishedBytes>(config_.unfinished_bytes_max)) {}

void StreamSessions::AddSession(std::shared_ptr<StreamSession> session) {
    bool arm = false;
    {
        const std::scoped_lock lock(mutex_);
        sessions_.emplace(session->id(), session);
        arm = !std::exchange(sweeping_, true);
    }
    if (!arm) return;
    runtime_.Post([weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->ArmSweep();
    });
}

void StreamSessions::RemoveSession(const StreamSession& session) {
    const std::scoped_lock lock(mutex_);
    const auto found = by_worker_.find(session.worker());
    if (found != by_worker_.end() && found->second == session.id()) by_worker_.erase(found);
    sessions_.erase(session.id());
}

std::shared_ptr<StreamSession> StreamSessions::FindSession(SessionId id) const {
    const std::scoped_lock lock(mutex_);
    const auto found = sessions_.find(id);
    return found == sessions_.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<StreamSession>> StreamSessions::All() const {
    std::vector<std::shared_ptr<StreamSession>> all;
    const std::scoped_lock lock(mutex_);
    all.reserve(sessions_.size());
    for (const auto& [id, session] : sessions_) all.push_back(session);
    return all;
}

std::size_t StreamSessions::size() const {
    const std::scoped_lock lock(mutex_);
    return sessions_.size();
}

void StreamSessions::Drop() {
    set_node(nullptr);
    for (const auto& session : All()) session->Drop();
    const std::scoped_lock lock(mutex_);
    sessions_.clear();
}

std::shared_ptr<StreamSession> StreamSessions::ClaimWorker(const StreamSession& session,
                                                           Steady then) {
    const std::scoped_lock lock(mutex_);
    auto [entry, is_new] = by_worker_.try_emplace(session.worker(), session.id());
    if (is_new) return nullptr;
    const auto older = sessions_.find(entry->second);
    const bool other_process =
        older != sessions_.end() && older->second->instance() != session.instance();
    if (other_process && older->second->HeardSince(then)) return older->second;
    if (other_process) older->second->set_replaced();
    entry->second = session.id();
    return nullptr;
}

std::string StreamSessions::LeaderAddress() const {
    const NodeStatus status = node()->status();
    if (!status.leader || status.leader->node == config_.node) return {};
    return status.leader->address.str();
}

// On the node's thread, as long as somebody has yet to say Hello.
void StreamSessions::ArmSweep() {
    const Duration interval = std::clamp(config_.hello_deadline / 2, Duration(1), Duration(1'000));
    runtime_.After(interval, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->Sweep();
    });
}

void StreamSessions::Sweep() {
    const Steady now = runtime_.Now().steady;
    bool waiting = false;
    for (const auto& session : All()) {
        if (session->greeted()) continue;
        if (now - session->opened() < config_.hello_deadline) {
            waiting = true;
        } else {
            session->Refuse(
                {"late_hello", "no hello came within " + FormatDuration(config_.hello_deadline)});
        }
    }
    {
        const std::scoped_lock lock(mutex_);
        // Sessions that came since All() have not been looked at.
        waiting = waiting || std::ranges::any_of(sessions_, [&](const auto& entry) {
                      return !entry.second->greeted() &&
                             now - entry.second->opened() < config_.hello_deadline;
                  });
        sweeping_ = waiting;
    }
    if (waiting) ArmSweep();
}

}  // namespace takt::internal
