// Opening: is the server there, new enough, ours to use, and set up to keep what it is given?
#include <fmt/format.h>

#include <charconv>
#include <future>
#include <utility>

#include "base/log.h"
#include "store/redis/redis_store.h"
#include "store/redis/scripts.h"

namespace takt::internal {

using redis::Call;
using redis::Replies;

namespace {

constexpr int kVersionMin = 6;

// The value of "name:value" among the lines of INFO.
std::string_view InfoOf(std::string_view info, std::string_view name) {
    const std::string start = "\n" + std::string(name) + ":";
    const std::size_t at = info.find(start);
    if (at == std::string_view::npos) return {};
    const std::string_view rest = info.substr(at + start.size());
    return rest.substr(0, rest.find_first_of("\r\n"));
}

}  // namespace

Result<std::unique_ptr<RedisStore>> RedisStore::Open(std::string_view url) {
    const Result<redis::RedisOptions> options = redis::ParseRedisUrl(url);
    if (!options) return std::unexpected(options.error());
    Result<std::unique_ptr<redis::Client>> client = redis::Client::Make(*options);
    if (!client) return std::unexpected(client.error());
    std::unique_ptr<RedisStore> store(new RedisStore(std::move(*client)));
    if (Result<void> checked = store->Check(); !checked) {
        Error error = checked.error();
        // Who is turned away at the door is told so at once; later it may be a passing mistake.
        if (error.field == "store") error.code = ErrorCode::kInvalid;
        return std::unexpected(std::move(error));
    }
    for (const std::string& warning : store->warnings_) {
        Log(LogLevel::kWarning, "store", warning, {{"store", store->Describe()}});
    }
    return store;
}

Result<Replies> RedisStore::Ask(Call call) {
    std::promise<Result<Replies>> promise;
    auto answer = promise.get_future();
    client_->Post([&] {
        client_->Send(std::move(call),
                      [&](Result<Replies> replies) { promise.set_value(std::move(replies)); });
    });
    return answer.get();
}

Result<void> RedisStore::Check() {
    const Result<std::string> info = Info();
    if (!info) return std::unexpected(info.error());
    const std::string_view version = InfoOf(*info, "redis_version");
    int major = 0;
    std::from_chars(version.data(), version.data() + version.size(), major);
    if (major < kVersionMin) {
        return Fail(
            ErrorCode::kInvalid,
            fmt::format("the server is Redis {}; Takt needs {} or later", version, kVersionMin),
            "store");
    }
    if (Result<void> kept = CheckEviction(*info); !kept) return kept;
    CheckPersistence(*info);

    if (Result<void> known = CheckStoredLayout(); !known) return known;

    const Keys& keys = KeysOf(0);
    Call call{.lane = redis::Lane::kCommit, .slot = keys.slot};
    call.script = &redis::kProbe;
    const std::string mark = fmt::format("probe:{:016x}:", random_.Next());
    for (const char* name : {"hash", "sorted", "set", "stream", "text"}) {
        call.keys.Arg(keys.Of(mark + name));
    }
    const Result<Replies> probed = Ask(std::move(call));
    if (probed) return {};
    Error error = probed.error();
    // As the versions spell it, for a command and for a key.
    const auto says = [&](std::string_view words) {
        return error.detail.find(words) != std::string::npos;
    };
    const bool denied = says("NOPERM") || says("can't run this command") || says("can't access") ||
                        says("No permissions");
    if (denied) {
        error.detail += fmt::format(
            "; the user needs the rights ~{0}* ~{{{1}:*}}:* &{{{1}:*}}:* "
            "+@all -@dangerous +info +role",
            global_.prefix, client_->options().name_space);
        error.field = "store";
    }
    return std::unexpected(std::move(error));
}

Result<void> RedisStore::CheckStoredLayout() {
    Call call{.lane = redis::Lane::kLease, .slot = global_.slot};
    call.commands = redis::Resp("HGET", global_.prefix + "meta", "layout");
    const Result<Replies> replies = Ask(std::move(call));
    // Who may not read it is told so by the probe, with the rights that are missing.
    if (!replies) return {};
    return redis::CheckLayout(replies->front().view().text());
}

Result<std::string> RedisStore::Info() {
    Call call{.lane = redis::Lane::kLease, .slot = KeysOf(0).slot};
    call.commands = redis::Resp("INFO");
    const Result<Replies> replies = Ask(std::move(call));
    if (!replies) return std::unexpected(replies.error());
    return "\n" + std::string(replies->front().view().text());
}

Result<void> RedisStore::CheckEviction(const std::string& info) {
    const std::string_view policy = InfoOf(info, "maxmemory_policy");
    if (policy.empty() || policy == "noeviction") return {};
    const std::string what = fmt::format(
        "Redis throws keys away when it is full (maxmemory-policy {}), tasks among them", policy);
    if (!client_->options().unsafe) {
        return Fail(ErrorCode::kInvalid,
                    what +
                        "; run CONFIG SET maxmemory-policy noeviction and put it into "
                        "redis.conf, or add ?unsafe=1 to the store URL to accept the loss",
                    "store");
    }
    warnings_.push_back(what);
    return {};
}

void RedisStore::CheckPersistence(const std::string& info) {
    const auto setting = [&](std::string_view name) -> std::optional<std::string> {
        Call call{.lane = redis::Lane::kLease, .slot = KeysOf(0).slot};
        call.commands = redis::Resp("CONFIG", "GET", name);
        const Result<Replies> replies = Ask(std::move(call));
        // Managed services and ACL users may not look; INFO has told the rest.
        if (!replies || replies->front().view().size() < 2) return std::nullopt;
        return std::string(replies->front().view()[1].text());
    };
    if (InfoOf(info, "aof_enabled") == "1") {
        if (setting("appendfsync") == "no") {
            warnings_.push_back(
                "Redis leaves it to the operating system when its log reaches the disk "
                "(appendfsync "
                "no): a power cut may lose half a minute; set appendfsync everysec or always");
        }
        return;
    }
    if (setting("save") == "") {
        warnings_.push_back(
            "Redis keeps nothing on disk (appendonly no, save \"\"): a restart loses all tasks; "
            "set "
            "appendonly yes");
    } else {
        warnings_.push_back(
            "Redis writes snapshots only (appendonly no): a crash loses everything since the last "
            "one, up to an hour by default; set appendonly yes");
    }
}

}  // namespace takt::internal
