#include "store/open.h"

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "base/url.h"
#include "store/embedded/store.h"
#include "store/etcd/store.h"
#include "store/memory/store.h"
#include "store/mysql/store.h"
#include "store/patient_store.h"
#include "store/redis/store.h"
#include "store/wait.h"

namespace takt::internal {
namespace {

using Opened = Result<std::unique_ptr<Store>>;

Opened OpenFile(std::string_view url, const StoreOptions& options) {
    Result<EmbeddedOptions> parsed = ParseEmbeddedUrl(url);
    if (!parsed) return std::unexpected(parsed.error());
    parsed->cache_bytes = options.cache_bytes;
    parsed->create = options.create;
    return OpenEmbedded(*parsed);
}

Opened OpenMemory(std::string_view, const StoreOptions&) {
    return std::make_unique<MemoryStore>(std::make_shared<MemoryDatabase>());
}

Opened OpenEtcdUrl(std::string_view url, const StoreOptions&) {
    const Result<EtcdOptions> parsed = ParseEtcdUrl(url);
    if (!parsed) return std::unexpected(parsed.error());
    return OpenEtcd(*parsed);
}

Opened OpenRedisUrl(std::string_view url, const StoreOptions&) {
    const Result<redis::RedisOptions> parsed = redis::ParseRedisUrl(url);
    if (!parsed) return std::unexpected(parsed.error());
    return OpenRedis(*parsed);
}

Opened OnlyIfItAnswers(std::unique_ptr<Store> store) {
    const auto answer =
        AskStore<std::vector<NodeRow>>([&](auto done) { store->Nodes(std::move(done)); });
    if (!answer) return std::unexpected(answer.error());
    return store;
}

// --- Snapshots ----------------------------------------------------------------------------------

using Taken = Result<std::unique_ptr<StoreSnapshot>>;

Taken TakeFile(std::string_view url, const SnapshotOptions& options) {
    const Result<EmbeddedOptions> parsed = ParseEmbeddedUrl(url);
    if (!parsed) return std::unexpected(parsed.error());
    return SnapshotEmbedded(*parsed, options.scratch);
}

Taken TakeRedis(std::string_view url, const SnapshotOptions& options) {
    const Result<redis::RedisOptions> parsed = redis::ParseRedisUrl(url);
    if (!parsed) return std::unexpected(parsed.error());
    return SnapshotRedis(*parsed, options.pause_max);
}

// Of a store whose reads are all of the moment of the first: that is now.
Taken Pinned(Opened store) {
    if (!store) return std::unexpected(store.error());
    const auto first = AskStore<std::vector<SettingPut>>(
        [&](auto done) { (*store)->ListSettings(kDefaultPartition, "", std::move(done)); });
    if (!first) return std::unexpected(first.error());
    return std::make_unique<OwnedSnapshot>(std::move(*store));
}

Taken TakeMysql(std::string_view url, const SnapshotOptions&) {
    Result<MysqlOptions> parsed = ParseMysqlUrl(url);
    if (!parsed) return std::unexpected(parsed.error());
    parsed->pinned = true;
    parsed->readers = 1;
    return Pinned(OpenMysql(*parsed));
}

Taken TakeEtcd(std::string_view url, const SnapshotOptions&) {
    Result<EtcdOptions> parsed = ParseEtcdUrl(url);
    if (!parsed) return std::unexpected(parsed.error());
    parsed->pinned = true;
    return Pinned(OpenEtcd(*parsed));
}

Taken TakeMemory(std::string_view, const SnapshotOptions&) {
    return Fail(ErrorCode::kInvalid, "memory: holds nothing beyond its process", "store");
}

struct Scheme {
    std::string_view name;
    Opened (*open)(std::string_view url, const StoreOptions& options);
    Taken (*take)(std::string_view url, const SnapshotOptions& options);
    bool remote = true;  // A server, which may be away.
};

// A server that is there answers within moments; one that does not is waited for while Takt serves.
constexpr Duration kFirstPatience{1'000};

// For backends whose server may be away, or not answer, and for a disk without room.
Opened Patiently(const Scheme& scheme, std::string_view url, const StoreOptions& options) {
    // A server that may be away has a URL of hosts.
    const Result<UrlParts> parts = SplitUrl(url);
    const Result<EmbeddedOptions> file = ParseEmbeddedUrl(url);
    const std::string name = file    ? "embedded " + file->directory
                             : parts ? std::string(parts->scheme) + " " + std::string(parts->hosts)
                                     : "the store";
    auto store = std::make_unique<PatientStore>(
        name, [open = scheme.open, url = std::string(url), options] { return open(url, options); },
        options.wait_interval);
    const Result<void> first = store->AwaitFirst(kFirstPatience);
    if (!first && first.error().code != ErrorCode::kUnavailable) {
        return std::unexpected(first.error());
    }
    return store;
}

// While a file is waited for somebody may move it to a disk with more room: an empty one in its place
// would take new work.
StoreOptions AsItIs(std::string_view url, StoreOptions options) {
    const Result<EmbeddedOptions> file = ParseEmbeddedUrl(url);
    std::error_code unreadable;
    options.create = !file || !std::filesystem::exists(file->directory + "/takt.db", unreadable);
    return options;
}

constexpr std::array kSchemes = {
    Scheme{"file", OpenFile, TakeFile, false},
    Scheme{"memory", OpenMemory, TakeMemory, false},
    Scheme{"redis", OpenRedisUrl, TakeRedis},
    Scheme{"rediss", OpenRedisUrl, TakeRedis},
    Scheme{"redis+sentinel", OpenRedisUrl, TakeRedis},
    Scheme{"rediss+sentinel", OpenRedisUrl, TakeRedis},
    Scheme{"etcd", OpenEtcdUrl, TakeEtcd},
    Scheme{"mysql", [](std::string_view url, const StoreOptions&) { return OpenMysql(url); },
           TakeMysql},
};

Result<const Scheme*> FindScheme(std::string_view url) {
    const std::string_view name = url.substr(0, url.find(':'));
    for (const Scheme& scheme : kSchemes) {
        if (scheme.name == name && name.size() != url.size()) return &scheme;
    }
    std::string known;
    for (const Scheme& scheme : kSchemes) {
        known += (known.empty() ? "" : ", ") + std::string(scheme.name) + ":";
    }
    // Only the scheme: the rest may hold a password.
    return Fail(
        ErrorCode::kInvalid,
        "'" + std::string(name.substr(0, 20)) + "' names no kind of store; known are " + known,
        "store");
}

}  // namespace

Opened OpenStore(std::string_view url, const StoreOptions& options) {
    const auto scheme = FindScheme(url);
    if (!scheme) return std::unexpected(scheme.error());
    if (options.wait && (*scheme)->remote) return Patiently(**scheme, url, options);
    Opened opened = (*scheme)->open(url, options);
    // Of what is on this machine the disk may be full; the rest of its faults need an operator.
    if (options.wait && !opened && opened.error().code == ErrorCode::kUnavailable) {
        return Patiently(**scheme, url, AsItIs(url, options));
    }
    if (options.wait) return opened;
    return opened ? OnlyIfItAnswers(std::move(*opened)) : std::move(opened);
}

Taken OpenSnapshot(std::string_view url, const SnapshotOptions& options) {
    const auto scheme = FindScheme(url);
    if (!scheme) return std::unexpected(scheme.error());
    return (*scheme)->take(url, options);
}

Result<std::vector<std::string>> FindDamage(std::string_view url) {
    const auto scheme = FindScheme(url);
    if (!scheme) return std::unexpected(scheme.error());
    if ((*scheme)->open != OpenFile) return std::vector<std::string>();
    const Result<EmbeddedOptions> parsed = ParseEmbeddedUrl(url);
    if (!parsed) return std::unexpected(parsed.error());
    return DamageOfEmbedded(*parsed);
}

Result<Salvaged> SalvageStore(std::string_view url) {
    const Result<EmbeddedOptions> parsed = ParseEmbeddedUrl(url);
    if (!parsed) return std::unexpected(parsed.error());
    return SalvageEmbedded(*parsed);
}

}  // namespace takt::internal
