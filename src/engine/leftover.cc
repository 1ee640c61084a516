#include "engine/leftover.h"

#include <algorithm>
#include <boost/json.hpp>
#include <utility>

#include "base/json.h"
#include "engine/slot.h"

namespace takt::internal {
namespace {

std::string_view TextIn(const boost::json::value& value) {
    const auto* text = value.if_string();
    return text ? std::string_view(*text) : std::string_view();
}

const boost::json::array& ArrayAt(const boost::json::object& object, std::string_view key) {
    static const boost::json::array kNone;
    const auto* value = object.if_contains(key);
    const auto* array = value ? value->if_array() : nullptr;
    return array ? *array : kNone;
}

std::string_view TextAt(const boost::json::object& object, std::string_view key) {
    const auto* value = object.if_contains(key);
    return value ? TextIn(*value) : std::string_view();
}

std::optional<StoredLeftover::Handler> ReadHandler(const boost::json::value& value) {
    const auto* parts = value.if_array();
    if (!parts || parts->size() != 4) return std::nullopt;
    const auto token = ParseToken(TextIn((*parts)[3]));
    const auto* attempt = (*parts)[2].if_int64();
    if (!token || !attempt || *attempt < 0 || *attempt > UINT32_MAX) return std::nullopt;
    return StoredLeftover::Handler{
        .worker = WorkerId(Text(TextIn((*parts)[0]))),
        .attempt = {ExecutionId(Text(TextIn((*parts)[1]))), std::uint32_t(*attempt), *token}};
}

}  // namespace

StoppingHandler* Leftovers::Find(const AttemptRef& attempt) const {
    const auto [first, last] = stopping.equal_range(attempt.execution);
    for (auto at = first; at != last; ++at) {
        if (at->second->attempt == attempt) return at->second.get();
    }
    return nullptr;
}

std::vector<StoppingHandler*> Leftovers::Of(const Slot& slot) const {
    std::vector<StoppingHandler*> handlers;
    for (auto at = by_slot.lower_bound({slot.order, 0});
         at != by_slot.end() && at->first.first == slot.order; ++at) {
        handlers.push_back(at->second);
    }
    return handlers;
}

Leftover& Leftovers::Add(Text key, const ExecutionId& execution) {
    auto leftover = std::make_unique<Leftover>();
    leftover->key = std::move(key);
    leftover->number = ++made;
    leftover->execution = execution;
    return *all.emplace(made, std::move(leftover)).first->second;
}

void Leftovers::Join(StoppingHandler& handler, Leftover& leftover) {
    handler.leftovers.push_back(&leftover);
    leftover.handlers.emplace(handler.order, &handler);
}

void Leftovers::Remove(StoppingHandler& handler) {
    due.Remove(handler);
    if (handler.slot) by_slot.erase({handler.slot->order, handler.order});
    const auto [first, last] = stopping.equal_range(handler.attempt.execution);
    stopping.erase(std::find_if(first, last,
                                [&](const auto& entry) { return entry.second.get() == &handler; }));
}

void Leftovers::Restore(const Text& key, std::string_view value) {
    auto read = ReadLeftover(value);
    stored.emplace_back(key, read ? std::move(*read) : StoredLeftover());
}

std::string WriteLeftover(const StoredLeftover& leftover) {
    std::string text;
    JsonWriter json(text);
    json.BeginObject()
        .Field("execution", leftover.execution.view())
        .Field("since", leftover.since.time_since_epoch().count())
        .Field("turn_of", leftover.turn_of.view())
        .Field("limit", leftover.limit.view());
    json.Key("locks").BeginArray();
    for (const Text& lock : leftover.locks) json.Value(lock.view());
    json.EndArray().Key("handlers").BeginArray();
    for (const auto& [worker, attempt] : leftover.handlers) {
        json.BeginArray()
            .Value(worker.view())
            .Value(attempt.execution.view())
            .Value(attempt.attempt)
            .Value(TokenText(attempt.token))
            .EndArray();
    }
    json.EndArray().EndObject();
    return text;
}

std::optional<StoredLeftover> ReadLeftover(std::string_view value) {
    const auto parsed = ParseJson(value);
    const auto* object = parsed ? parsed->if_object() : nullptr;
    const auto* since = object ? object->if_contains("since") : nullptr;
    if (!since || !since->if_int64()) return std::nullopt;
    StoredLeftover leftover{.execution = ExecutionId(Text(TextAt(*object, "execution"))),
                            .since = Time(Duration(*since->if_int64())),
                            .turn_of = Text(TextAt(*object, "turn_of")),
                            .limit = Text(TextAt(*object, "limit")),
                            .locks = {},
                            .handlers = {}};
    for (const auto& lock : ArrayAt(*object, "locks")) leftover.locks.emplace_back(TextIn(lock));
    for (const auto& one : ArrayAt(*object, "handlers")) {
        auto handler = ReadHandler(one);
        if (!handler) return std::nullopt;
        leftover.handlers.push_back(std::move(*handler));
    }
    return leftover;
}

}  // namespace takt::internal
