#include "store/redis/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/number.h"
#include "store/redis/scripts.h"

namespace takt::internal::redis {
namespace {

constexpr int kVersionMin = 6;
// While there is room, and while there is none and whoever submits waits for some.
constexpr Duration kLookEvery{10'000};
constexpr Duration kLookEveryFull{1'000};
// Of maxmemory. The lower one keeps a server that hovers about the mark from filling the log.
constexpr double kWarnAbove = 0.8;
constexpr double kCalmBelow = 0.7;

// The value of "name:value" among the lines of INFO.
std::string_view InfoOf(std::string_view info, std::string_view name) {
    const std::string start = "\n" + std::string(name) + ":";
    const std::size_t at = info.find(start);
    if (at == std::string_view::npos) return {};
    const std::string_view rest = info.substr(at + start.size());
    return rest.substr(0, rest.find_first_of("\r\n"));
}

std::string Megabytes(std::uint64_t bytes) {
    return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

}  // namespace

struct ServerCheck::Checking {
    Done<void> done;
};

ServerCheck::ServerCheck(Client& client, Keyring& keys, const Schema& schema)
    : client_(client), keys_(keys), schema_(schema), random_(NewRandomSeed()) {}

void ServerCheck::Ensure(Done<void> done) {
    if (checked_) return done({});
    warnings_.clear();
    ReadInfo(std::make_shared<Checking>(Checking{std::move(done)}));
}

void ServerCheck::Finish(const CheckingPtr& checking, Result<void> result) {
    if (!result) {
        // A user who is turned away at the door is told so; waiting does not change it.
        if (result.error().field == "store") result.error().code = ErrorCode::kInvalid;
        return checking->done(std::move(result));
    }
    // Two candidates of one process may have looked at the same time.
    if (!std::exchange(checked_, true)) {
        for (const std::string& warning : warnings_) {
            Log(LogLevel::kWarning, "store", warning, {{"store", Describe(client_.options())}});
        }
    }
    checking->done({});
}

void ServerCheck::ReadInfo(CheckingPtr checking) {
    Call call{.lane = Lane::kLease, .slot = keys_.Of(0).slot};
    call.commands = Resp("INFO");
    client_.Send(std::move(call), [this, checking](Result<Replies> replies) {
        if (!replies) return Finish(checking, std::unexpected(replies.error()));
        const std::string info = "\n" + std::string(replies->front().view().text());
        if (Result<void> fit = CheckInfo(info); !fit) return Finish(checking, std::move(fit));
        OnMemory(info);
        CheckPersistence(checking, info);
    });
}

Result<void> ServerCheck::CheckInfo(const std::string& info) {
    const std::string_view version = InfoOf(info, "redis_version");
    int major = 0;
    std::from_chars(version.data(), version.data() + version.size(), major);
    if (major < kVersionMin) {
        return Fail(
            ErrorCode::kInvalid,
            fmt::format("the server is Redis {}; Takt needs {} or later", version, kVersionMin),
            "store");
    }
    return CheckEviction(info);
}

Result<void> ServerCheck::CheckEviction(const std::string& info) {
    const std::string_view policy = InfoOf(info, "maxmemory_policy");
    if (policy.empty() || policy == "noeviction") return {};
    // Of our keys only leases and announcements expire, and both are written again in a moment.
    if (policy.starts_with("volatile-")) {
        warnings_.push_back(fmt::format(
            "Redis may throw away leases when it is full (maxmemory-policy {}): no task is lost, "
            "but the lead may change; noeviction avoids it",
            policy));
        return {};
    }
    const std::string what = fmt::format(
        "Redis throws keys away when it is full (maxmemory-policy {}), tasks among them", policy);
    if (!client_.options().unsafe) {
        return Fail(ErrorCode::kInvalid,
                    what +
                        "; run CONFIG SET maxmemory-policy noeviction and put it into "
                        "redis.conf, or add ?unsafe=1 to the store URL to accept the loss",
                    "store");
    }
    warnings_.push_back(what);
    return {};
}

void ServerCheck::ReadSetting(std::string name, std::function<void(std::string value)> then) {
    Call call{.lane = Lane::kLease, .slot = keys_.Of(0).slot};
    call.commands = Resp("CONFIG", "GET", name);
    client_.Send(std::move(call), [then = std::move(then)](Result<Replies> replies) {
        const bool told = replies && replies->front().view().size() == 2;
        then(told ? std::string(replies->front().view()[1].text()) : "?");
    });
}

void ServerCheck::CheckPersistence(CheckingPtr checking, const std::string& info) {
    if (InfoOf(info, "aof_enabled") == "1") {
        return ReadSetting("appendfsync", [this, checking](const std::string& value) {
            if (value == "no") {
                warnings_.push_back(
                    "Redis leaves it to the operating system when its log reaches the disk "
                    "(appendfsync no): a power cut may lose half a minute; set appendfsync "
                    "everysec or always");
            }
            CheckStoredLayout(checking);
        });
    }
    ReadSetting("save", [this, checking](const std::string& value) {
        warnings_.push_back(
            value.empty()
                ? "Redis keeps nothing on disk (appendonly no, save \"\"): a restart loses all "
                  "tasks; set appendonly yes"
                : "Redis writes snapshots only (appendonly no): a crash loses everything since the "
                  "last one, up to an hour by default; set appendonly yes");
        CheckStoredLayout(checking);
    });
}

void ServerCheck::CheckStoredLayout(CheckingPtr checking) {
    Call call{.lane = Lane::kLease, .slot = keys_.global.slot};
    call.commands = Resp("HGET", keys_.global.prefix + "meta", "layout");
    client_.Send(std::move(call), [this, checking](Result<Replies> replies) {
        // A user who may not read it is told so by the probe, with the rights that are missing.
        if (replies) {
            Result<void> known = CheckLayout(replies->front().view().text(), schema_);
            if (!known) return Finish(checking, std::move(known));
        }
        ProbeRights(checking);
    });
}

void ServerCheck::ProbeRights(CheckingPtr checking) {
    const PartitionKeys& keys = keys_.Of(0);
    Call call{.lane = Lane::kCommit, .slot = keys.slot};
    call.script = &kProbe;
    const std::string mark = fmt::format("probe:{:016x}:", random_.Next());
    for (const char* name : {"hash", "sorted", "set", "stream", "text"}) {
        call.keys.Arg(keys.Of(mark + name));
    }
    client_.Send(std::move(call), [this, checking](Result<Replies> probed) {
        if (probed) return Finish(checking, {});
        Error error = probed.error();
        // As the versions spell it, for a command and for a key.
        const auto says = [&](std::string_view words) {
            return error.detail.find(words) != std::string::npos;
        };
        const bool denied = says("NOPERM") || says("can't run this command") ||
                            says("can't access") || says("No permissions");
        if (denied) {
            error.detail += fmt::format(
                "; the user needs the rights ~{0}* ~{{{1}:*}}:* &{{{1}:*}}:* "
                "+@all -@dangerous +info +role",
                keys_.global.prefix, client_.options().prefix);
            error.field = "store";
        }
        Finish(checking, std::unexpected(std::move(error)));
    });
}

void ServerCheck::WatchMemory() {
    const Steady now = SteadyClock::now();
    if (now - looked_at_ < (full_ ? kLookEveryFull : kLookEvery)) return;
    looked_at_ = now;
    Call call{.lane = Lane::kLease, .slot = keys_.Of(0).slot};
    call.commands = Resp("INFO", "memory");
    client_.Send(std::move(call), [this](Result<Replies> replies) {
        // Of a server that does not answer others speak.
        if (replies) OnMemory("\n" + std::string(replies->front().view().text()));
    });
}

void ServerCheck::OnMemory(const std::string& info) {
    const auto number = [&](std::string_view name) {
        return ParseNumber<std::uint64_t>(InfoOf(info, name)).value_or(0);
    };
    const std::uint64_t most = number("maxmemory");
    // Buffers of replicas and of the append-only file do not count for Redis either.
    const std::uint64_t apart = number("mem_not_counted_for_evict");
    const std::uint64_t used = number("used_memory") - std::min(apart, number("used_memory"));
    bytes_ = used;
    bytes_max_ = most;
    NoteFull(most > 0 && used > most);
    const double part = most == 0 ? 0 : static_cast<double>(used) / static_cast<double>(most);
    if (part < kCalmBelow) warned_ = false;
    if (part < kWarnAbove || std::exchange(warned_, true)) return;
    Log(LogLevel::kWarning, "store",
        fmt::format("Redis uses {:.0f} % of its maxmemory; when it is full no new task is taken. "
                    "Raise maxmemory, or shorten the retention while there is room",
                    part * 100),
        {{"store", Describe(client_.options())}, {"used", used}, {"maxmemory", most}});
}

void ServerCheck::NoteFull(bool full) {
    if (full_.exchange(full) == full) return;
    if (full) {
        Log(LogLevel::kError, "store",
            "Redis is full: no new task is taken until there is room; what is there goes on",
            {{"store", Describe(client_.options())}, {"maxmemory", bytes_max_.load()}});
    } else {
        Log(LogLevel::kInfo, "store", "Redis has room again",
            {{"store", Describe(client_.options())}});
    }
}

std::optional<StoreRoom> ServerCheck::Room() const {
    if (bytes_ == 0) return std::nullopt;
    const std::uint64_t most = bytes_max_;
    return StoreRoom{.bytes = bytes_,
                     .bytes_max = most,
                     .bound = most > 0 ? "maxmemory" : "maxmemory is not set"};
}

std::string ServerCheck::WhyFull() const {
    if (!full_) return {};
    const std::uint64_t most = bytes_max_;
    return fmt::format(
        "Redis is at its maxmemory{}; raise it, or wait until the retention has made room",
        most == 0 ? "" : " of " + Megabytes(most));
}

}  // namespace takt::internal::redis
