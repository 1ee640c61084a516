// The table of a resource: each of its fields once, with its name, its sentence, how a request has
// it and how an answer has it; one of the two may lack it. Requests, answers, both their schemas in
// /openapi.json and the resource's table in docs/api.md come from it.
//
//     const ResourceTable<SetQueue, QueueAnswer> table({
//         {"paused", "Nothing starts from it.", Take::Truth(&SetQueue::paused),
//          {schema::Bool(), [](JsonWriter& json, const QueueAnswer& a) { json.Value(…); }}},
//         …});
//     const auto change = ReadRequest(table.request(), object);
//     WriteFields(json, table.answer(), answer);
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/answer_table.h"
#include "api/request_table.h"

namespace takt::internal {

// How an answer has a field.
template <typename Answer>
struct Given {
    std::string schema;
    void (*write)(JsonWriter& json, const Answer& answer) = nullptr;  // Null: it does not have it.
    bool (*shown)(const Answer& answer) = nullptr;                    // Null: always.
};

template <typename Request, typename Answer>
struct ResourceField {
    std::string_view name;
    std::string_view about;
    Taken<Request> taken = {};
    Given<Answer> given = {};
};

// The table of docs/: its head, and the line of one field.
std::string PageHead();
struct PageLine {
    std::string_view name;
    std::string_view words;
    std::string_view about;
    bool taken = false;
    bool required = false;
    bool given = false;

    std::string Text() const;
};

template <typename Request, typename Answer>
class ResourceTable {
  public:
    explicit ResourceTable(const std::vector<ResourceField<Request, Answer>>& fields) {
        for (const auto& [name, about, taken, given] : fields) {
            if (taken.read) request_.push_back({name, about, taken});
            if (given.write) {
                answer_.push_back({name, given.schema, about, given.write, given.shown});
            }
            page_ += PageLine{.name = name,
                              .words = taken.words,
                              .about = about,
                              .taken = taken.read != nullptr,
                              .required = taken.required,
                              .given = given.write != nullptr}
                         .Text();
        }
    }

    const RequestTable<Request>& request() const { return request_; }
    const AnswerTable<Answer>& answer() const { return answer_; }
    const std::string& page() const { return page_; }

    // The names of the fields that requests and answers share.
    std::vector<std::string_view> SharedFields() const {
        std::vector<std::string_view> names;
        for (const auto& field : answer_) {
            if (IsTaken(field.name)) names.push_back(field.name);
        }
        return names;
    }
    // An object of those alone.
    void WriteShared(JsonWriter& json, const Answer& answer) const {
        json.BeginObject();
        WriteSharedFields(json, answer);
        json.EndObject();
    }
    // The same within an object that has others too.
    void WriteSharedFields(JsonWriter& json, const Answer& answer) const {
        for (const auto& field : answer_) {
            if (!IsTaken(field.name)) continue;
            json.Key(field.name);
            field.write(json, answer);
        }
    }

  private:
    bool IsTaken(std::string_view name) const {
        return std::ranges::find(request_, name, &RequestField<Request>::name) != request_.end();
    }

    RequestTable<Request> request_;
    AnswerTable<Answer> answer_;
    std::string page_ = PageHead();
};

}  // namespace takt::internal
