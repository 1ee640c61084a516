// takt bench: submit → run → result through the real port, with real processes.
#include <unistd.h>

#include <filesystem>

#include "cli/bench_report.h"
#include "cli/bench_run.h"
#include "cli/bench_submit.h"
#include "cli/child.h"
#include "cli/client.h"
#include "cli/output.h"

namespace takt::internal::cli {
namespace {

constexpr Duration kSchedulerStart{30'000};  // For a scheduler to come up on a busy machine.

struct BenchOptions {
    ClientOptions client;
    CLI::Option* server = nullptr;
    std::string store;
    std::vector<std::string> sets;
    BenchPlan plan;
    BenchFleetOptions fleet;
    std::string latency_for = "5s";
    std::string timeout = "2m";
};

// A folder that is gone when the measurement is over.
class ScratchFolder {
  public:
    static Result<ScratchFolder> Make() {
        std::string name = (std::filesystem::temp_directory_path() / "takt-bench-XXXXXX").string();
        if (!mkdtemp(name.data())) {
            return Fail(ErrorCode::kUnavailable, "cannot make a folder such as " + name);
        }
        return ScratchFolder(name);
    }
    ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
    ScratchFolder& operator=(ScratchFolder&&) = delete;
    ~ScratchFolder() {
        std::error_code ignored;  // What is left is in the folder for temporary files.
        if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
    }
    const std::string& path() const { return path_; }

  private:
    explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
    std::string path_;
};

// "takt 0.1.0 listens on http://127.0.0.1:40123"
Result<std::string> UrlOf(Child& server) {
    const auto line = server.ReadLine(kSchedulerStart);
    if (!line) return std::unexpected(line.error());
    const std::size_t at = line->find("http");
    if (at == std::string::npos) {
        return Fail(ErrorCode::kUnavailable, "the scheduler said '" + *line + "' and no address");
    }
    return line->substr(at);
}

// A scheduler of its own, on a store of its own unless one is given.
Result<Child> StartScheduler(const BenchOptions& options, std::optional<ScratchFolder>& folder) {
    std::string store = options.store;
    if (store.empty()) {
        auto made = ScratchFolder::Make();
        if (!made) return std::unexpected(made.error());
        folder.emplace(std::move(*made));
        store = "file:" + folder->path();
    }
    std::vector<std::string> arguments = {"serve",       "--store",     store,  "--listen",
                                          "127.0.0.1:0", "--log-level", "error"};
    for (const std::string& set : options.sets) {
        arguments.insert(arguments.end(), {"--set", set});
    }
    return Child::Start(arguments);
}

Result<std::string> StoreOfScheduler(const ClientOptions& target) {
    auto client = Client::Open(target);
    if (!client) return std::unexpected(client.error());
    const auto status = client->Get("/api/v1/scheduler/status");
    if (!status) return std::unexpected(status.error());
    const auto* store = FindMember(status->value, "store");
    return store ? Member(*store, "description") : std::string();
}

Result<void> MeasureAll(const ClientOptions& target, BenchReport& report, BenchFleet& fleet) {
    for (BenchProcess& process : report.processes) process.before = UsageOf(process.process);
    const Steady begin = SteadyClock::now();
    auto results = RunBench(target, report.plan, fleet);
    if (!results) return std::unexpected(results.error());
    report.results = *results;
    report.seconds = std::chrono::duration<double>(SteadyClock::now() - begin).count();
    for (BenchProcess& process : report.processes) process.after = UsageOf(process.process);
    return {};
}

Result<BenchReport> Bench(const BenchOptions& options) {
    // Destroyed in the opposite order: workers say goodbye to a scheduler that is still there.
    std::optional<ScratchFolder> folder;
    std::optional<Child> scheduler;
    ClientOptions target = options.client;
    BenchReport report{.plan = options.plan, .fleet = options.fleet};
    if (options.server->count() == 0) {
        auto started = StartScheduler(options, folder);
        if (!started) return std::unexpected(started.error());
        scheduler.emplace(std::move(*started));
        auto url = UrlOf(*scheduler);
        if (!url) return std::unexpected(url.error());
        target.server = *url;
        report.processes.push_back({"scheduler", scheduler->process()});
    }
    auto fleet = BenchFleet::Start(options.fleet, target);
    if (!fleet) return std::unexpected(fleet.error());
    for (const pid_t process : fleet->processes()) {
        const std::size_t number = report.processes.size() + (scheduler ? 0 : 1);
        report.processes.push_back({"worker " + std::to_string(number), process});
    }
    report.processes.push_back({"this client", getpid()});
    auto store = StoreOfScheduler(target);
    if (!store) return std::unexpected(store.error());
    report.store = std::move(*store);
    if (auto done = MeasureAll(target, report, *fleet); !done) return std::unexpected(done.error());
    return report;
}

int BenchAndPrint(BenchOptions options) {
    const auto latency_for = ParseDuration(options.latency_for);
    const auto timeout = ParseDuration(options.timeout);
    if (!latency_for || !timeout || *timeout <= Duration(0)) {
        PrintError(
            {ErrorCode::kInvalid, "--latency-for and --timeout must be durations such as 5s", {}});
        return kUsage;
    }
    options.plan.latency_for = *latency_for;
    options.plan.timeout = *timeout;
    const auto report = Bench(options);
    if (!report) {
        PrintError(report.error());
        return ExitOf(report.error());
    }
    options.client.json ? PrintBenchJson(*report) : PrintBench(*report);
    return kOk;
}

void AddBenchPlan(CLI::App& bench, BenchPlan& plan) {
    const auto tasks_max = static_cast<int>(kBenchTasksMax);
    bench.add_option("-n,--tasks", plan.tasks, "Submitted in bulk and run; 0 leaves it out")
        ->capture_default_str()
        ->check(CLI::Range(0, tasks_max));
    bench.add_option("--drain", plan.drain, "Submitted in bulk to a paused queue, then run")
        ->capture_default_str()
        ->check(CLI::Range(0, tasks_max));
    bench.add_option("--single", plan.single, "Submitted one by one")
        ->capture_default_str()
        ->check(CLI::Range(0, tasks_max));
    bench.add_option("--pending", plan.pending, "Wait meanwhile; no worker runs them")
        ->capture_default_str()
        ->check(CLI::Range(0, tasks_max));
    bench.add_option("--payload", plan.payload, "Bytes of each task's payload")
        ->capture_default_str()
        ->check(CLI::Range(static_cast<int>(kBenchPayloadMin), 16 << 20));
    bench.add_option("--kinds", plan.kinds, "Of tasks, by the labels that they ask of a worker")
        ->capture_default_str()
        ->check(CLI::Range(1, static_cast<int>(kBenchKindsMax)));
    bench.add_option("--batch", plan.batch, "Tasks per bulk submit, 16 MiB at most")
        ->capture_default_str()
        ->check(CLI::Range(1, 10'000));
    bench.add_option("--submitters", plan.submitters, "Connections that submit in bulk")
        ->capture_default_str()
        ->check(CLI::Range(1, 64));
    bench.add_option("--rate", plan.rate, "Single submits per second for the latency")
        ->capture_default_str()
        ->check(CLI::Range(1, 100'000));
}

}  // namespace

void AddBench(CLI::App& app, Context& context) {
    auto options = std::make_shared<BenchOptions>();
    CLI::App* bench = app.add_subcommand(
        "bench", "Measures submit, run and result with a scheduler and workers of its own");
    options->client.formats = false;
    options->client.Add(*bench);
    // A TAKT_SERVER that is there for the other commands must not be loaded by accident.
    options->server = bench->get_option("--server")->envname("");
    options->server->description("Measure this scheduler instead of one started for it");
    AddBenchPlan(*bench, options->plan);
    bench->add_option("--workers", options->fleet.processes, "Worker processes to start")
        ->capture_default_str()
        ->check(CLI::Range(1, 64));
    bench
        ->add_option("--sessions", options->fleet.sessions,
                     "Instead of one worker in each of these, so many light ones on one thread")
        ->check(CLI::Range(1, 10'000));
    bench->add_option("--capacity", options->fleet.capacity, "Of each worker")
        ->capture_default_str()
        ->check(CLI::Range(1, 10'000));
    bench->add_option("--latency-for", options->latency_for, "How long; 0s leaves it out")
        ->capture_default_str();
    bench->add_option("--timeout", options->timeout, "Give up on any part after")
        ->capture_default_str();
    bench->add_option("--store", options->store, "Store of the scheduler [a new file: store]")
        ->excludes(options->server);
    bench->add_option("--set", options->sets, "KEY=VALUE for the scheduler; repeatable")
        ->excludes(options->server);
    bench->footer(
        "examples:\n"
        "  takt bench\n"
        "  takt bench --tasks 500000 --workers 4 --json\n"
        "  takt bench --single 5000 --drain 200000 --store redis://127.0.0.1:6379\n"
        "  takt bench --pending 1000000 --payload 10000\n"
        "  takt bench --server http://10.0.0.5:8080 --rate 2000 --latency-for 30s\n");
    bench->callback([options, &context] { context.exit = BenchAndPrint(*options); });
}

}  // namespace takt::internal::cli
