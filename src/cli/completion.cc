// takt completion: scripts for bash and zsh, made from the commands and flags that there are.
#include <fmt/format.h>

#include <cstdio>

#include "cli/cli.h"

namespace takt::internal::cli {
namespace {

// Commands without a group are not for people.
bool IsShown(const CLI::App* command) {
    return !command->get_group().empty();
}

// Every word that may follow a command: its parts and its long flags.
std::string WordsOf(const CLI::App& command) {
    std::string words;
    for (const CLI::App* part : command.get_subcommands(IsShown)) {
        words += part->get_name() + " ";
    }
    for (const CLI::Option* option : command.get_options()) {
        for (const std::string& name : option->get_lnames()) words += "--" + name + " ";
    }
    if (!words.empty()) words.pop_back();
    return words;
}

std::string Script(const CLI::App& app) {
    std::string cases;
    for (const CLI::App* command : app.get_subcommands(IsShown)) {
        cases += fmt::format("        {}) words='{}' ;;\n", command->get_name(), WordsOf(*command));
        for (const CLI::App* part : command->get_subcommands(IsShown)) {
            cases += fmt::format("        '{} {}') words='{} {}' ;;\n", command->get_name(),
                                 part->get_name(), WordsOf(*part), WordsOf(*command));
        }
    }
    return fmt::format(R"(_takt() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} path= words= word i
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${{COMP_WORDS[i]}}
        [[ $word == -* ]] && break
        path="${{path:+$path }}$word"
        [[ $path == *' '* ]] && break
    done
    while :; do
        case $path in
        '') words='{}' ;;
{}        esac
        # Behind a command may stand an id instead of a part.
        [[ -n $words || $path != *' '* ]] && break
        path=${{path%% *}}
    done
    if [[ $current != -* && -z $words ]]; then
        COMPREPLY=($(compgen -f -- "$current"))
    else
        COMPREPLY=($(compgen -W "$words" -- "$current"))
    fi
}}
complete -o default -F _takt takt
)",
                       WordsOf(app), cases);
}

}  // namespace

void AddCompletion(CLI::App& app, Context& context) {
    auto shell = std::make_shared<std::string>();
    CLI::App* completion = app.add_subcommand("completion", "Prints a script for your shell");
    completion->add_option("shell", *shell, "bash or zsh")
        ->required()
        ->check(CLI::IsMember({"bash", "zsh"}));
    completion->footer(
        "examples:\n"
        "  source <(takt completion bash)\n"
        "  takt completion zsh > ~/.takt.zsh; echo 'source ~/.takt.zsh' >> ~/.zshrc\n");
    completion->callback([shell, &app, &context] {
        // zsh runs scripts written for bash once it is told to.
        if (*shell == "zsh") {
            std::fputs(
                "autoload -U +X compinit && compinit\n"
                "autoload -U +X bashcompinit && bashcompinit\n",
                stdout);
        }
        std::fputs(Script(app).c_str(), stdout);
        context.exit = kOk;
    });
}

}  // namespace takt::internal::cli
