// A command made of parts, such as `takt workers drain`.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>

#include "base/error.h"
#include "cli/cli.h"
#include "cli/client.h"

namespace takt::internal::cli {

// `Options` are shared by the parts, and have a ClientOptions named `client`. Flags of the
// connection may stand before or behind the name of a part.
template <typename Options>
class PartedCommand {
  public:
    using Body = Result<int> (*)(Client&, const Options&);
    struct Title {
        const char* name;
        const char* help;
    };

    // `alone` is what the command does without a part. The context outlives it.
    PartedCommand(CLI::App& app, Context& context, Title title, Body alone)
        : context_(context), command_(app.add_subcommand(title.name, title.help)) {
        options_->client.Add(*command_);
        options_->client.AddWatch(*command_);
        command_->callback([command = command_, run = RunOf(alone)] {
            if (command->get_subcommands().empty()) run();
        });
    }

    CLI::App* Add(Title title, Body body) {
        CLI::App* part = command_->add_subcommand(title.name, title.help);
        part->fallthrough();
        const std::string_view name = title.name;
        // A command that changes something is done once.
        const bool shows = name == "list" || name == "get" || name == "rules" || name == "channels";
        part->callback([run = RunOf(body), options = options_, &context = context_, shows] {
            if (shows || !options->client.watch) return run();
            PrintError({ErrorCode::kInvalid, "-w is for what shows something, such as a list", ""});
            context.exit = kUsage;
        });
        return part;
    }

    Options& options() { return *options_; }
    CLI::App& command() { return *command_; }

  private:
    std::function<void()> RunOf(Body body) {
        return [options = options_, &context = context_, body] {
            context.exit =
                WithClient(options->client, [&](Client& client) { return body(client, *options); });
        };
    }

    Context& context_;
    const std::shared_ptr<Options> options_ = std::make_shared<Options>();
    CLI::App* const command_;
};

}  // namespace takt::internal::cli
