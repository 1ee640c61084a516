// The audit: who changed what. An entry is written in the batch of the change that it tells of, so
// that there is the one if and only if there is the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "model/task.h"

namespace takt::internal {

// A thing as it was before a change, or is after it.
struct AuditDocument {
    enum class Kind : std::uint8_t {  // Stored by number: only ever append.
        kNone = 0,
        kJson = 1,
        kTask = 2,  // An encoded TaskRow.
    };
    Kind kind = Kind::kNone;
    std::string body;
    bool cut = false;  // It was too large: a task has no payload, anything else is left out whole.
};
// The audit is kept for months, and a page of it is read at once.
constexpr std::size_t kAuditDocumentBytesMax = 32u << 10;

AuditDocument JsonDocument(std::string json);
// An object of texts; those that are empty are left out.
AuditDocument FieldsDocument(
    std::initializer_list<std::pair<std::string_view, std::string_view>> fields);
AuditDocument TaskDocument(const TaskRow& row);

struct AuditTarget {
    std::string kind;  // "task", "queue".
    std::string id;
};

struct AuditChange {
    AuditTarget target;
    AuditDocument before = {};
    AuditDocument after = {};
};

// Somebody asks for a change.
struct Act {
    std::string who;         // The name of the token; kOpenAct if none is needed.
    std::string token_id;    // Empty: none.
    std::string role;        // Of the token; empty: none.
    std::string action;      // The operation's name in OpenAPI.
    std::string space;       // The namespace.
    std::string address;     // Of who asked.
    std::string via;         // The scheduler that passed it on; empty: none.
    std::string request_id;  // As in the log and in the answer.
    // The change, if the engine does not know what it is about: of a setting that it does not read.
    AuditChange change = {};
};
constexpr std::string_view kOpenAct = "open";
// Null: nobody that the audit would name.
using ActPtr = std::shared_ptr<const Act>;

struct AuditEntry {
    Act act;
    std::uint32_t refusals = 0;  // 0: it was done. Else it was refused so many times in a minute,
    std::uint32_t status = 0;    // the last time with this.
};

std::string EncodeAuditEntry(const AuditEntry& entry);
// kInvalid for bytes that are no such entry.
Result<AuditEntry> DecodeAuditEntry(std::string_view bytes);

}  // namespace takt::internal
