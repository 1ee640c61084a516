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
    auto listen = ParseListenAddress(p.config.server.listen, "server.listen");
    if (listen) p.listen = std::move(*listen);
    if (!p.config.server.node_id.empty()) {
        const auto id = NodeId::Parse(p.config.server.node_id, "server.node_id");
        if (!id) tried.push_back({"node id", std::unexpected(id.error()), {}});
    }
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
    if (!listen) {
        tried.push_back({"address", std::unexpected(listen.error()), {}});
        return tried;
    }
    p.loops.emplace_back();
    auto bound = p.MakeDoors();
    if (bound) bound = p.Listen();
    tried.push_back({"address", std::move(bound), p.url + ", told to others as " + p.address});
    return tried;
}

}  // namespace takt::internal
