#include "store/discovery.h"

#include <thread>

#include "base/time.h"
#include "store/open.h"
#include "store/wait.h"

namespace takt::internal {
namespace {

constexpr std::chrono::minutes kWait{1};
constexpr Duration kPoll{500};

Result<std::vector<std::string>> AddressesIn(Store& store) {
    const auto nodes =
        AskStore<std::vector<NodeRow>>([&](auto done) { store.Nodes(std::move(done)); });
    if (!nodes) return std::unexpected(nodes.error());
    std::vector<std::string> addresses;
    for (const NodeRow& node : *nodes) addresses.push_back(node.address.str());
    return addresses;
}

}  // namespace

Result<std::vector<std::string>> ListSchedulers(const std::string& store_url) {
    const auto store = OpenStore(store_url);
    if (!store) return std::unexpected(store.error());
    return AddressesIn(**store);
}

Result<std::vector<std::string>> FindSchedulers(const std::string& store_url) {
    if (store_url.starts_with("file:") || store_url.starts_with("memory:")) {
        return Fail(
            ErrorCode::kInvalid,
            "only one process can use " + store_url +
                ", so a worker cannot look into it; name the scheduler instead (--server, or "
                "servers in C++)");
    }
    const auto store = OpenStore(store_url, {.wait = true});
    if (!store) return std::unexpected(store.error());
    const Steady end = SteadyClock::now() + kWait;
    while (true) {
        auto addresses = AddressesIn(**store);
        if (!addresses && addresses.error().code != ErrorCode::kUnavailable) return addresses;
        if (addresses && !addresses->empty()) return addresses;
        if (SteadyClock::now() > end) {
            if (!addresses) return addresses;
            return Fail(ErrorCode::kUnavailable, "no scheduler uses " + (*store)->Describe() +
                                                     "; start one with takt serve");
        }
        std::this_thread::sleep_for(kPoll);
    }
}

}  // namespace takt::internal
