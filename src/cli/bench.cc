// takt bench: submit → run → result through the real port, with real processes.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <thread>

#include "base/json.h"
#include "cli/bench_run.h"
#include "cli/child.h"
#include "cli/client.h"
#include "cli/output.h"
#include "takt/version.h"

namespace takt::internal::cli {
namespace {

constexpr Duration kStart{30'000};  // For processes to come up on a busy machine.

struct BenchOptions {
    ClientOptions client;
    CLI::Option* server = nullptr;
    std::string store;
    BenchPlan plan;
    std::size_t workers = 2;
    std::size_t capacity = 500;
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

struct Process {
    std::string name;
    pid_t process;
    Usage before{};
    Usage after{};
};

struct Report {
    std::string store;
    Throughput throughput;
    Latency latency;
    std::vector<Process> processes;
    double seconds = 0;
};

// "takt 0.1.0 listens on http://127.0.0.1:40123"
Result<std::string> UrlOf(Child& server) {
    const auto line = server.ReadLine(kStart);
    if (!line) return std::unexpected(line.error());
    const std::size_t at = line->find("http");
    if (at == std::string::npos) {
        return Fail(ErrorCode::kUnavailable, "the scheduler said '" + *line + "' and no address");
    }
    return line->substr(at);
}

Result<void> WaitForWorkers(Client& client, const std::string& prefix, std::size_t count) {
    const Steady end = SteadyClock::now() + kStart;
    while (SteadyClock::now() < end) {
        std::size_t online = 0;
        if (const auto page = client.Get("/api/v1/workers"); page) {
            for (const auto* worker : ListMember(page->value, "items")) {
                online += Member(*worker, "id").starts_with(prefix) &&
                          Member(*worker, "connected") == "true";
            }
        } else if (page.error().code != ErrorCode::kUnavailable) {
            return std::unexpected(page.error());
        }
        if (online >= count) return {};
        std::this_thread::sleep_for(Duration(20));
    }
    return Fail(ErrorCode::kUnavailable, "the workers did not come up in time");
}

std::vector<std::string> WorkerArguments(const BenchOptions& options, const std::string& url,
                                         const std::string& id) {
    std::vector<std::string> arguments = {
        "worker", "--server",    url,    "--id", id, "--capacity", std::to_string(options.capacity),
        "--demo", "--log-level", "error"};
    if (!options.client.token.empty()) {
        arguments.insert(arguments.end(), {"--token", options.client.token});
    }
    return arguments;
}

void PrintReport(const Report& report) {
    const Throughput& all = report.throughput;
    const Latency& latency = report.latency;
    const std::string started =
        latency.tasks == 0
            ? "-"
            : fmt::format(
                  "p50 {:.2f} ms  p99 {:.2f} ms  p99.9 {:.2f} ms  max {:.2f} ms  "
                  "({} tasks at {:.0f}/s)",
                  latency.p50, latency.p99, latency.p999, latency.max, latency.tasks, latency.rate);
    const auto per_second = [&](double seconds) {
        return Cell(fmt::format("{:.0f}/s", static_cast<double>(all.tasks) / seconds));
    };
    std::fputs(Fields({{"store", Cell(report.store)},
                       {"tasks", Cell(std::to_string(all.tasks))},
                       {"submitted", per_second(all.submit_seconds)},
                       {"completed", per_second(all.total_seconds)},
                       {"submit to start", Cell(started)}})
                   .c_str(),
               stdout);
    Table table({"PROCESS", "CPU", "OF ONE CORE", "MEMORY"});
    for (const Process& process : report.processes) {
        const double cpu = process.after.cpu_seconds - process.before.cpu_seconds;
        table.Add({process.name, fmt::format("{:.2f}s", cpu),
                   fmt::format("{:.0f}%", 100 * cpu / report.seconds),
                   fmt::format("{:.1f} MiB",
                               static_cast<double>(process.after.memory_peak_bytes) / (1 << 20))});
    }
    std::printf("\n%s", table.Text().c_str());
}

void PrintReportJson(const Report& report) {
    std::string text;
    JsonWriter json(text);
    const Throughput& all = report.throughput;
    json.BeginObject().Field("version", kVersion).Field("store", std::string_view(report.store));
    json.Field("tasks", all.tasks).Field("submit_seconds", all.submit_seconds);
    json.Field("total_seconds", all.total_seconds);
    json.Field("submitted_per_second", static_cast<double>(all.tasks) / all.submit_seconds);
    json.Field("completed_per_second", static_cast<double>(all.tasks) / all.total_seconds);
    json.Key("latency_ms");
    if (report.latency.tasks == 0) {
        json.Null();
    } else {
        json.BeginObject().Field("tasks", report.latency.tasks).Field("rate", report.latency.rate);
        json.Field("p50", report.latency.p50).Field("p99", report.latency.p99);
        json.Field("p999", report.latency.p999).Field("max", report.latency.max).EndObject();
    }
    json.Key("processes").BeginArray();
    for (const Process& process : report.processes) {
        json.BeginObject().Field("name", std::string_view(process.name));
        json.Field("cpu_seconds", process.after.cpu_seconds - process.before.cpu_seconds);
        json.Field("memory_peak_bytes", process.after.memory_peak_bytes).EndObject();
    }
    json.EndArray().EndObject();
    std::printf("%s\n", text.c_str());
}

Result<Report> Measure(const BenchOptions& options, const ClientOptions& client, Report report) {
    for (Process& process : report.processes) process.before = UsageOf(process.process);
    const Steady begin = SteadyClock::now();
    auto throughput = MeasureThroughput(client, options.plan);
    if (!throughput) return std::unexpected(throughput.error());
    report.throughput = *throughput;
    auto latency = MeasureLatency(client, options.plan);
    if (!latency) return std::unexpected(latency.error());
    report.latency = *latency;
    report.seconds = std::chrono::duration<double>(SteadyClock::now() - begin).count();
    for (Process& process : report.processes) process.after = UsageOf(process.process);
    return report;
}

Result<Report> Run(const BenchOptions& options) {
    std::optional<ScratchFolder> folder;
    std::vector<Child> children;
    ClientOptions target = options.client;
    Report report;
    if (options.server->count() == 0) {
        std::string store = options.store;
        if (store.empty()) {
            auto made = ScratchFolder::Make();
            if (!made) return std::unexpected(made.error());
            folder.emplace(std::move(*made));
            store = "file:" + folder->path();
        }
        auto server = Child::Start(
            {"serve", "--store", store, "--listen", "127.0.0.1:0", "--log-level", "error"});
        if (!server) return std::unexpected(server.error());
        children.push_back(std::move(*server));
        auto url = UrlOf(children.back());
        if (!url) return std::unexpected(url.error());
        target.server = *url;
        report.processes.push_back({"scheduler", children.back().process()});
    }
    const std::string prefix = "bench-" + std::to_string(getpid()) + "-";
    for (std::size_t i = 1; i <= options.workers; ++i) {
        auto worker =
            Child::Start(WorkerArguments(options, target.server, prefix + std::to_string(i)));
        if (!worker) return std::unexpected(worker.error());
        children.push_back(std::move(*worker));
        report.processes.push_back({"worker " + std::to_string(i), children.back().process()});
    }
    report.processes.push_back({"this client", getpid()});
    auto client = Client::Open(target);
    if (!client) return std::unexpected(client.error());
    if (auto ready = WaitForWorkers(*client, prefix, options.workers); !ready) {
        return std::unexpected(ready.error());
    }
    const auto status = client->Get("/api/v1/scheduler/status");
    if (!status) return std::unexpected(status.error());
    if (const auto* store = FindMember(status->value, "store")) {
        report.store = Member(*store, "description");
    }
    auto measured = Measure(options, target, std::move(report));
    // Workers first: they say goodbye to a scheduler that is still there.
    while (!children.empty()) children.pop_back();
    return measured;
}

int Bench(BenchOptions options) {
    const auto latency_for = ParseDuration(options.latency_for);
    const auto timeout = ParseDuration(options.timeout);
    if (!latency_for || !timeout || *timeout <= Duration(0)) {
        PrintError(
            {ErrorCode::kInvalid, "--latency-for and --timeout must be durations such as 5s", {}});
        return kUsage;
    }
    options.plan.latency_for = *latency_for;
    options.plan.timeout = *timeout;
    const auto report = Run(options);
    if (!report) {
        PrintError(report.error());
        return ExitOf(report.error());
    }
    options.client.json ? PrintReportJson(*report) : PrintReport(*report);
    return kOk;
}

}  // namespace

void AddBench(CLI::App& app, Context& context) {
    auto options = std::make_shared<BenchOptions>();
    CLI::App* bench = app.add_subcommand(
        "bench", "Measures submit, run and result with a scheduler and workers of its own");
    options->client.Add(*bench);
    // A TAKT_SERVER that is there for the other commands must not be loaded by accident.
    options->server = bench->get_option("--server")->envname("");
    options->server->description("Measure this scheduler instead of one started for it");
    bench->add_option("-n,--tasks", options->plan.tasks, "Tasks for the throughput")
        ->capture_default_str()
        ->check(CLI::Range(1, 10'000'000));
    bench->add_option("--batch", options->plan.batch, "Tasks per bulk submit")
        ->capture_default_str()
        ->check(CLI::Range(1, 10'000));
    bench->add_option("--submitters", options->plan.submitters, "Connections that submit")
        ->capture_default_str()
        ->check(CLI::Range(1, 64));
    bench->add_option("--workers", options->workers, "Worker processes to start")
        ->capture_default_str()
        ->check(CLI::Range(0, 64));
    bench->add_option("--capacity", options->capacity, "Of each worker")
        ->capture_default_str()
        ->check(CLI::Range(1, 10'000));
    bench->add_option("--rate", options->plan.rate, "Single submits per second for the latency")
        ->capture_default_str()
        ->check(CLI::Range(1, 100'000));
    bench->add_option("--latency-for", options->latency_for, "How long; 0s leaves it out")
        ->capture_default_str();
    bench->add_option("--timeout", options->timeout, "Give up on either part after")
        ->capture_default_str();
    bench->add_option("--store", options->store, "Store of the scheduler [a new file: store]");
    bench->footer(
        "examples:\n"
        "  takt bench\n"
        "  takt bench --tasks 500000 --workers 4 --json\n"
        "  takt bench --server http://10.0.0.5:8080 --rate 2000 --latency-for 30s\n");
    bench->callback([options, &context] { context.exit = Bench(*options); });
}

}  // namespace takt::internal::cli
