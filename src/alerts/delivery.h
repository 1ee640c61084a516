// Delivery: tells channels about alerts, and tells them again if they did not hear.
//
// Each channel has a queue of its own, told in order, one at a time; a channel that is down holds
// up nobody else. What was refused for ever is dropped and said so in the log; what may pass is
// tried again after 1 s, 5 s, 30 s, 2 min and 10 min. On the runtime's thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "alerts/channel.h"
#include "alerts/mailer.h"
#include "base/flow.h"
#include "http/client.h"
#include "model/change.h"
#include "node/home.h"
#include "node/runtime.h"

namespace takt::internal {

// One try. `done` may come on any thread. kInvalid and kExhausted are not tried again.
using Tell = std::function<void(const Channel&, const Notice&,
                                std::move_only_function<void(Result<void>)> done)>;

// Calls webhooks by `client`, mail servers by `mailer`, and writes to the log. Both must outlive
// every call.
Tell TellBy(HttpClient& client, Mailer& mailer);

// Says which addresses the host of a channel that an operator made may have; kInvalid if none that
// it names.
using AddressTest = std::function<bool(const IpAddress&)>;
using ChannelGuard = std::function<Result<AddressTest>(const Channel&)>;

class Delivery {
  public:
    // Of one channel. An alert storm longer than this says nothing new.
    static constexpr std::size_t kWaitingMax = 1'000;

    struct Last {
        Time at{};
        bool ok = false;
        std::string error;
    };
    struct Counts {
        std::uint64_t told = 0;
        std::uint64_t failed = 0;  // Given up, or no room.
    };

    // `channels` are those of the configuration. `space` is the namespace that its notices name;
    // empty: `default`. Without a guard channels of operators may call any address.
    Delivery(Runtime& runtime, std::vector<Channel> channels, Tell tell, std::string space = {},
             ChannelGuard guard = {});
    ~Delivery();

    // Tells the channels named, or all if none is; names that nobody has are passed over, and so are
    // channels that have heard of its state. `done` comes when each has heard or was given up,
    // `heard` for each that has.
    using Heard = std::function<void(const std::string& channel)>;
    void Send(
        const Notice& notice, const std::vector<std::string>& channels, Action done,
        const Heard& heard = [](const std::string&) {});
    // One try, no queue. kNotFound if there is no such channel; kConflict while another test of it
    // is under way.
    void Test(const std::string& channel, std::move_only_function<void(Result<void>)> done);

    // The channels that operators made are those of `rows`, and no others; rows of other kinds are
    // passed over. A channel that stays keeps what waits for it. Returns what is wrong with rows.
    std::vector<Error> TakeStored(const std::vector<SettingPut>& rows);
    // One row alone; an empty value takes the channel away, and what waits for it.
    Result<void> ApplyStored(const SettingPut& row);
    // Whether its host may be called.
    Result<AddressTest> Guard(const Channel& channel) const;

    bool Has(std::string_view channel) const { return Find(channel) != nullptr; }
    // Null if there is none.
    const Channel* Find(std::string_view channel) const;
    // In their order. Nothing while a channel was never told anything.
    struct View {
        const Channel& channel;
        const std::optional<Last>& last;
        const Counts& counts;
        std::size_t waiting;
    };
    std::vector<View> channels() const;

  private:
    struct Item {
        Notice notice;
        std::shared_ptr<Action> done;  // Called by the last of those who hold it.
        Heard heard;
    };
    struct Line {
        Channel channel;
        std::deque<Item> waiting;
        bool busy = false;         // TellAll is at work.
        bool gone = false;         // Nobody is told any more; it ends with TellAll.
        bool testing = false;      // A test is under way.
        std::optional<Last> last;  // Of the channel as it is now.
        Counts counts;
    };
    Flow<> TellAll(Line& line);  // Until nothing waits.
    // Again and again, until it is told or given up; and the version that the channel had then.
    struct Told {
        std::uint32_t version = 0;
        Result<void> result;
    };
    Flow<Told> TellFirst(Line& line);
    // `version` is that of the channel that was told.
    void Note(Line& line, std::uint32_t version, const Result<void>& result);
    std::shared_ptr<Line> HoldLine(std::string_view channel) const;  // Null if there is none.
    Line* FindLine(std::string_view channel) const;
    void RemoveLine(Line& line);

    Runtime& runtime_;
    const std::string space_;
    const Tell tell_;
    const ChannelGuard guard_;
    std::vector<std::shared_ptr<Line>> lines_;
    Home home_{runtime_};
};

}  // namespace takt::internal
