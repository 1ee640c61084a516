// The fixture of histories about locks.
#pragma once

#include <string>

#include "base/failpoint.h"
#include "engine/history.h"

namespace takt::internal {

class LockHistory : public History {
  protected:
    void SetUp() override {
        ASSERT_TRUE(StartFailPoints());
        config.worker_lease = config.timeout = 24h;
        config.leader_ttl = 10s;
    }

    struct Ask {
        Duration ttl = 30s;
        Duration wait = 0s;
        std::uint32_t permits = 1;
        std::string owner;
        std::string request_id;
    };
    AcquireLock Acquire(const std::string& name, Ask ask) {
        return {.request = NextRequest(),
                .name = name,
                .permits = ask.permits,
                .ttl = ask.ttl,
                .wait = ask.wait,
                .owner = ask.owner,
                .request_id = ask.request_id};
    }
    AcquireLock Acquire(const std::string& name) { return Acquire(name, {}); }
    ReleaseLock Release(const std::string& name, const Text& id) {
        return {.request = NextRequest(), .name = name, .lock_id = id};
    }
    RenewLock Renew(const std::string& name, const Text& id) {
        return {.request = NextRequest(), .name = name, .lock_id = id};
    }
    SetLock Resize(const std::string& name, std::uint32_t permits) {
        return {.request = NextRequest(), .name = name, .permits = permits};
    }
    FreeLock Free(const std::string& name, Text id = {}) {
        return {.request = NextRequest(), .name = name, .lock_id = std::move(id)};
    }
    AskLock AskFor(const std::string& execution, std::uint64_t ask, const std::string& name,
                   Duration wait = 30s) {
        const Execution& row = Row(execution);
        return {.session = SessionOf(row.worker.text().str()),
                .attempt = RefOf(execution),
                .ask = ask,
                .name = name,
                .wait = wait};
    }

    // The answer to a question; one that is still waited for, or failed, has no id.
    LockAnswer AnswerTo(RequestId request) const {
        const auto found = lock_replies.find(request);
        return found == lock_replies.end() ? LockAnswer{} : found->second;
    }
    LockAnswer LastAnswer() const { return AnswerTo(LastRequest()); }
    bool Held(RequestId request) const { return AnswerTo(request).held; }
    // Asks at a time, and returns which question that was.
    RequestId AskAt(Duration at, AcquireLock acquire) {
        const RequestId request = acquire.request;
        At(at, std::move(acquire));
        return request;
    }
    std::size_t RowCount() const { return store.records.size(); }
};

}  // namespace takt::internal
