// A namespace as the directory has it: its name and number, what it may use, what is decided
// differently in it.
//
// The directory is kept as settings of the partition of `default`, one for each namespace and one that
// is counted up with every change, so that a reader sees by one small row whether anything is new.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/id.h"
#include "base/time.h"
#include "model/change.h"
#include "model/task.h"

namespace takt::internal {

// The namespace that is always there, and that whoever names none means. Its partition is 0.
constexpr std::string_view kDefaultNamespace = "default";
// Numbers of partitions fit into a serial: 0 is `default`, the others are given one at creation.
constexpr unsigned kNamespaceNumberMax = 255;

constexpr std::string_view kDirectoryPrefix = "namespaces";  // Of both below.
constexpr std::string_view kNamespacePrefix = "namespaces/";
constexpr std::string_view kDirectoryVersionKey = "namespaces.version";
// The highest epoch of any namespace that was deleted.
constexpr std::string_view kDirectoryEpochKey = "namespaces.epoch";
// In a namespace's own partition, once everything in it has ended: the id of the namespace that this
// was. From then on its rows may be dropped.
constexpr std::string_view kNamespaceEmptyKey = "namespace.empty";

// The most that a namespace may use; 0 is no bound. Beyond, a request is refused by the quota's name.
struct Quotas {
    std::uint64_t executions_waiting = 0;
    std::uint64_t submits_per_second = 0;
    std::uint64_t payload_bytes = 0;  // Of all executions that are not finished, together.
    std::uint64_t workers = 0;        // Online at once.
    std::uint64_t log_bytes = 0;      // Of one execution.
    Duration retention{0};

    friend bool operator==(const Quotas&, const Quotas&) = default;
};

// Decisions of a namespace that differ from the scheduler's configuration; empty: as that says.
struct NamespaceSettings {
    std::optional<Duration> retention;
    std::optional<Duration> audit_retention;
    std::optional<Duration> timeout;
    std::optional<RetryPolicy> retry;
    std::optional<Strategy> strategy;

    friend bool operator==(const NamespaceSettings&, const NamespaceSettings&) = default;
};

enum class NamespaceState : std::uint8_t {
    kActive,
    kDeleting,  // Takes nothing new; its leader ends what there is.
    kEmpty,     // Nobody leads it any more; its rows are dropped.
};
std::string_view Name(NamespaceState state);

struct NamespaceRow {
    std::string name;
    Partition number = 0;
    std::uint64_t id = 0;  // Of this one: another of the same name, made later, has another.
    // Its terms are above those of all that were deleted before it was made, one of the same name among
    // them. Not above those of its neighbours: a worker of one must not raise the epochs of others.
    std::uint64_t epoch_floor = 0;
    NamespaceState state = NamespaceState::kActive;
    Time created_at{};
    Quotas quotas;
    NamespaceSettings settings;

    friend bool operator==(const NamespaceRow&, const NamespaceRow&) = default;
};

// [a-z0-9][a-z0-9-]{0,62}
bool IsNamespaceName(std::string_view name);

std::string EncodeNamespace(const NamespaceRow& row);
Result<NamespaceRow> DecodeNamespace(std::string_view name, std::string_view value);

struct Directory {
    std::uint64_t version = 0;
    std::uint64_t epoch_floor = 0;  // Of a namespace that is made now.
    // By name; `default` only if it was ever changed.
    std::map<std::string, NamespaceRow, std::less<>> rows;
};
// From the settings under kDirectoryPrefix. A row that cannot be read is left out, with a line in the
// log: the others must go on.
Directory ReadDirectory(const std::vector<SettingPut>& settings);

// The setting that says so.
SettingPut SettingOf(const NamespaceRow& row);

}  // namespace takt::internal
