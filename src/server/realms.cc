#include "server/realms.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <charconv>
#include <iterator>
#include <utility>

#include "base/log.h"

namespace takt::internal {
namespace {

// A namespace that was just made is left to others for 1.5 s (ShareTimes::join): all know it by then.
constexpr Duration kLook{1'400};
// The leader of `default` looks all the same: one of so many times.
constexpr int kLooksAnyway = 10;

using Settings = Result<std::vector<SettingPut>>;

}  // namespace

Realms::Realms(const RealmGround& ground, std::deque<WorkLoop>& loops, RealmsEvents events)
    : ground_(ground),
      loops_(loops),
      events_(std::move(events)),
      loops_used_(loops.size()),
      dissolution_(loops.front().runtime(), ground.store, [this] { Refresh([](bool) {}); }),
      home_(loops.front().runtime()) {}

Result<void> Realms::MakeDefault(Sink* watcher) {
    if (auto made = loops_.front().MakeClients(ground_.config); !made) return made;
    home_realm_ =
        Realm::Make(ground_, loops_.front(), {.name = std::string(kDefaultNamespace), .number = 0});
    made_.push_back(home_realm_);
    loops_used_.front() = 1;
    home_realm_->Start(watcher);
    return {};
}

void Realms::Follow() {
    home_.Post([this] { LookLater(); });
}

void Realms::LookLater() {
    home_.After(kLook, [this] { Launch(Look()); });
}

// Most often nothing has changed, and one small row says so. Who leads `default` makes every change
// itself and reads it then.
Flow<> Realms::Look() {
    if (stopping_) co_return;
    const bool leads = home_realm_->node().leads();
    const bool knows = leads && looked_as_leader_ && version_ && !ending_;
    if (knows && ++looks_ % kLooksAnyway != 0) co_return LookLater();
    const auto rows = co_await home_.Wait<Settings>([&](auto done) {
        ground_.store.ListSettings(kDefaultPartition, Text(kDirectoryVersionKey), std::move(done));
    });
    LookLater();
    looked_as_leader_ = leads && rows;
    if (!rows || reading_) co_return;
    if (ending_ || version_ != ReadDirectory(*rows).version) Launch(ReadAll());
}

void Realms::Refresh(Refreshed done) {
    home_.Post([this, done = std::move(done)]() mutable {
        // One that is under way may have been read before what the asker means was written.
        awaited_next_.push_back(std::move(done));
        if (!reading_) Launch(ReadAll());
    });
}

Flow<> Realms::ReadAll() {
    reading_ = true;
    awaited_ = std::exchange(awaited_next_, {});
    const auto rows = co_await home_.Wait<Settings>([&](auto done) {
        ground_.store.ListSettings(kDefaultPartition, Text(kDirectoryPrefix), std::move(done));
    });
    reading_ = false;
    if (rows) {
        TakeDirectory(ReadDirectory(*rows));
    } else {
        version_.reset();
        Log(LogLevel::kWarning, "namespaces", "cannot read which namespaces there are",
            {{"error", rows.error().detail}});
    }
    if (postponed_) {
        // A namespace that was deleted and made again: whoever asks waits for the end of the first.
        std::ranges::move(std::exchange(awaited_, {}), std::back_inserter(awaited_next_));
        co_return;
    }
    if (rows && starting_ > 0) {
        std::ranges::move(std::exchange(awaited_, {}), std::back_inserter(awaited_started_));
    }
    // One that stops takes no namespace any more: it must not say that there is none.
    const bool taken = rows && !stopping_;
    for (Refreshed& waiting : std::exchange(awaited_, {})) waiting(taken);
    if (!awaited_next_.empty()) Launch(ReadAll());
}

void Realms::TakeDirectory(const Directory& directory) {
    postponed_ = false;
    if (stopping_) return;
    version_ = directory.version;
    ending_ = std::ranges::any_of(directory.rows, [](const auto& entry) {
        return entry.second.state != NamespaceState::kActive;
    });
    std::vector<std::string> gone;
    for (const auto& [name, place] : places_) {
        const auto found = directory.rows.find(name);
        const bool stays = found != directory.rows.end() && found->second.id == place.row.id &&
                           found->second.state != NamespaceState::kEmpty;
        if (!stays && place.realm) gone.push_back(name);
    }
    for (const std::string& name : gone) EndRealm(name);
    for (const auto& [name, row] : directory.rows) {
        if (name == kDefaultNamespace) {
            home_realm_->Apply(row);
            continue;
        }
        const auto known = places_.find(name);
        if (known != places_.end() && known->second.realm) {
            known->second.row = row;
            known->second.realm->Apply(row);
        } else if (row.state != NamespaceState::kEmpty) {
            MakeRealm(row);
        }
    }
    WarnOfUnknown(directory);
    dissolution_.GoOn(directory, home_realm_, [this](const std::string& name) {
        const auto found = places_.find(name);
        return found == places_.end() || !found->second.started ? nullptr : found->second.realm;
    });
}

// A name that is misspelled looks like a namespace that is yet to be made: only people can tell. Said
// once for the same names.
void Realms::WarnOfUnknown(const Directory& directory) {
    std::vector<std::string> unknown;
    std::string text;
    for (const std::string& name : ground_.config.scheduler.namespaces) {
        if (name == kDefaultNamespace || directory.rows.contains(name)) continue;
        text += (text.empty() ? "" : ", ") + name;
        unknown.push_back(name);
    }
    if (unknown == unknown_) return;
    unknown_ = std::move(unknown);
    if (unknown_.empty()) return;
    Log(LogLevel::kWarning, "namespaces",
        "scheduler.namespaces has names of which there is no namespace; are they misspelled?",
        {{"names", text}});
}

// The loop that has fewest; one that was never used gets what it needs now.
Result<std::size_t> Realms::FreeLoop() {
    if (loops_.size() == 1) return 0;
    const auto least = std::min_element(loops_used_.begin() + 1, loops_used_.end());
    const auto index = static_cast<std::size_t>(least - loops_used_.begin());
    WorkLoop& loop = loops_[index];
    if (loop.runs()) return index;
    if (auto made = loop.MakeClients(ground_.config); !made) return std::unexpected(made.error());
    loop.Start();
    return index;
}

void Realms::MakeRealm(const NamespaceRow& row) {
    // A realm that had the number, or the name, must have let go of the lead.
    for (const auto& [name, place] : places_) {
        if (name != row.name && place.row.number != row.number) continue;
        postponed_ = true;
        return version_.reset();
    }
    const auto index = FreeLoop();
    if (!index) {
        Log(LogLevel::kError, "namespaces", "a namespace cannot be served here",
            {{"namespace", row.name}, {"error", index.error().detail}});
        return version_.reset();
    }
    const std::shared_ptr<Realm> realm = Realm::Make(ground_, loops_[*index], row);
    Log(LogLevel::kInfo, "namespaces", "serving a namespace",
        {{"namespace", row.name}, {"number", unsigned{row.number}}});
    ++loops_used_[*index];
    places_.emplace(row.name, Place{realm, row, *index});
    std::erase_if(made_, [](const auto& made) { return made.expired(); });
    made_.push_back(realm);
    ++starting_;
    boost::asio::post(
        realm->loop().io(),
        [this, realm, then = home_.Here([this, name = row.name] { OnStarted(name); })]() mutable {
            realm->Start(nullptr);
            events_.on_made(realm);
            then();
        });
}

void Realms::OnStarted(const std::string& name) {
    const auto found = places_.find(name);
    if (found != places_.end()) found->second.started = true;
    if (--starting_ > 0) return;
    for (Refreshed& waiting : std::exchange(awaited_started_, {})) waiting(true);
}

void Realms::EndRealm(const std::string& name) {
    Log(LogLevel::kInfo, "namespaces", "a namespace is gone", {{"namespace", name}});
    const std::shared_ptr<Realm> realm = std::exchange(places_.at(name).realm, nullptr);
    events_.on_gone(name);
    realm->Stop({}, home_.Here([this, name] {
        --loops_used_[places_.at(name).loop];
        places_.erase(name);
        if (postponed_ && !reading_) Launch(ReadAll());
    }));
}

void Realms::ForAll(const std::function<void(Realm&, Action)>& act, Action done) {
    std::vector<std::shared_ptr<Realm>> all{home_realm_};
    for (const auto& [name, place] : places_) {
        if (place.realm) all.push_back(place.realm);
    }
    const auto left = std::make_shared<std::size_t>(all.size());
    const auto then = std::make_shared<Action>(std::move(done));
    for (const auto& realm : all) {
        act(*realm, home_.Here([left, then] {
            if (--*left == 0) (*then)();
        }));
    }
}

void Realms::Stop(Steady answers_until, Action done) {
    home_.Post([this, answers_until, done = std::move(done)]() mutable {
        stopping_ = true;
        const auto stop = [answers_until](Realm& realm, Action then) {
            realm.Stop(answers_until, std::move(then));
        };
        ForAll(stop, std::move(done));
    });
}

void Realms::AwaitCalls(Steady until, Action done) {
    home_.Post([this, until, done = std::move(done)]() mutable {
        const auto wait = [until](Realm& realm, Action then) {
            realm.AwaitCalls(until, std::move(then));
        };
        ForAll(wait, std::move(done));
    });
}

void Realms::Dismantle() {
    for (const auto& made : made_) {
        if (const auto realm = made.lock()) realm->Dismantle();
    }
    places_.clear();
    home_realm_.reset();
}

}  // namespace takt::internal
