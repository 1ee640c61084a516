#include "links/session_id.h"

#include <atomic>

namespace takt::internal {

SessionId NewSessionId() {
    static std::atomic<SessionId> last = 0;
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace takt::internal
