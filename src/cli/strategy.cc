// takt strategy: how workers are chosen for tasks that name no strategy.
#include <boost/json/object.hpp>
#include <cstdio>

#include "base/json.h"
#include "cli/fleet_view.h"
#include "cli/parts.h"

namespace takt::internal::cli {
namespace {

constexpr const char* kPath = "/api/v1/scheduler/strategy";

struct StrategyOptions {
    ClientOptions client;
    std::string name;
};

Result<int> ShowStrategy(const StrategyOptions& options, const Result<ClientAnswer>& answer) {
    if (!answer) return std::unexpected(answer.error());
    if (!PrintedAsJson(options.client, *answer)) {
        std::fputs(StrategyText(answer->value).c_str(), stdout);
    }
    return kOk;
}

Result<int> GetStrategy(Client& client, const StrategyOptions& options) {
    return ShowStrategy(options, client.Get(kPath));
}

Result<int> PutStrategy(Client& client, const StrategyOptions& options, boost::json::value name) {
    std::string body;
    AppendJson(body, boost::json::object{{"strategy", std::move(name)}});
    return ShowStrategy(options, client.Call(HttpMethod::kPut, kPath, std::move(body)));
}

}  // namespace

void AddStrategy(CLI::App& app, Context& context) {
    PartedCommand<StrategyOptions> strategy(
        app, context, {"strategy", "How workers are chosen; alone it shows it"}, GetStrategy);
    StrategyOptions& options = strategy.options();
    strategy.Add({"get", "Shows it and the others that there are"}, GetStrategy);
    strategy
        .Add({"set", "Switches to another, now and under later leaders"},
             [](Client& client, const StrategyOptions& given) {
                 return PutStrategy(client, given, boost::json::value(given.name));
             })
        ->add_option("name", options.name, "Strategy, as takt strategy lists them")
        ->required();
    strategy.Add({"unset", "Goes back to the configured one"},
                 [](Client& client, const StrategyOptions& given) {
                     return PutStrategy(client, given, nullptr);
                 });
    strategy.Add({"reset", "Forgets what it has learned: turns, stickiness"},
                 [](Client& client, const StrategyOptions& given) {
                     return ShowStrategy(given, client.Post(std::string(kPath) + "/reset"));
                 });
    strategy.command().footer(
        "examples:\n"
        "  takt strategy\n"
        "  takt strategy set round_robin\n"
        "  takt strategy unset\n");
}

}  // namespace takt::internal::cli
