// The locks that a task declares: names, or objects that say how many permits.
#include <algorithm>
#include <array>

#include "api/task_own_fields.h"
#include "model/lock.h"

namespace takt::internal::task_field {
namespace {

Result<LockWant> ReadLockName(const JsonView& value, LockWant want) {
    std::string scratch;
    const std::string_view name = value.is_string() ? value.AsString(scratch) : std::string_view();
    if (!IsValidLockName(name)) {
        return BadField("locks",
                        "must be names of 1 to 128 characters of A-Z a-z 0-9 . _ ~ - that start "
                        "with a letter or digit, or objects {\"name\", \"permits\"}");
    }
    want.name = internal::Text(name);
    return want;
}

Result<LockWant> ReadWant(const JsonView& value) {
    static constexpr std::array<std::string_view, 2> kNames = {"name", "permits"};
    if (value.kind() != JsonView::Kind::kObject) return ReadLockName(value, {});
    LockWant want;
    JsonView::Members members(value);
    while (members.Next()) {
        if (members.key() == kNames[0]) {
            auto named = ReadLockName(members.value(), want);
            if (!named) return named;
            want = std::move(*named);
        } else if (members.key() == kNames[1]) {
            const auto permits =
                ReadInteger(members.value(), "locks.permits", {1, kLockPermitsMax});
            if (!permits) return std::unexpected(permits.error());
            want.permits = static_cast<std::uint32_t>(*permits);
        } else {
            return UnknownField(members.key(), kNames, "locks.");
        }
    }
    if (want.name.empty()) return BadField("locks.name", "is missing");
    return want;
}

Result<void> ReadLocks(TaskDraft& draft, const JsonView& value, std::string_view field) {
    if (value.kind() != JsonView::Kind::kArray) {
        return BadField(field,
                        "must be a list such as [\"ledger\", {\"name\": \"gpu\", "
                        "\"permits\": 2}]");
    }
    std::vector<LockWant> locks;
    JsonView::Elements elements(value);
    while (elements.Next()) {
        auto want = ReadWant(elements.value());
        if (!want) return std::unexpected(want.error());
        if (std::ranges::find(locks, want->name, &LockWant::name) != locks.end()) {
            return BadField(field, "names '" + want->name.str() + "' twice");
        }
        locks.push_back(std::move(*want));
    }
    if (locks.size() > kLocksPerTaskMax) {
        return BadField(field, "may be at most " + std::to_string(kLocksPerTaskMax));
    }
    draft.opt().locks = std::move(locks);
    return {};
}

void WriteLocks(JsonWriter& json, const std::vector<LockWant>& locks) {
    json.BeginArray();
    for (const LockWant& want : locks) {
        if (want.permits == 1) {
            json.Value(want.name.view());
        } else {
            json.BeginObject();
            json.Field("name", want.name.view()).Field("permits", want.permits).EndObject();
        }
    }
    json.EndArray();
}

}  // namespace

TaskField LocksField() {
    const std::string schema =
        R"({"type":"array","maxItems":16,"items":{"oneOf":[{"type":"string"},)"
        R"({"$ref":"#/components/schemas/LockWant"}]}})";
    TaskField field = FieldOf({.name = "locks",
                               .about = "Locks that it must have, all at once, while it runs.",
                               .flags = "lock"},
                              schema, schema, "up to 16 names, or `{name, permits}`");
    field.input = Input::kList;
    field.read = ReadLocks;
    field.clear = Reset(&TaskOptions::locks);
    field.write = Shown(&TaskOptions::locks, WriteLocks);
    return field;
}

}  // namespace takt::internal::task_field
