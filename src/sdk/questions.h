// Questions of a SchedulerApi: asked, and their answers read.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/time.h"
#include "remote/remote.h"
#include "sdk/answers.h"
#include "sdk/calls.h"

namespace takt {

// Asks, and reads the answer, which is an object.
template <typename Read>
Result<Read_t<Read>> Ask(Calls& calls, internal::HttpMethod method, const std::string& path,
                         const std::string& body, Read read) {
    return ReadAnswer(calls.Call({method, path, body}), std::move(read));
}

template <typename Read>
Result<Read_t<Read>> Get(Calls& calls, const std::string& path, Read read) {
    return Ask(calls, internal::HttpMethod::kGet, path, {}, std::move(read));
}

template <typename Read>
Result<Read_t<Read>> Post(Calls& calls, const std::string& path, const std::string& body,
                          Read read) {
    return Ask(calls, internal::HttpMethod::kPost, path, body, std::move(read));
}

template <typename Read>
Result<Read_t<Read>> PutTo(Calls& calls, const std::string& path, const std::string& body,
                           Read read) {
    return Ask(calls, internal::HttpMethod::kPut, path, body, std::move(read));
}

// All of a list that comes whole.
template <typename T, typename Read>
Result<std::vector<T>> GetList(Calls& calls, const std::string& path, Read read) {
    return Get(calls, path,
               [&](const JsonFields& fields) { return ReadList<T>(fields, "items", read); });
}

// One page of a list.
template <typename T, typename Read>
Result<Page<T>> GetPage(Calls& calls, const std::string& path, Read read) {
    return Get(calls, path, [&](const JsonFields& fields) {
        return Page<T>{ReadList<T>(fields, "items", read), fields.Text("next_cursor")};
    });
}

// The sentence of an explanation.
inline Result<std::string> AskWhy(Calls& calls, std::string_view collection, std::string_view id) {
    return Get(calls, internal::PathOf(collection, id, "explain"),
               [](const JsonFields& fields) { return fields.Text("explanation"); });
}

// {"name": "value"}, or nothing for an empty value.
inline std::string Small(std::string_view name, std::string_view value) {
    std::string body;
    if (value.empty()) return body;
    internal::JsonWriter json(body);
    json.BeginObject().Field(name, value).EndObject();
    return body;
}

inline std::string TimeText(const std::optional<Time>& time) {
    return time ? internal::FormatTime(internal::Time(time->time_since_epoch())) : std::string();
}

inline Result<void> Only(const internal::Result<std::string>& answer) {
    if (!answer) return ErrorOf(answer.error());
    return {};
}

}  // namespace takt
