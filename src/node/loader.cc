#include "node/loader.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "store/unfinished_copy.h"

namespace takt::internal {
namespace {

constexpr Duration kLoadRetry{200};

bool HasUnfinishedCopy(const LoadPage& page) {
    return std::ranges::any_of(
        page.settings, [](const SettingPut& setting) { return setting.key == kUnfinishedCopyKey; });
}

}  // namespace

Loader::Loader(Runtime& runtime, Store& store, Partition partition, Duration give_up_after,
               std::unique_ptr<Engine> engine, Events events)
    : store_(store),
      partition_(partition),
      give_up_after_(give_up_after),
      events_(std::move(events)),
      engine_(std::move(engine)),
      home_(runtime) {}

Flow<> Loader::LoadPages() {
    std::string cursor;
    Steady since = home_.runtime().Now().steady;  // When it got on last.
    // The owner that is told that it is over lets go of the loader: the functions are copied
    // before.
    for (;;) {
        auto page = co_await home_.Wait<Result<LoadPage>>(
            [&](auto done) { store_.Load(partition_, cursor, std::move(done)); });
        const Steady now = home_.runtime().Now().steady;
        if (page && HasUnfinishedCopy(*page)) {
            const auto on_stuck = events_.on_stuck;
            co_return on_stuck(UnfinishedCopy(store_.Describe()).detail);
        }
        if (page) {
            since = now;
            Restore(*page);
            if (page->next.empty()) break;
            cursor = std::move(page->next);
            continue;
        }
        if (now - since >= give_up_after_) {
            const auto on_stuck = events_.on_stuck;
            co_return on_stuck("what is stored cannot be loaded: " + page.error().detail);
        }
        Log(LogLevel::kWarning, "node", "cannot load, trying again",
            {{"error", page.error().detail}});
        co_await home_.Sleep(kLoadRetry);
    }
    const auto on_loaded = events_.on_loaded;
    on_loaded(std::move(engine_), last_serial_);
}

void Loader::Restore(LoadPage& page) {
    for (const SettingPut& setting : page.settings) {
        engine_->RestoreSetting(setting.key, setting.value);
    }
    for (Worker& worker : page.workers) engine_->RestoreWorker(std::move(worker));
    for (TaskRow& task : page.tasks) engine_->RestoreTask(std::move(task));
    for (const RecordPut& record : page.records) engine_->RestoreRecord(record);
    for (Execution& execution : page.executions) engine_->RestoreExecution(std::move(execution));
    last_serial_ = std::max(last_serial_, page.last_serial);
}

}  // namespace takt::internal
