// takt store: what is in a store, whether it is whole, and how to move, keep and shrink it. Works on
// the store itself, without a scheduler.
#include <algorithm>
#include <cstdio>
#include <iostream>

#include "archive/store_purge.h"
#include "archive/store_stats.h"
#include "archive/transfer.h"
#include "base/json.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/formats.h"
#include "cli/given_store.h"
#include "cli/moment_flag.h"
#include "cli/output.h"
#include "cli/room_forecast.h"
#include "cli/store_faults.h"
#include "cli/store_view.h"
#include "store/open.h"
#include "store/wait.h"

namespace takt::internal::cli {
namespace {

struct StoreCommand {
    std::string store;  // --store, for those who would rather name it.
    std::string first;  // The arguments, in the order that the part gives them.
    std::string second;
    std::string before;
    std::string pause_max;
    bool json = false;
    bool yes = false;
};

// A leader whose commits are held back for as long as its lease lasts gives up the lead.
constexpr Duration kPauseMax{60'000};

// Whether a scheduler is at work on it.
Result<bool> IsLed(Store& store) {
    const auto leaders =
        AskStore<std::vector<LeaderRow>>([&](auto done) { store.Leaders(std::move(done)); });
    if (!leaders) return std::unexpected(leaders.error());
    return std::ranges::any_of(*leaders, &LeaderRow::leads);
}

Result<int> ShowTransferred(const Result<Transferred>& done, const StoreCommand& given,
                            const char* what) {
    if (!done) return std::unexpected(done.error());
    if (given.json) {
        std::string text;
        JsonWriter json(text);
        json.BeginObject().Field("partitions", std::uint64_t(done->partitions));
        json.Field("resumed", done->resumed).Field("undecodable", done->undecodable);
        json.Field("file_bytes", done->file_bytes).Key("rows");
        WriteTally(json, done->rows);
        json.EndObject();
        std::printf("%s\n", text.c_str());
    } else {
        PrintTally(done->rows);
        std::printf("%s: %llu rows of %zu namespaces", what,
                    static_cast<unsigned long long>(done->rows.sum().rows), done->partitions);
        if (done->file_bytes > 0)
            std::printf(", %s in the file", BytesText(done->file_bytes).c_str());
        if (done->resumed > 0) {
            std::printf(", %llu of them were there from a copy that was cut off",
                        static_cast<unsigned long long>(done->resumed));
        }
        std::printf("\n");
    }
    if (done->undecodable == 0) return kOk;
    std::fprintf(
        stderr,
        "takt: %llu executions could not be read and are kept as unreadable; takt store check "
        "names them\n",
        static_cast<unsigned long long>(done->undecodable));
    return kFailed;
}

Result<int> RunCopy(const StoreCommand& given) {
    const auto from = OpenExisting(given.first);
    if (!from) return std::unexpected(from.error());
    const auto to = OpenGiven(given.second);
    if (!to) return std::unexpected(to.error());
    ProgressLine progress("copying");
    return ShowTransferred(CopyStore(**from, **to, progress.Show()), given, "copied");
}

// The state of one moment, while schedulers go on.
Result<Transferred> BackUpOnline(const StoreCommand& given, const std::string& url,
                                 const TransferProgress& progress) {
    SnapshotOptions options{.scratch = given.first + ".snapshot"};
    if (!given.pause_max.empty()) {
        const auto pause = ParseDuration(given.pause_max);
        if (!pause || *pause < Duration(10) || *pause > kPauseMax) {
            return Fail(ErrorCode::kInvalid, "--pause-max must be between 10ms and 1m");
        }
        if (!url.starts_with("redis")) {
            return Fail(ErrorCode::kInvalid, "--pause-max is for Redis: no other store is paused");
        }
        options.pause_max = *pause;
    }
    const auto snapshot = OpenSnapshot(url, options);
    if (!snapshot) return std::unexpected(snapshot.error());
    return BackUp(**snapshot, given.first, progress);
}

Result<int> RunBackup(const StoreCommand& given) {
    const auto url = ExistingUrl(given.store);
    if (!url) return std::unexpected(url.error());
    ProgressLine progress("writing");
    const auto from = OpenStore(*url);
    auto led = from ? IsLed(**from) : Result<bool>(std::unexpected(from.error()));
    // A scheduler has the directory.
    if (!led && led.error().code == ErrorCode::kConflict) led = true;
    if (!led) return std::unexpected(led.error());
    if (*led) {
        return ShowTransferred(BackUpOnline(given, *url, progress.Show()), given,
                               "written, as it was at one moment");
    }
    return ShowTransferred(BackUp(**from, given.first, progress.Show()), given, "written");
}

Result<int> RunRestore(const StoreCommand& given) {
    const auto archive = CheckBackup(given.first);
    if (!archive) return std::unexpected(archive.error());
    const auto to = OpenGiven(given.store);
    if (!to) return std::unexpected(to.error());
    ProgressLine progress("restoring");
    return ShowTransferred(Restore(*archive, **to, progress.Show()), given, "restored");
}

std::string JsonOf(const StoreStats& stats) {
    std::string text;
    JsonWriter json(text);
    json.BeginObject().Field("at", stats.at).Key("namespaces").BeginArray();
    for (const PartitionStats& part : stats.partitions) {
        json.BeginObject();
        json.Field("name", std::string_view(part.name));
        json.Field("number", std::uint64_t(part.partition)).Field("runs", part.runs);
        json.Field("oldest_finished_at", part.oldest_finished);
        json.Field("newest_finished_at", part.newest_finished);
        json.Key("finished_by_day").BeginArray();
        for (const Tally::Part& day : part.days) {
            json.BeginObject().Field("rows", day.rows).Field("bytes", day.bytes).EndObject();
        }
        json.EndArray().Key("rows");
        WriteTally(json, part.rows);
        json.EndObject();
    }
    json.EndArray().EndObject();
    return text;
}

Result<int> RunStats(const StoreCommand& given) {
    const auto store = OpenExisting(given.store);
    if (!store) return std::unexpected(store.error());
    ProgressLine progress("reading");
    const auto stats = ReadStats(**store, ReadClocks().wall, progress.Show());
    if (!stats) return std::unexpected(stats.error());
    if (given.json) {
        std::printf("%s\n", JsonOf(*stats).c_str());
        return kOk;
    }
    Table table({"NAMESPACE", "ROWS", "SIZE", "LIVE", "FINISHED", "TASKS", "LOGS", "OLDEST",
                 "PER DAY", "GROWTH PER DAY"},
                {"EVENTS", "AUDIT", "SETTINGS", "RECORDS", "WORKERS"});
    for (const PartitionStats& part : stats->partitions) {
        const auto daily = part.Daily(stats->at);
        const auto rows = [&](RowKind kind) { return std::to_string(part.rows.of(kind).rows); };
        table.Add(
            {part.name.empty() ? "#" + std::to_string(part.partition) : part.name,
             std::to_string(part.rows.sum().rows), BytesText(part.rows.sum().bytes),
             rows(RowKind::kLive), rows(RowKind::kHistory), rows(RowKind::kTask),
             rows(RowKind::kLog),
             part.oldest_finished == Time{} ? "-" : ShortTime(FormatTime(part.oldest_finished)),
             daily ? std::to_string(daily->rows) : "-", daily ? BytesText(daily->bytes) : "-"},
            {rows(RowKind::kEvent), rows(RowKind::kAudit), rows(RowKind::kSetting),
             rows(RowKind::kRecord), rows(RowKind::kWorker)});
    }
    table.Print();
    return kOk;
}

Result<int> RunCheck(const StoreCommand& given) {
    const auto url = ExistingUrl(given.store);
    if (!url) return std::unexpected(url.error());
    return CheckGiven(*url, given.json);
}

Result<int> RunRepair(const StoreCommand& given) {
    const auto url = ExistingUrl(given.store);
    if (!url) return std::unexpected(url.error());
    return RepairGiven(*url, given.yes);
}

Result<int> RunPurge(const StoreCommand& given) {
    const auto store = OpenExisting(given.store);
    if (!store) return std::unexpected(store.error());
    if (!given.yes) {
        return Fail(ErrorCode::kInvalid, "what finished before " + given.before +
                                             " would be gone for good; say --yes if that is meant");
    }
    const auto purged = PurgeStore(**store, *ParseTime(given.before));
    if (!purged) return std::unexpected(purged.error());
    std::printf(given.json ? "{\"executions\":%llu}\n" : "%llu executions deleted\n",
                static_cast<unsigned long long>(purged->executions));
    return kOk;
}

using StoreBody = Result<int> (*)(const StoreCommand&);

}  // namespace

void AddStore(CLI::App& app, Context& context) {
    auto given = std::make_shared<StoreCommand>();
    CLI::App* store = app.add_subcommand(
        "store", "Looks into a store, checks, copies, keeps and shrinks it, without a scheduler");
    store->require_subcommand(1);
    const auto add = [&](const char* name, const char* help, StoreBody body) {
        CLI::App* part = store->add_subcommand(name, help);
        part->add_flag("--json", given->json, "As JSON");
        RegisterFormats(*part, given->json);
        part->callback([given, &context, body] {
            // Its answer tells what there is; that a server answers is a scheduler's news.
            SetLogLevel(LogLevel::kWarning);
            const auto done = body(*given);
            if (!done) PrintError(done.error());
            context.exit = done ? *done : ExitOf(done.error());
        });
        return part;
    };
    // The store as a flag or, where there is nothing else to name, as the argument.
    const auto add_store = [&](CLI::App* part, bool argument) {
        part->add_option(argument ? "--store,url" : "--store", given->store,
                         "Its URL, file:./takt-data or redis://…; - reads it from standard input");
    };
    add_store(add("stats", "Rows, bytes, age and growth by namespace", RunStats), true);
    add_store(add("check", "Reads everything and says what contradicts itself", RunCheck), true);
    CLI::App* repair =
        add("repair", "Says what check can mend, and with --yes mends it", RunRepair);
    add_store(repair, true);
    repair->add_flag("--yes", given->yes, "Do it");
    CLI::App* backup = add("backup", "Writes all of it into one file", RunBackup);
    add_store(backup, false);
    backup->add_option("file", given->first, "File to write")->required();
    backup->add_option("--pause-max", given->pause_max,
                       "Redis beside schedulers: how long commits may be held back [5s]");
    CLI::App* restore = add("restore", "Makes an empty store from such a file", RunRestore);
    add_store(restore, false);
    restore->add_option("file", given->first, "File of a backup")->required();
    CLI::App* copy = add("copy", "Copies all of a store into an empty one of any kind", RunCopy);
    copy->add_option("from", given->first, "URL")->required();
    copy->add_option("to", given->second, "URL")->required();
    CLI::App* purge = add("purge", "Deletes what finished before a time", RunPurge);
    add_store(purge, true);
    AddMoment(*purge, "--before", given->before, "2026-11-01T00:00:00Z, or an age: 30d")
        ->required();
    purge->add_flag("--yes", given->yes, "That is meant");
    store->footer(
        "No scheduler may use the store meanwhile, but for backup, and stats and check of a "
        "server's.\n"
        "examples:\n"
        "  takt store stats file:./takt-data\n"
        "  takt store backup takt.archive --store file:./takt-data\n"
        "  takt store restore takt.archive --store redis://127.0.0.1:6379\n"
        "  takt store copy file:./takt-data redis://127.0.0.1:6379\n"
        "  takt store purge redis://127.0.0.1:6379 --before 30d --yes\n");
}

}  // namespace takt::internal::cli
