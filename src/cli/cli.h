// The command line: one file per command, each adding itself to the program.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "config/config.h"

namespace takt::internal {
class Mistakes;
}  // namespace takt::internal

namespace takt::internal::cli {

// Exit codes. Documented in docs/cli.md; scripts rely on them.
enum Exit : int {
    kOk = 0,
    kFailed = 1,       // It was tried and failed.
    kUsage = 2,        // It was not understood, or the configuration is wrong.
    kNotFound = 3,     // What was asked for does not exist.
    kConflict = 4,     // It contradicts what is there.
    kUnavailable = 5,  // Nobody could answer; try again.
};

// A command sets `exit` from its callback.
struct Context {
    int exit = kOk;
};

Exit ExitOf(const Error& error);

// Prints "takt: …" on standard error.
void PrintError(const Error& error);

// Prints what was not understood, with the nearest command or flag that exists.
Exit ExitOfMistake(const CLI::App& app, const CLI::ParseError& mistake,
                   std::span<char* const> words);

// Flags that every command with a configuration takes: --config, --set and the short forms given.
struct ConfigFlags {
    std::string file;
    std::vector<std::string> sets;
    // Short forms: the flag and the key that it sets.
    struct Short {
        std::string flag;
        std::string key;
        std::string value;
    };
    std::vector<std::unique_ptr<Short>> shorts;

    void Add(CLI::App& command);
    CLI::Option* AddShort(CLI::App& command, const std::string& flag, const std::string& key,
                          const std::string& help);
    // Judges what was read although something else could not be.
    using Check = Result<void> (*)(const Config&);
    // File, environment and flags, in rising order of strength. kInvalid tells all mistakes, one to
    // a line: also those that `more` finds.
    Result<Config> Load(Check more = nullptr) const;

  private:
    void LoadFlags(Config& config, Mistakes& mistakes) const;
};

void AddServe(CLI::App& app, Context& context);
void AddWorker(CLI::App& app, Context& context);
void AddSubmit(CLI::App& app, Context& context);
void AddGet(CLI::App& app, Context& context);
void AddList(CLI::App& app, Context& context);
void AddCancel(CLI::App& app, Context& context);
void AddRetry(CLI::App& app, Context& context);
void AddTrigger(CLI::App& app, Context& context);
void AddTasks(CLI::App& app, Context& context);
void AddWorkers(CLI::App& app, Context& context);
void AddExecutors(CLI::App& app, Context& context);
void AddQueues(CLI::App& app, Context& context);
void AddLocks(CLI::App& app, Context& context);
void AddLock(CLI::App& app, Context& context);
void AddStrategy(CLI::App& app, Context& context);
void AddStatus(CLI::App& app, Context& context);
void AddExplain(CLI::App& app, Context& context);
void AddDescribe(CLI::App& app, Context& context);
void AddEvents(CLI::App& app, Context& context);
void AddDoctor(CLI::App& app, Context& context);
void AddContext(CLI::App& app, Context& context);
void AddLogs(CLI::App& app, Context& context);
void AddAlerts(CLI::App& app, Context& context);
void AddStats(CLI::App& app, Context& context);
void AddTop(CLI::App& app, Context& context);
void AddNamespaces(CLI::App& app, Context& context);
void AddStore(CLI::App& app, Context& context);
void AddApply(CLI::App& app, Context& context);
void AddDiff(CLI::App& app, Context& context);
void AddExport(CLI::App& app, Context& context);
void AddImport(CLI::App& app, Context& context);
void AddSchema(CLI::App& app, Context& context);
void AddAudit(CLI::App& app, Context& context);
void AddLogin(CLI::App& app, Context& context);
void AddWhoami(CLI::App& app, Context& context);
void AddToken(CLI::App& app, Context& context);
void AddOpenApi(CLI::App& app, Context& context);
void AddProtocolTest(CLI::App& app, Context& context);
void AddExecutorTest(CLI::App& app, Context& context);
void AddBench(CLI::App& app, Context& context);
void AddBenchWorker(CLI::App& app, Context& context);
void AddHelp(CLI::App& app, Context& context);
// Last: it knows the commands that were added before.
void AddCompletion(CLI::App& app, Context& context);

}  // namespace takt::internal::cli
