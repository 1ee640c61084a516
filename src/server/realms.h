// Realms: the namespaces of this process. Follows the directory: makes a realm for each namespace that
// it has, ends those that it has no more.
//
// The directory is read every 1.4 seconds, by one small row unless it has changed, and at once when
// somebody asks for a namespace that is not known here. A store that cannot be read changes nothing.
//
// Lives on the first loop, that of `default`; each other namespace on the loop that has fewest of them,
// but not on the first if there is another.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/flow.h"
#include "model/namespace.h"
#include "node/home.h"
#include "server/dissolution.h"
#include "server/realm.h"
#include "server/work_loop.h"

namespace takt::internal {

struct RealmsEvents {
    // On any loop. A realm is told of once it has been started.
    std::function<void(const std::shared_ptr<Realm>&)> on_made;
    std::function<void(const std::string& name)> on_gone;
};

class Realms {
  public:
    // All outlive it. REQUIRES: there is at least one loop.
    Realms(const RealmGround& ground, std::deque<WorkLoop>& loops, RealmsEvents events);

    // Makes and starts the realm of `default`, before the loops run.
    Result<void> MakeDefault(Sink* watcher);
    Realm& home() { return *home_realm_; }

    // Begins to follow the directory. From any thread.
    void Follow();
    using Refreshed = std::move_only_function<void(bool read)>;
    // Reads the directory again. `done` comes on the first loop when all that it names have been
    // started and told of, or with false if it cannot be read or this stops. From any thread.
    void Refresh(Refreshed done);

    // Stops all of them, as Realm::Stop, and follows no more. `done` comes on the first loop. From any
    // thread, once.
    void Stop(Steady answers_until, Action done);
    // As Realm::AwaitCalls, of all that Stop has stopped.
    void AwaitCalls(Steady until, Action done);
    // Ends all parts of all realms there ever were. REQUIRES: the loops have ended.
    void Dismantle();

  private:
    struct Place {
        std::shared_ptr<Realm> realm;  // Null while the namespace that had the name is ending.
        NamespaceRow row;
        std::size_t loop = 0;
        bool started = false;
    };

    void LookLater();
    Flow<> Look();
    Flow<> ReadAll();
    void TakeDirectory(const Directory& directory);
    void MakeRealm(const NamespaceRow& row);
    void WarnOfUnknown(const Directory& directory);
    void OnStarted(const std::string& name);
    void EndRealm(const std::string& name);
    Result<std::size_t> FreeLoop();
    // `done` comes when all realms have called back.
    void ForAll(const std::function<void(Realm&, Action)>& act, Action done);

    const RealmGround& ground_;
    std::deque<WorkLoop>& loops_;
    const RealmsEvents events_;
    std::vector<std::size_t> loops_used_;  // Realms on each.
    std::shared_ptr<Realm> home_realm_;
    std::map<std::string, Place, std::less<>> places_;  // All but `default`.
    std::vector<std::weak_ptr<Realm>> made_;            // All that may still be there.
    std::optional<std::uint64_t> version_;              // Of the directory as last taken.
    std::vector<std::string> unknown_;  // Of scheduler.namespaces, those that are none; as told.
    bool looked_as_leader_ = false;     // This process led `default` at the last look already.
    int looks_ = 0;                     // That were not needed.
    bool reading_ = false;
    bool postponed_ = false;  // A realm waits for the end of another that has its name or number.
    std::vector<Refreshed> awaited_;          // Callers that wait for the reading under way,
    std::vector<Refreshed> awaited_next_;     // for one that begins after it,
    std::vector<Refreshed> awaited_started_;  // or for the realms that it has made.
    std::size_t starting_ = 0;                // Such realms.
    bool stopping_ = false;
    bool ending_ = false;  // Some namespace is being deleted: looked at more closely.
    Dissolution dissolution_;
    Home home_;
};

}  // namespace takt::internal
