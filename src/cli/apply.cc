// takt apply, takt diff: what files define, compared with what stands, and made so.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>

#include "api/definition_kind.h"
#include "base/id.h"
#include "cli/definition_server.h"
#include "cli/given_file.h"
#include "cli/output.h"
#include "definitions/plan_text.h"
#include "definitions/task_circles.h"

namespace takt::internal::cli {
namespace {

constexpr const char* kOwnerStandard = "takt-apply";

struct ApplyOptions {
    ClientOptions client;
    std::vector<std::string> paths;
    std::string owner;
    std::string output = "text";
    bool dry_run = false;
    PlanRules rules;

    bool json() const { return client.json || output == "json"; }
};

// --- Files --------------------------------------------------------------------------------------

bool IsDefinitionFile(const std::filesystem::path& path) {
    const std::string ending = path.extension().string();
    return ending == ".yaml" || ending == ".yml" || ending == ".json";
}

// Hidden files and folders are somebody else's: .git, .gitlab-ci.yml.
Result<std::vector<std::string>> FilesUnder(const std::string& path) {
    namespace fs = std::filesystem;
    std::error_code error;
    if (path == "-" || !fs::is_directory(path, error)) return std::vector<std::string>{path};
    std::vector<std::string> files;
    fs::recursive_directory_iterator at(path, error);
    for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
        if (at->path().filename().string().starts_with('.')) {
            at.disable_recursion_pending();
        } else if (at->is_regular_file(error) && IsDefinitionFile(at->path())) {
            files.push_back(at->path().string());
        }
    }
    if (error) return Fail(ErrorCode::kInvalid, "cannot read " + path + ": " + error.message());
    std::ranges::sort(files);
    return files;
}

Result<WrittenDefinitions> ReadPaths(const std::vector<std::string>& paths,
                                     const std::string& home) {
    KindIdentities kinds;
    for (const DefinitionKind& kind : DefinitionKinds()) {
        kinds.emplace(kind.name, std::string(kind.identity));
    }
    DefinitionReader reader(std::move(kinds), home);
    for (const std::string& path : paths) {
        const auto files = FilesUnder(path);
        if (!files) return std::unexpected(files.error());
        for (const std::string& file : *files) {
            const auto text = ReadGivenFile(file);
            if (!text) return std::unexpected(text.error());
            reader.Read(file == "-" ? "stdin" : file, *text);
        }
    }
    return reader.Take();
}

// The directory or the file says whose definitions they are, unless somebody else does.
std::string OwnerOf(const ApplyOptions& options) {
    if (!options.owner.empty()) return options.owner;
    if (options.paths.front() == "-") return kOwnerStandard;
    std::error_code error;
    auto path = std::filesystem::weakly_canonical(options.paths.front(), error);
    const std::string name = error ? std::string() : path.stem().string();
    return IsValidId(name) ? name : kOwnerStandard;
}

// --- The plan -----------------------------------------------------------------------------------

struct Planned {
    PlanInput input;
    Plan plan;
};

// REQUIRES: there are some.
std::unexpected<Error> Refusal(std::vector<PlacedMistake> mistakes) {
    std::ranges::sort(mistakes, {}, [](const PlacedMistake& mistake) {
        return std::pair(mistake.file, mistake.line);
    });
    std::string text = "nothing is applied: " + std::to_string(mistakes.size()) +
                       (mistakes.size() == 1 ? " mistake" : " mistakes");
    for (const PlacedMistake& mistake : mistakes) text += "\n" + mistake.Text();
    return Fail(ErrorCode::kInvalid, std::move(text));
}

// kInvalid tells all mistakes, one to a line.
Result<Planned> MakeThePlan(DefinitionServer& server, const ApplyOptions& options) {
    auto written = ReadPaths(options.paths, server.home());
    if (!written) return std::unexpected(written.error());
    // A wrong directory or an empty pipe must not delete everything.
    if (options.rules.prune && written->definitions.empty() && written->mistakes.empty()) {
        return Fail(ErrorCode::kInvalid,
                    "no definition was read, and --prune would delete all that '" +
                        options.rules.owner + "' has; does -f name the right files?");
    }
    Planned planned;
    if (auto read = server.ReadStanding(planned.input, server.spaces()); !read) {
        return std::unexpected(read.error());
    }
    auto found = server.Check(written->definitions, planned.input);
    if (!found) return std::unexpected(found.error());
    std::ranges::move(*found, std::back_inserter(written->mistakes));
    for (const TaskCircle& circle : FindTaskCircles(planned.input)) {
        const auto at =
            std::ranges::find(written->definitions, circle.key, &WrittenDefinition::key);
        if (at == written->definitions.end()) continue;
        written->mistakes.push_back(at->Mistake(circle.mistake.field, circle.mistake.detail));
    }
    if (!written->mistakes.empty()) return Refusal(std::move(written->mistakes));
    PlanRules rules = options.rules;
    if (!server.named().empty()) rules.spaces.insert(server.named());
    planned.plan = MakePlan(planned.input, rules);
    return planned;
}

std::string PaintPlanLine(const std::string& line, PlanMark mark) {
    switch (mark) {
        case PlanMark::kCreate:
            return Paint(line, Colour::kGreen);
        case PlanMark::kChange:
            return Paint(line, Colour::kYellow);
        case PlanMark::kDelete:
            return Paint(line, Colour::kRed);
        default:
            return Paint(line, Colour::kDim);
    }
}

// A line for each namespace that nobody named and that has things of this owner.
std::string ElsewhereText(const Plan& plan) {
    std::map<std::string, std::map<std::string, std::size_t>> counts;  // By namespace, by kind.
    for (const ThingKey& key : plan.elsewhere) ++counts[key.space][key.kind];
    std::string text;
    for (const auto& [space, kinds] : counts) {
        std::string things;
        for (const auto& [kind, count] : kinds) {
            things += (things.empty() ? "" : ", ") + std::to_string(count) + " " + kind +
                      (count == 1 ? "" : "s");
        }
        text +=
            "left in " + space + ": " + things + "; apply with -n " + space + " to prune them\n";
    }
    return text;
}

void PrintPlan(const Plan& plan, const ApplyOptions& options) {
    // JSON stays JSON.
    std::fputs(ElsewhereText(plan).c_str(), options.json() ? stderr : stdout);
    const std::string text =
        options.json() ? PlanJson(plan, options.rules) + "\n" : PlanText(plan, PaintPlanLine);
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
}

Result<DefinitionServer> OpenServer(ApplyOptions& options) {
    options.rules.owner = OwnerOf(options);
    if (!IsValidId(options.rules.owner)) {
        return Fail(ErrorCode::kInvalid, "--owner must be 1 to 64 of A-Z a-z 0-9 . _ ~ -");
    }
    return DefinitionServer::Open(options.client);
}

// --- Carrying it out ----------------------------------------------------------------------------

Result<void> RefuseForeign(const Plan& plan, const PlanRules& rules) {
    if (rules.adopt) return {};
    std::string text;
    for (const PlanStep& step : plan.steps) {
        if (!step.foreign) continue;
        text += "\n" + ThingText(step.key) +
                (step.taken_from.empty() ? " was made by hand" : " is owned by " + step.taken_from);
    }
    if (text.empty()) return {};
    return Fail(ErrorCode::kConflict, "nothing is applied: not all of it is '" + rules.owner +
                                          "'s; --adopt takes it over" + text);
}

// Steps that are done stay done, and are told; the same command does the rest.
Error StoppedAt(const Plan& plan, std::size_t done, Error error) {
    error.detail += "\napplied: " + std::to_string(done) + " of " +
                    std::to_string(plan.steps.size()) + "; not applied:";
    for (std::size_t at = done; at < plan.steps.size(); ++at) {
        error.detail +=
            "\n  " + std::string(Name(plan.steps[at].action)) + " " + ThingText(plan.steps[at].key);
        const bool lost = at == done && error.code == ErrorCode::kUnknown;
        if (lost) error.detail += " (unless only the answer was lost)";
    }
    error.detail += "\nthe same command does the rest";
    return error;
}

Result<int> CarryOut(DefinitionServer& server, const Planned& planned,
                     const ApplyOptions& options) {
    const Plan& plan = planned.plan;
    // Owned before it is made: a crash in between leaves a name without a thing, which the next
    // apply makes, and never a thing that nobody knows the owner of. A namespace that is only being
    // made cannot have owners written down in it yet.
    std::vector<ThingKey> claims = plan.claims;
    const auto claim = [&](const auto& wanted) -> Result<void> {
        std::vector<ThingKey> now;
        std::ranges::copy_if(claims, std::back_inserter(now), wanted);
        std::erase_if(claims, wanted);
        return server.Own(options.rules, now, true);
    };
    const auto of_spaces = [](const ThingKey& key) { return key.space.empty(); };
    const auto of_all = [](const ThingKey&) { return true; };
    if (auto owned = claim(of_spaces); !owned) {
        return std::unexpected(StoppedAt(plan, 0, owned.error()));
    }
    for (std::size_t at = 0; at < plan.steps.size(); ++at) {
        if (plan.steps[at].key.kind != "namespace" && !claims.empty()) {
            if (auto owned = claim(of_all); !owned) {
                return std::unexpected(StoppedAt(plan, at, owned.error()));
            }
        }
        if (auto done = server.Carry(plan.steps[at], planned.input); !done) {
            Error error = done.error();
            error.detail = ThingText(plan.steps[at].key) + ": " + error.detail;
            return std::unexpected(StoppedAt(plan, at, std::move(error)));
        }
    }
    if (auto owned = claim(of_all); !owned) return std::unexpected(owned.error());
    if (auto gone = server.Own(options.rules, plan.releases, false); !gone) {
        return std::unexpected(gone.error());
    }
    return kOk;
}

Result<int> Apply(ApplyOptions& options) {
    auto server = OpenServer(options);
    if (!server) return std::unexpected(server.error());
    const auto planned = MakeThePlan(*server, options);
    if (!planned) return std::unexpected(planned.error());
    PrintPlan(planned->plan, options);
    if (options.dry_run) {
        if (!options.json()) std::puts("nothing is written: --dry-run");
        return kOk;
    }
    if (auto ours = RefuseForeign(planned->plan, options.rules); !ours) {
        return std::unexpected(ours.error());
    }
    const auto done = CarryOut(*server, *planned, options);
    if (done && !options.json() && !planned->plan.empty()) std::puts("applied");
    return done;
}

// As diff's own: 0 for none, 1 for some, and more for a reason why it cannot tell.
int ExitOfDiff(const Error& error) {
    return std::max<int>(ExitOf(error), kUsage);
}

int Diff(ApplyOptions& options) {
    auto server = OpenServer(options);
    const auto planned = server ? MakeThePlan(*server, options) : std::unexpected(server.error());
    if (!planned) {
        PrintError(planned.error());
        return ExitOfDiff(planned.error());
    }
    PrintPlan(planned->plan, options);
    return planned->plan.empty() ? 0 : 1;
}

void AddSharedFlags(CLI::App& command, ApplyOptions& options) {
    options.client.Add(command);
    command
        .add_option("-f,--file", options.paths,
                    "File, directory (with those in it) or - for standard input; repeatable")
        ->required();
    command
        .add_option("--owner", options.owner,
                    "Whose definitions they are [the name of the file or directory]")
        ->envname("TAKT_OWNER");
    command.add_flag("--prune", options.rules.prune,
                     "Delete what this owner applied before and no longer defines, in namespaces "
                     "that the files or -n name");
    command.add_flag("--prune-namespaces", options.rules.prune_namespaces,
                     "With --prune: namespaces as well, with everything in them");
    command.add_option("-o,--output", options.output, "text or json")
        ->check(CLI::IsMember({"text", "json"}))
        ->capture_default_str();
}

}  // namespace

