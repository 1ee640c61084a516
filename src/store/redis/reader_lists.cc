// Lists of executions and tasks: pages from Redis until there are as many rows as asked for.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "model/record.h"
#include "store/list_page.h"
#include "store/matches.h"
#include "store/redis/reader.h"
#include "store/redis/rows.h"
#include "store/redis/scripts.h"

namespace takt::internal::redis {

namespace {

// One page holds Redis up for a few milliseconds: so many members are looked at, and so many bytes
// of rows sent.
constexpr std::size_t kPageMembers = 1000;
// Of several sets the members must be sorted together, which costs Lua more than looking at them.
constexpr std::size_t kPageMembersOfEach = 250;
constexpr std::size_t kPageMembersOfAll = 1250;

bool AnyStatus(const ExecutionFilter& filter, bool terminal) {
    return filter.statuses.empty() || std::ranges::any_of(filter.statuses, [&](Status status) {
               return IsTerminal(status) == terminal;
           });
}

void AddSources(const PartitionKeys& keys, const ExecutionFilter& filter, Kin kin,
                std::vector<std::string>& sources) {
    if (filter.task) return sources.push_back(keys.Task(kin, filter.task->view()));
    if (AnyStatus(filter, false)) sources.push_back(keys.Live(kin));
    if (!AnyStatus(filter, true)) return;
    if (filter.worker) return sources.push_back(keys.Worker(kin, filter.worker->view()));
    for (int i = 0; i < kStatusCount; ++i) {
        const auto status = static_cast<Status>(i);
        if (!IsTerminal(status)) continue;
        const bool wanted = filter.statuses.empty() ||
                            std::ranges::find(filter.statuses, status) != filter.statuses.end();
        if (wanted) sources.push_back(keys.History(kin, status));
    }
}

// The sorted sets that together hold every row that can match, each row once.
std::vector<std::string> SourcesOf(const PartitionKeys& keys, const ExecutionFilter& filter) {
    if (filter.parent) return {keys.Children(filter.parent->view())};
    std::vector<std::string> sources;
    AddSources(keys, filter, Kin::kOwn, sources);
    if (filter.children) AddSources(keys, filter, Kin::kChild, sources);
    return sources;
}

// Of each source, in one page.
std::size_t MembersToLookAt(std::size_t sources) {
    if (sources == 1) return kPageMembers;
    return std::min(kPageMembersOfEach, kPageMembersOfAll / sources);
}

// Whether finished members alone can match, and each of them stands in the set of its status.
bool BySet(const ExecutionFilter& filter) {
    return !filter.parent && !AnyStatus(filter, false);
}

// The sets in one of which a row must stand, where its source does not tell its status: what is rare in
// a task that runs often is found without looking at all its rows.
std::vector<std::string> SetsOfStatuses(const PartitionKeys& keys, const ExecutionFilter& filter) {
    std::vector<std::string> sets;
    if (!BySet(filter) || (!filter.task && !filter.worker)) return sets;
    for (const Status status : filter.statuses) {
        sets.push_back(keys.History(Kin::kOwn, status));
        if (filter.children) sets.push_back(keys.History(Kin::kChild, status));
    }
    return sets;
}

// Of those that only a row tells: '|failed|success|', or nothing to check.
std::string StatusesToCheck(const ExecutionFilter& filter) {
    if (filter.statuses.empty() || BySet(filter)) return {};
    std::string text = "|";
    for (const Status status : filter.statuses) text += std::string(Name(status)) + "|";
    return text;
}

template <typename Value>
std::string Exactly(const std::optional<Value>& value) {
    return value ? "=" + std::string(std::string_view(*value)) : std::string();
}

std::string UpperBound(const ExecutionFilter& filter) {
    Serial below = filter.before;
    if (filter.created_to != Time{}) {
        const Serial end = SerialAt(filter.created_to);
        below = below == 0 ? end : std::min(below, end);
        if (below == 0) return "-";  // The end is before all serials.
    }
    return below == 0 ? "+" : "(" + SerialDigits(below);
}

std::string LowerBound(const ExecutionFilter& filter) {
    const Serial from = filter.created_from == Time{} ? 0 : SerialAt(filter.created_from);
    return from == 0 ? "-" : "[" + SerialDigits(from);
}

Deadline DeadlineOf(const Client& client) {
    return std::chrono::steady_clock::now() + client.options().timeout;
}

std::unexpected<Error> TooManyToLookAt() {
    return Fail(ErrorCode::kUnavailable,
                "the filter fits too few of too many rows to find them in time; narrow it by task, "
                "status or time of creation");
}

}  // namespace

struct Reader::Listing {
    const PartitionKeys& keys;
    ExecutionFilter filter;
    Done<std::vector<Execution>> done;
    Deadline deadline;
    std::vector<std::string> sources;
    std::string upper;
    ListPage page;
};

void Reader::ListExecutions(const ExecutionFilter& filter, Done<std::vector<Execution>> done) {
    client_.Post([this, filter, done = std::move(done)]() mutable {
        const PartitionKeys& keys = keys_.Of(filter.partition);
        auto listing = std::make_shared<Listing>(
            Listing{keys, filter, std::move(done), DeadlineOf(client_), SourcesOf(keys, filter),
                    UpperBound(filter), ListPage(filter)});
        if (!filter.task || filter.parent) return ListMore(std::move(listing));
        // A one-off task is in no set of its own: its execution has its id.
        Call call{.slot = keys.slot};
        const std::string_view id = filter.task->view();
        call.commands = Resp("MGET", keys.Execution(id), keys.State(id));
        client_.Send(std::move(call), [this, listing](Result<Replies> replies) {
            if (!replies) return listing->done(std::unexpected(replies.error()));
            const ReplyView texts = replies->front().view();
            if (!texts[0].is_nil()) {
                Execution row = ReadExecution(listing->filter.task->view(), 0, texts[0], texts[1]);
                if (Matches(listing->filter, row)) listing->page.Add(std::move(row));
            }
            ListMore(listing);
        });
    });
}

void Reader::ListMore(std::shared_ptr<Listing> listing) {
    const ExecutionFilter& filter = listing->filter;
    if (listing->page.full() || listing->upper.empty() || listing->sources.empty()) {
        return listing->done(listing->page.TakeRows());
    }
    if (std::chrono::steady_clock::now() > listing->deadline) {
        return listing->done(TooManyToLookAt());
    }
    const std::string statuses = StatusesToCheck(filter);
    // Of a run's children, those of one task are found out here: as a rule all are.
    const bool of_task = filter.parent && filter.task;
    const std::vector<std::string> sets = SetsOfStatuses(listing->keys, filter);
    const bool filtered = !statuses.empty() || !sets.empty() || filter.worker || filter.type ||
                          filter.queue || of_task;
    const std::size_t rows_max = std::min(filter.limit - listing->page.rows().size(), kPageMembers);
    Call call{.slot = listing->keys.slot};
    call.script = &kList;
    for (const std::string& source : listing->sources) call.keys.Arg(source);
    call.args.Arg(listing->keys.prefix).Arg(listing->upper).Arg(LowerBound(filter));
    const std::size_t looked_at = MembersToLookAt(listing->sources.size());
    call.args.Arg(filtered ? looked_at : rows_max).Arg(rows_max).Arg(kPageBytes);
    call.args.Arg(statuses);
    call.args.Arg(filter.worker ? "=" + filter.worker->text().str() : std::string());
    call.args.Arg(Exactly(filter.type)).Arg(Exactly(filter.queue)).Arg(filter.brief ? "1" : "");
    for (const std::string& set : sets) call.args.Arg(set);
    client_.Send(std::move(call), [this, listing, of_task](Result<Replies> replies) {
        if (!replies) return listing->done(std::unexpected(replies.error()));
        const ReplyView page = replies->front().view();
        listing->upper = std::string(page[0].text());
        for (std::size_t i = 1; i < page.size() && !listing->page.full(); ++i) {
            Execution row = ReadMember(page[i]);
            if (of_task && row.task->id != *listing->filter.task) continue;
            listing->page.Add(std::move(row));
        }
        ListMore(listing);
    });
}

struct Reader::TaskListing {
    const PartitionKeys& keys;
    TaskFilter filter;
    Done<std::vector<TaskRow>> done;
    Deadline deadline;
    std::string lower;
    std::vector<TaskRow> rows;
};

void Reader::ListTasks(const TaskFilter& filter, Done<std::vector<TaskRow>> done) {
    client_.Post([this, filter, done = std::move(done)]() mutable {
        const std::string lower = filter.after.empty() ? "-" : "(" + filter.after;
        ListTasksMore(std::make_shared<TaskListing>(TaskListing{
            keys_.Of(filter.partition), filter, std::move(done), DeadlineOf(client_), lower, {}}));
    });
}

void Reader::ListTasksMore(std::shared_ptr<TaskListing> listing) {
    if (listing->rows.size() >= listing->filter.limit || listing->lower.empty()) {
        return listing->done(std::move(listing->rows));
    }
    if (std::chrono::steady_clock::now() > listing->deadline) {
        return listing->done(TooManyToLookAt());
    }
    Call call{.slot = listing->keys.slot};
    call.script = &kHashPage;
    call.keys.Arg(listing->keys.Of("task_ids")).Arg(listing->keys.Of("tasks"));
    call.args.Arg(listing->lower).Arg(kPageMembers).Arg(kPageBytes);
    client_.Send(std::move(call), [this, listing](Result<Replies> replies) {
        if (!replies) return listing->done(std::unexpected(replies.error()));
        const ReplyView page = replies->front().view();
        listing->lower = std::string(page[0].text());
        const std::string_view part = listing->filter.name_contains.view();
        for (TaskRow& row : ReadTasks(page)) {
            if (listing->rows.size() >= listing->filter.limit) break;
            if (row.task->name.view().find(part) == std::string_view::npos) continue;
            listing->rows.push_back(std::move(row));
        }
        ListTasksMore(listing);
    });
}

}  // namespace takt::internal::redis
