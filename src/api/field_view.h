// FieldView: a field of a request without how it is read, for those who ask people for it elsewhere:
// the flags of the command line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/request_table.h"

namespace takt::internal {

struct FieldView {
    std::string_view name;
    std::string_view about;  // One sentence, or empty.
    std::string words;       // The values that it may have.
    std::string schema;      // JSON Schema of its value.
    bool required = false;
    bool clears = false;  // null is taken too.
};

template <typename Request>
std::vector<FieldView> ViewsOf(const RequestTable<Request>& fields) {
    std::vector<FieldView> views;
    for (const auto& [name, about, taken] : fields) {
        views.push_back({.name = name,
                         .about = about,
                         .words = taken.words,
                         .schema = taken.schema,
                         .required = taken.required,
                         .clears = taken.clear != nullptr});
    }
    return views;
}

// Fields of PUT /api/v1/queues/{name}, PUT /api/v1/alert-channels/{name} and POST /api/v1/tokens.
std::vector<FieldView> QueueRequestFields();
std::vector<FieldView> AlertChannelRequestFields();
std::vector<FieldView> TokenRequestFields();

}  // namespace takt::internal
