// Dissolution: how a namespace that is being deleted goes.
//
//   deleting → its own leader deletes its tasks and cancels its executions, a bounded number at a
//              time, and when nothing is left writes that down in the namespace itself
//   empty    → the leader of `default` has seen that; every scheduler lets go of the namespace
//   gone     → when nobody leads it any more, the leader of `default` drops its rows, then the entry
//
// Each part only looks at what is stored, so it does not matter which scheduler dies when. On the loop
// of `default`.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/flow.h"
#include "model/namespace.h"
#include "node/home.h"
#include "server/realm.h"

namespace takt::internal {

class Dissolution {
  public:
    // `on_change` is called when the directory has been changed. All outlive it.
    Dissolution(Runtime& runtime, Store& store, std::function<void()> on_change);

    // Goes on with all that are being deleted, if nothing is under way. `home` is the realm of
    // `default`, `find` gives that of another namespace, or null.
    using FindRealm = std::function<std::shared_ptr<Realm>(const std::string& name)>;
    void GoOn(const Directory& directory, const std::shared_ptr<Realm>& home,
              const FindRealm& find);

  private:
    Flow<> EndAll(std::shared_ptr<Realm> realm, std::shared_ptr<Realm> home, NamespaceRow row,
                  std::uint64_t version);
    Flow<bool> DeleteTasks(Realm& realm);
    Flow<bool> CancelExecutions(Realm& realm);
    Flow<> NoteEmpty(std::shared_ptr<Realm> home, NamespaceRow row, std::uint64_t version);
    // `epoch_floor` is the directory's.
    Flow<> Drop(std::shared_ptr<Realm> home, NamespaceRow row, std::uint64_t version,
                std::uint64_t epoch_floor);
    Flow<std::optional<LeaderRow>> LastTerm(Partition partition);
    Flow<Result<void>> DropRows(LeaderRow last);
    Flow<Result<Answer>> Ask(Realm& realm, Input input);
    Flow<> AskAll(Realm& realm, std::vector<Input> inputs);
    Flow<bool> Swap(Realm& home, std::uint64_t version, std::vector<SettingPut> puts);

    Store& store_;
    const std::function<void()> on_change_;
    std::set<std::string> busy_;  // Namespaces with something under way.
    Home home_;
};

}  // namespace takt::internal