void AddApply(CLI::App& app, Context& context) {
    auto options = std::make_shared<ApplyOptions>();
    CLI::App* apply = app.add_subcommand(
        "apply", "Makes tasks, workflows, queues, alert rules and namespaces as files define them");
    AddSharedFlags(*apply, *options);
    apply->add_flag("--dry-run", options->dry_run, "Show the plan and write nothing");
    apply->add_flag("--adopt", options->rules.adopt,
                    "Take over what was made by hand or by another owner");
    apply->footer(
        "Everything is checked before anything is written. If a write fails in the middle, what "
        "was\n"
        "applied and what was not is told, and the same command does the rest.\n\n"
        "examples:\n"
        "  takt apply -f definitions/ --dry-run\n"
        "  takt apply -f definitions/ --owner billing --prune\n"
        "  takt import crontab /etc/crontab | takt apply -f -\n");
    apply->callback([options, &context] {
        const auto ended = Apply(*options);
        if (!ended) PrintError(ended.error());
        context.exit = ended ? *ended : ExitOf(ended.error());
    });
}

void AddDiff(CLI::App& app, Context& context) {
    auto options = std::make_shared<ApplyOptions>();
    CLI::App* diff = app.add_subcommand("diff", "Shows what takt apply would do");
    AddSharedFlags(*diff, *options);
    diff->footer(
        "Exit status: 0 no difference, 1 differences, 2 and more: it could not be told.\n\n"
        "examples:\n"
        "  takt diff -f definitions/\n"
        "  takt diff -f definitions/ --prune -o json\n");
    diff->callback([options, &context] { context.exit = Diff(*options); });
}

}  // namespace takt::internal::cli
