// The audit: who changed what, and who was refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "takt/time.h"

namespace takt {

struct AuditEntry {
    std::string id;  // Later entries have later ids.
    Time at{};
    std::string name_space;
    std::string who;       // The name of the token; `open` while there are none.
    std::string token_id;  // Empty while there are none.
    std::string role;
    std::string action;  // The operationId in /openapi.json.
    std::string target_kind;
    std::string target_id;
    std::string address;  // From where.
    std::string via;      // The scheduler that passed the call on; empty: none.
    std::string request_id;
    bool refused = false;
    int status = 0;           // Of the last refusal.
    std::uint32_t count = 1;  // Refusals of the same kind within a minute.
    std::string before;  // JSON: the definition, or the part that changes; empty: there was none.
    std::string after;
    bool cut = false;  // A document was too large: without its payload, or empty.
};

// Filters combine; an empty one does not filter.
struct AuditFilter {
    std::optional<Time> since = {};  // At this time or later,
    std::optional<Time> until = {};  // and before this one.
    std::string who = {};            // The name or the id of a token.
    std::string action = {};         // Part of an action: pause, tasks, delete.
    std::string target = {};         // An id, or kind/id.
    std::optional<bool> refused = {};
    std::size_t limit =
        100;  // 1 to 1000 for one page, which may have fewer while there is a cursor.
    std::string cursor = {};
};

}  // namespace takt
