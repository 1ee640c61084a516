// Tries what a start needs, for `takt serve --check`: everything, although something fails.
#include "server/server_parts.h"
#include "server/sign_in.h"

namespace takt::internal {

std::vector<Server::Tried> Server::Try(Config config) {
    std::vector<Tried> tried;
    auto parts = std::make_unique<Parts>();
    Parts& p = *parts;
    p.config = std::move(config);
    p.config.store.wait = false;
    auto settings = ReadServerSettings(p.config);
    if (!settings) return {{"configuration", std::unexpected(settings.error()), {}}};
    p.settings = std::move(*settings);
    if (!p.config.signin.issuer.empty()) {
        auto made = p.MakeSignIn();
        if (made) {
            // Only its file is of interest: no address is known yet, and none is needed for that.
            const auto provider = ProviderOf(p.config.signin, {});
            if (!provider) made = std::unexpected(provider.error());
        }
        // Where signing in is wanted, tokens are not: that there are none is no second mistake.
        if (!made) p.config.server.insecure = true;
        tried.push_back({"sign-in", std::move(made), "at " + p.config.signin.issuer});
    }
    auto opened = p.OpenTheStore();
    tried.push_back({"store", std::move(opened), p.store_name + " answers"});
    p.loops.emplace_back();
    auto bound = p.MakeDoors();
    if (bound) bound = p.Listen();
    const bool known = p.store && bound;
    tried.push_back({"address", std::move(bound), p.url + ", told to others as " + p.address});
    if (p.settings.node_id) p.id = *p.settings.node_id;
    if (known && p.settings.node_id) {
        auto free = p.CheckIdIsFree();
        tried.push_back({"node id", std::move(free), p.id.text().str() + " is nobody else's"});
    } else if (p.store && p.settings.node_id && !p.config.store.url.starts_with("file:")) {
        // Another one that has it differs from this one by its address.
        tried.push_back(
            {"node id",
             Fail(ErrorCode::kUnavailable, "not looked at: the address was not to be had"),
             {}});
    }
    if (p.config.tracing.enabled) {
        auto spans = p.StartSpans();
        tried.push_back({"tracing", std::move(spans), "spans for " + p.config.tracing.endpoint});
    }
    return tried;
}

}  // namespace takt::internal
