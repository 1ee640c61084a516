#include "server/settings.h"

#include <string>
#include <utility>

#include "api/access.h"
#include "base/mistakes.h"

namespace takt::internal {
namespace {

// The configuration allows the host that it names, but not whatever the owner of the name points it
// at: link-local addresses and this machine need to be meant.
Result<void> LimitToItsHost(Channel& channel, bool loopback) {
    auto policy = ServicePolicy::Make({channel.host()}, loopback);
    if (!policy) return std::unexpected(policy.error());
    channel.allow_address = [policy = std::move(*policy), host = channel.host()](
                                const IpAddress& address) { return policy.Allows(host, address); };
    return {};
}

}  // namespace

bool ServerSettings::loopback() const {
    return IsLoopback(listen.host);
}

Result<ServerSettings> ReadServerSettings(const Config& config) {
    ServerSettings settings;
    Mistakes mistakes;
    if (auto listen = ParseListenAddress(config.server.listen, "server.listen")) {
        settings.listen = std::move(*listen);
    } else {
        mistakes.Add(listen.error());
    }
    if (!config.server.node_id.empty()) {
        if (auto id = NodeId::Parse(config.server.node_id, "server.node_id")) {
            settings.node_id = std::move(*id);
        } else {
            mistakes.Add(id.error());
        }
    }
    if (auto services = ServicePolicy::Make(config.executors.allow, settings.loopback())) {
        settings.services = std::move(*services);
    } else {
        mistakes.Add(services.error());
    }
    settings.alerts = ReadConfiguredAlerts(config.alerts.rules, config.alerts.channels,
                                           !config.unread.contains("alerts.channels"), mistakes);
    Mistakes placed;
    for (const Error& error : mistakes.errors()) placed.Add(Placed(config, error));
    // A channel that is wrong may have no host.
    for (std::size_t i = 0; placed.empty() && i < settings.alerts.channels.size(); ++i) {
        Channel& channel = settings.alerts.channels[i];
        if (channel.kind == ChannelKind::kLog) continue;
        if (LimitToItsHost(channel, settings.loopback())) continue;
        // The first is the log, which stands in no file.
        const std::string which = "alerts.channels[" + std::to_string(i - 1) + "]";
        placed.Add(Placed(config, {ErrorCode::kInvalid,
                                   which + " '" + channel.name + "': url has the host '" +
                                       channel.host() + "', which is neither a name nor an address",
                                   which}));
    }
    if (auto good = placed.ToResult(); !good) return std::unexpected(good.error());
    return settings;
}

}  // namespace takt::internal
