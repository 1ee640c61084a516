// Namespaces as JSON: what requests may say of one, what answers tell.
#pragma once

#include <optional>
#include <string>

#include "api/request_table.h"
#include "base/error.h"
#include "base/json.h"
#include "base/json_view.h"
#include "model/namespace.h"
#include "store/store.h"

namespace takt::internal {

// A namespace and who leads it, as far as this node knows.
struct ShownNamespace {
    const NamespaceRow& row;
    std::optional<LeaderRow> leader;
};
void WriteNamespace(JsonWriter& json, const ShownNamespace& shown);

// A namespace that is made or changed: what a request leaves out stays.
struct NamespaceDraft {
    NamespaceRow row;
    const RetryPolicy* retry_default = nullptr;
};
// kInvalid with the field that is wrong.
Result<NamespaceRow> ReadNewNamespace(const JsonView& object, NamespaceDraft draft);
Result<NamespaceRow> ReadNamespaceChange(const JsonView& object, NamespaceDraft draft);

}  // namespace takt::internal
