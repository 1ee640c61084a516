// Load: what a new leader needs, page by page.
#include <utility>

#include "store/redis/reader.h"
#include "store/redis/rows.h"
#include "store/redis/scripts.h"

namespace takt::internal::redis {

namespace {

// As one list page, a page holds Redis up for a few milliseconds; a million live executions are a
// thousand pages.
constexpr std::size_t kPageRows = 1000;

}  // namespace

// Cursors are where the next page begins: "t[id" among the tasks, "r[id" among the records,
// "x[member" among the executions.
struct Reader::Loading {
    const PartitionKeys& keys;
    Done<LoadPage> done;
    LoadPage page;
};

void Reader::Load(Partition partition, const std::string& cursor, Done<LoadPage> done) {
    client_.Post([this, partition, cursor, done = std::move(done)]() mutable {
        auto loading = std::make_shared<Loading>(Loading{keys_.Of(partition), std::move(done), {}});
        if (cursor.starts_with("t[")) return LoadTasks(std::move(loading), cursor.substr(1));
        if (cursor.starts_with("r[")) return LoadRecords(std::move(loading), cursor.substr(1));
        if (cursor.starts_with("x[")) {
            return LoadExecutions(std::move(loading), cursor.substr(1), kPageRows);
        }
        if (!cursor.empty()) {
            return loading->done(Fail(ErrorCode::kInvalid, "not a cursor of Load", "cursor"));
        }
        LoadSettings(std::move(loading));
    });
}

void Reader::LoadSettings(std::shared_ptr<Loading> loading) {
    Call call{.slot = loading->keys.slot, .script = &kSettings};
    call.keys.Arg(loading->keys.Of("settings")).Arg(loading->keys.Of("setting_groups"));
    call.args.Arg(loading->keys.prefix).Arg("");
    client_.Send(std::move(call), [this, loading](Result<Replies> replies) {
        if (!replies) return loading->done(std::unexpected(replies.error()));
        loading->page.settings = ReadSettings(replies->front().view());
        Call workers{.slot = loading->keys.slot};
        workers.commands = Resp("HGETALL", loading->keys.Of("workers"));
        client_.Send(std::move(workers), [this, loading](Result<Replies> rows) {
            if (!rows) return loading->done(std::unexpected(rows.error()));
            loading->page.workers = ReadWorkers(rows->front().view());
            LoadTasks(loading, "-");
        });
    });
}

void Reader::LoadTasks(std::shared_ptr<Loading> loading, const std::string& from) {
    Call call{.slot = loading->keys.slot};
    call.script = &kHashPage;
    call.keys.Arg(loading->keys.Of("task_ids")).Arg(loading->keys.Of("tasks"));
    call.args.Arg(from).Arg(kPageRows).Arg(kPageBytes);
    client_.Send(std::move(call), [this, loading](Result<Replies> replies) {
        if (!replies) return loading->done(std::unexpected(replies.error()));
        const ReplyView page = replies->front().view();
        loading->page.tasks = ReadTasks(page);
        const std::string next(page[0].text());
        if (next.empty()) return LoadRecords(loading, "-");
        loading->page.next = "t" + next;
        LoadExecutions(loading, "-", 0);  // For the last serial.
    });
}

void Reader::LoadRecords(std::shared_ptr<Loading> loading, const std::string& from) {
    Call call{.slot = loading->keys.slot};
    call.script = &kHashPage;
    call.keys.Arg(loading->keys.Of("record_ids")).Arg(loading->keys.Of("records"));
    call.args.Arg(from).Arg(kPageRows).Arg(kPageBytes);
    client_.Send(std::move(call), [this, loading](Result<Replies> replies) {
        if (!replies) return loading->done(std::unexpected(replies.error()));
        const ReplyView page = replies->front().view();
        loading->page.records = ReadRecords(page);
        const std::string next(page[0].text());
        if (!next.empty()) loading->page.next = "r" + next;
        // Also for a page without executions: it brings the last serial.
        LoadExecutions(loading, "-", next.empty() ? kPageRows : 0);
    });
}

void Reader::LoadExecutions(std::shared_ptr<Loading> loading, const std::string& from,
                            std::size_t rows_max) {
    Call call{.slot = loading->keys.slot};
    call.script = &kLoad;
    call.keys.Arg(loading->keys.Of("fence"));
    call.keys.Arg(loading->keys.Live(Kin::kOwn)).Arg(loading->keys.Live(Kin::kChild));
    call.args.Arg(from).Arg(rows_max).Arg(kPageBytes).Arg(loading->keys.prefix);
    client_.Send(std::move(call), [loading](Result<Replies> replies) {
        if (!replies) return loading->done(std::unexpected(replies.error()));
        const ReplyView page = replies->front().view();
        loading->page.last_serial = page[0].number().value_or(0);
        for (std::size_t i = 2; i < page.size(); ++i) {
            loading->page.executions.push_back(ReadMember(page[i]));
        }
        const std::string next(page[1].text());
        if (loading->page.next.empty() && !next.empty()) loading->page.next = "x" + next;
        loading->done(std::move(loading->page));
    });
}

}  // namespace takt::internal::redis
