// takt openapi: what the REST API takes and gives, without a server to ask. The console's types are
// made from it.
#include <cstdio>

#include "api/api.h"
#include "api/executor_routes.h"
#include "api/openapi.h"
#include "cli/cli.h"
#include "server/routes.h"
#include "takt/version.h"

namespace takt::internal::cli {

void AddOpenApi(CLI::App& app, Context& context) {
    CLI::App* openapi = app.add_subcommand("openapi", "Prints the OpenAPI description of the API");
    openapi->callback([&context] {
        std::vector<Route> routes = ApiRoutes();
        for (Route& route : ExecutorRoutes()) routes.push_back(std::move(route));
        routes.push_back(AttachRoute());
        std::printf("%s\n", OpenApiOf(RouteTable(std::move(routes)), takt::kVersion).c_str());
        context.exit = kOk;
    });
}

}  // namespace takt::internal::cli
