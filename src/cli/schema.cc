// takt schema: the JSON Schema of definitions, for editors. Without a server to ask.
#include <cstdio>

#include "api/definition_kind.h"
#include "cli/cli.h"

namespace takt::internal::cli {

void AddSchema(CLI::App& app, Context& context) {
    CLI::App* schema =
        app.add_subcommand("schema", "Prints the JSON Schema of definitions, for editors");
    schema->footer(
        "examples:\n"
        "  takt schema > takt.schema.json\n"
        "and as the first line of a file of definitions:\n"
        "  # yaml-language-server: $schema=takt.schema.json\n");
    schema->callback([&context] {
        std::printf("%s\n", DefinitionSchema().c_str());
        context.exit = kOk;
    });
}

}  // namespace takt::internal::cli
