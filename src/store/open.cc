#include "store/open.h"

#include <array>
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

struct Scheme {
    std::string_view name;
    Opened (*open)(std::string_view url, const StoreOptions& options);
    bool remote = true;  // A server, which may be away.
};

// A server that is there answers within moments; one that does not is waited for while Takt serves.
constexpr Duration kFirstPatience{1'000};

// For backends whose server may be away, or not answer.
Opened Patiently(const Scheme& scheme, std::string_view url, const StoreOptions& options) {
    // A server that may be away has a URL of hosts.
    const Result<UrlParts> parts = SplitUrl(url);
    const std::string name =
        parts ? std::string(parts->scheme) + " " + std::string(parts->hosts) : "the store";
    auto store = std::make_unique<PatientStore>(
        name, [open = scheme.open, url = std::string(url), options] { return open(url, options); },
        options.wait_interval);
    const Result<void> first = store->AwaitFirst(kFirstPatience);
    if (!first && first.error().code != ErrorCode::kUnavailable) {
        return std::unexpected(first.error());
    }
    return store;
}

constexpr std::array kSchemes = {
    Scheme{"file", OpenFile, false},
    Scheme{"memory", OpenMemory, false},
    Scheme{"redis", OpenRedisUrl},
    Scheme{"rediss", OpenRedisUrl},
    Scheme{"redis+sentinel", OpenRedisUrl},
    Scheme{"rediss+sentinel", OpenRedisUrl},
    Scheme{"etcd", OpenEtcdUrl},
    Scheme{"mysql", [](std::string_view url, const StoreOptions&) { return OpenMysql(url); }},
};

}  // namespace

Opened OpenStore(std::string_view url, const StoreOptions& options) {
    const std::string_view name = url.substr(0, url.find(':'));
    for (const Scheme& scheme : kSchemes) {
        if (scheme.name != name || name.size() == url.size()) continue;
        if (options.wait && scheme.remote) return Patiently(scheme, url, options);
        Opened opened = scheme.open(url, options);
        if (options.wait) return opened;
        return opened ? OnlyIfItAnswers(std::move(*opened)) : std::move(opened);
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

}  // namespace takt::internal
