// ServerCheck: is the server new enough, ours to use, and set up to keep what it is given? And how
// full is it? All in the client's thread unless said otherwise.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "store/redis/client.h"
#include "store/redis/keys.h"
#include "store/redis/schema.h"
#include "store/store_room.h"

namespace takt::internal::redis {

class ServerCheck {
  public:
    ServerCheck(Client& client, Keyring& keys, const Schema& schema);

    // Checks the server, unless that was done before. kInvalid: it does not let us in, is too old,
    // would evict rows (unless ?unsafe=1), or holds data that this version cannot use; `detail` says
    // what to do. kUnavailable: it cannot be reached. A full server passes.
    void Ensure(Done<void> done);

    // How the server is set up to lose data, a sentence each; also in the log. For people.
    const std::vector<std::string>& warnings() const { return warnings_; }

    // Looks at the memory if that has not been done for a while, and warns in the log before it is
    // full.
    void WatchMemory();
    // Whether Redis refused a write for want of memory, as the last commit was told.
    void NoteFull(bool full);

    // Why no new work is taken: empty while there is room. From any thread.
    std::string WhyFull() const;
    // Nothing before the memory was looked at.
    std::optional<StoreRoom> Room() const;

  private:
    struct Checking;
    using CheckingPtr = std::shared_ptr<Checking>;

    void Finish(const CheckingPtr& checking, Result<void> result);
    void ReadInfo(CheckingPtr checking);
    Result<void> CheckInfo(const std::string& info);
    Result<void> CheckEviction(const std::string& info);
    // Managed services and ACL users may not look; then INFO has told enough.
    void ReadSetting(std::string name, std::function<void(std::string value)> then);
    void CheckPersistence(CheckingPtr checking, const std::string& info);
    void CheckStoredLayout(CheckingPtr checking);
    void ProbeRights(CheckingPtr checking);
    void OnMemory(const std::string& info);

    Client& client_;
    Keyring& keys_;
    const Schema& schema_;
    Random random_;
    bool checked_ = false;
    std::vector<std::string> warnings_;
    Steady looked_at_{};
    bool warned_ = false;
    std::atomic<bool> full_ = false;
    std::atomic<std::uint64_t> bytes_ = 0;
    std::atomic<std::uint64_t> bytes_max_ = 0;
};

}  // namespace takt::internal::redis
