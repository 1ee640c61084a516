// How each strategy spreads 100,000 tasks over 10 uneven workers: the real engine in virtual time.
//
//   strategy_bench [file.svg]
//
// Prints a table and draws the shares. Workers differ in capacity and speed; tasks come at random,
// at two thirds of what all workers together can do. Equal seeds give equal pictures.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <numeric>
#include <queue>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "engine/engine.h"

namespace takt::internal {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kTasks = 100'000;
constexpr std::size_t kWorkers = 10;
constexpr std::size_t kNames = 200;  // Tasks of one name stay together under sticky.
constexpr Duration kTakes = 2s;      // On average, at speed 1.
constexpr double kUtilization = 2.0 / 3;

struct Machine {
    std::uint32_t capacity;
    double speed;
};
constexpr std::array<Machine, kWorkers> kMachines{{{4, 1.0},
                                                   {4, 2.0},
                                                   {8, 0.5},
                                                   {8, 1.0},
                                                   {12, 1.0},
                                                   {16, 0.5},
                                                   {16, 1.5},
                                                   {24, 1.0},
                                                   {32, 0.75},
                                                   {40, 1.0}}};

double Power(const Machine& machine) {
    return machine.capacity * machine.speed;
}

double PowerOfAll() {
    return std::accumulate(kMachines.begin(), kMachines.end(), 0.0,
                           [](double sum, const Machine& machine) { return sum + Power(machine); });
}

struct Spread {
    Strategy strategy{};
    std::array<std::size_t, kWorkers> tasks{};
    std::array<double, kWorkers> busiest{};  // Of its capacity, at most.
    double full = 0;                         // Part of the assignments after which it was full.
    std::vector<Duration> waits;             // Sorted.
};

// One strategy from the first task to the last.
class Run {
  public:
    explicit Run(Strategy strategy) : engine_(Config(strategy), {0, 1}, SeedOf(1)) {
        spread_.strategy = strategy;
    }

    Spread Go() {
        engine_.Begin(0, At(Duration(0)), effects_);
        for (std::size_t i = 0; i < kWorkers; ++i) {
            Worker worker;
            worker.id = WorkerId(Text("worker-" + std::to_string(i + 1)));
            worker.capacity = worker.weight = kMachines[i].capacity;
            worker_index_[worker.id] = i;
            Step(Duration(0), Attach{.session = i + 1, .worker = worker});
        }
        std::size_t submitted = 0;
        double arrival = 0;
        double next_beat = 0;
        while (submitted < kTasks || !ends_.empty()) {
            const double end = ends_.empty() ? INFINITY : ends_.top().at;
            const double next = submitted < kTasks ? std::min(arrival, end) : end;
            if (next_beat <= next) {
                Beat(Duration(std::int64_t(next_beat)));
                next_beat += 1000;
            } else if (next == end) {
                Finish();
            } else {
                SubmitOne(Duration(std::int64_t(arrival)));
                ++submitted;
                // Exponential: as if many users knew nothing of each other.
                arrival -= std::log(1 - random_.Fraction()) * double(kTakes.count()) /
                           (PowerOfAll() * kUtilization);
            }
        }
        std::ranges::sort(spread_.waits);
        spread_.full /= double(spread_.waits.size());
        return std::move(spread_);
    }

  private:
    struct End {
        double at = 0;
        std::size_t worker = 0;
        AttemptRef attempt;
        friend bool operator<(const End& a, const End& b) { return a.at > b.at; }
    };

    static EngineConfig Config(Strategy strategy) {
        EngineConfig config;
        config.strategy = strategy;
        config.timeout = 24h;
        return config;
    }
    static Instant At(Duration now) { return {Time(1'000'000h) + now, Steady(1h) + now}; }

    void Step(Duration now, Input input) {
        engine_.Step(std::move(input), At(now), effects_);
        for (const Assign& assign : effects_.assigns) Start(now, assign);
        effects_ = Effects{.generation = effects_.generation + 1};
    }

    void Start(Duration now, const Assign& assign) {
        const std::size_t worker = worker_index_.at(assign.execution.worker);
        const Machine& machine = kMachines[worker];
        ++spread_.tasks[worker];
        ++busy_[worker];
        const double filled = double(busy_[worker]) / machine.capacity;
        spread_.busiest[worker] = std::max(spread_.busiest[worker], filled);
        spread_.full += filled >= 1 ? 1 : 0;
        spread_.waits.push_back(At(now).wall - assign.execution.created_at);
        const double takes = double(kTakes.count()) * (0.5 + random_.Fraction()) / machine.speed;
        const Execution& row = assign.execution;
        ends_.push({double(now.count()) + takes, worker, {row.id, row.attempt, row.token}});
    }

    void Finish() {
        const End end = ends_.top();
        ends_.pop();
        --busy_[end.worker];
        Step(Duration(std::int64_t(end.at)),
             Report{.session = end.worker + 1, .attempt = end.attempt, .success = true});
    }

    // Reports the load that least_connections and resource_aware go by. Slow machines are hot for
    // the same work.
    void Beat(Duration now) {
        for (std::size_t i = 0; i < kWorkers; ++i) {
            const double filled = double(busy_[i]) / kMachines[i].capacity;
            WorkerLoad load;
            load.cpu = float(std::min(1.0, filled / std::max(kMachines[i].speed, 0.5)));
            load.memory = float(0.2 + 0.6 * filled);
            load.connections = busy_[i];
            Step(now, Heartbeat{.session = i + 1, .load = load});
        }
    }

    void SubmitOne(Duration now) {
        NewTaskPtr task(new Task);
        task->name = Text("name-" + std::to_string(random_.Below(kNames)));
        task->type = "work";
        task->queue = "default";
        Step(now, Submit{.task = std::move(task)});
    }

    Engine engine_;
    Effects effects_;
    Random random_{SeedOf(2)};
    std::map<WorkerId, std::size_t> worker_index_;
    std::array<std::uint32_t, kWorkers> busy_{};
    std::priority_queue<End> ends_;
    Spread spread_;
};

double Share(const Spread& spread, std::size_t worker) {
    return double(spread.tasks[worker]) / double(kTasks) * 100;
}

double FairShare(std::size_t worker) {
    return Power(kMachines[worker]) / PowerOfAll() * 100;
}

// Half the sum of what some have too much and others too little, in points of a hundred.
double Misplaced(const Spread& spread) {
    double sum = 0;
    for (std::size_t i = 0; i < kWorkers; ++i) sum += std::abs(Share(spread, i) - FairShare(i));
    return sum / 2;
}

void PrintTable(const std::vector<Spread>& spreads) {
    fmt::print("{} tasks over {} workers; share of each in %, beside what it can do\n\n", kTasks,
               kWorkers);
    fmt::print("{:<22}", "capacity x speed");
    for (const Machine& machine : kMachines) {
        fmt::print("{:>8}", fmt::format("{}x{:g}", machine.capacity, machine.speed));
    }
    fmt::print("{:>11}{:>10}{:>11}\n{:<22}", "misplaced", "to full", "wait p99", "what it can do");
    for (std::size_t i = 0; i < kWorkers; ++i) fmt::print("{:>8.1f}", FairShare(i));
    fmt::print("\n");
    for (const Spread& spread : spreads) {
        fmt::print("{:<22}", Name(spread.strategy));
        for (std::size_t i = 0; i < kWorkers; ++i) fmt::print("{:>8.1f}", Share(spread, i));
        fmt::print("{:>9.1f} %{:>8.1f} %{:>8} ms\n", Misplaced(spread), spread.full * 100,
                   spread.waits[spread.waits.size() * 99 / 100].count());
    }
    fmt::print(
        "\nmisplaced: tasks that went elsewhere than in proportion to capacity x speed\n"
        "to full: assignments after which the worker had no room left\n");
}

// --- The picture --------------------------------------------------------------------------------

constexpr double kPanelWidth = 300;
constexpr double kPanelHeight = 190;
constexpr double kShareMax = 35;  // Of the axis, in %.
constexpr double kPlotLeft = 40;
constexpr double kPlotTop = 34;
constexpr double kPlotWidth = 245;
constexpr double kPlotHeight = 110;

double HeightOf(double share) {
    return std::min(share, kShareMax) / kShareMax * kPlotHeight;
}

std::string Panel(const Spread& spread, double x, double y) {
    std::string svg = fmt::format("<g transform=\"translate({} {})\">\n", x, y);
    svg += fmt::format("<text class=\"name\" x=\"{}\" y=\"20\">{}</text>\n", kPlotLeft,
                       Name(spread.strategy));
    svg += fmt::format(
        "<text class=\"small\" x=\"{}\" y=\"20\" text-anchor=\"end\">{:.0f} % misplaced</text>\n",
        kPlotLeft + kPlotWidth, Misplaced(spread));
    for (int share = 0; share <= int(kShareMax); share += 10) {
        const double at = kPlotTop + kPlotHeight - HeightOf(share);
        svg += fmt::format(
            "<line class=\"grid\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>"
            "<text class=\"small\" x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5} %</text>\n",
            kPlotLeft, kPlotLeft + kPlotWidth, at, kPlotLeft - 4, at + 3.5, share);
    }
    const double step = kPlotWidth / double(kWorkers);
    for (std::size_t i = 0; i < kWorkers; ++i) {
        const double left = kPlotLeft + step * double(i);
        const double bar = HeightOf(Share(spread, i));
        const double fair = kPlotTop + kPlotHeight - HeightOf(FairShare(i));
        svg += fmt::format(
            "<rect class=\"bar\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>"
            "<line class=\"fair\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>"
            "<text class=\"small\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
            left + 4, kPlotTop + kPlotHeight - bar, step - 8, bar, left + 1, left + step - 1, fair,
            fair, left + step / 2, kPlotTop + kPlotHeight + 13, kMachines[i].capacity);
    }
    svg += fmt::format(
        "<text class=\"small\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">workers, by "
        "capacity</text>\n",
        kPlotLeft + kPlotWidth / 2, kPlotTop + kPlotHeight + 28);
    return svg + "</g>\n";
}

std::string Picture(const std::vector<Spread>& spreads) {
    constexpr std::size_t kColumns = 3;
    const double rows = std::ceil(double(spreads.size()) / double(kColumns));
    const double width = kPanelWidth * double(kColumns) + 20;
    const double height = 70 + kPanelHeight * rows;
    std::string svg = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
        "height=\"{1}\" font-family=\"sans-serif\">\n"
        "<title>How each strategy spreads {2} tasks over {3} uneven workers</title>\n"
        "<style>.name{{font-size:12px;font-weight:bold;fill:#222}}.small{{font-size:10px;fill:#555}"
        "}"
        ".bar{{fill:#4c78a8}}.fair{{stroke:#d95f02;stroke-width:2}}.grid{{stroke:#ddd}}</style>\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
        "<text class=\"name\" x=\"20\" y=\"24\">{2} tasks over {3} uneven workers, by "
        "strategy</text>\n"
        "<text class=\"small\" x=\"20\" y=\"42\">Bars: share of the tasks that each worker got. "
        "Orange: "
        "its share of all capacity × speed. Speeds differ from 0.5 to "
        "2.</text>\n",
        width, height, kTasks, kWorkers);
    for (std::size_t i = 0; i < spreads.size(); ++i) {
        const std::size_t row = i / kColumns;
        svg += Panel(spreads[i], 10 + kPanelWidth * double(i % kColumns),
                     56 + kPanelHeight * double(row));
    }
    return svg + "</svg>\n";
}

int Main(int count, char** arguments) {
    std::vector<Spread> spreads;
    for (int i = 0; i < int(Strategy::kCustom); ++i) spreads.push_back(Run(Strategy(i)).Go());
    PrintTable(spreads);
    const std::string path = count > 1 ? arguments[1] : "bench/results/strategies.svg";
    std::ofstream file(path);
    file << Picture(spreads);
    if (!file.flush()) {
        fmt::print(stderr, "cannot write {}; name another file\n", path);
        return 1;
    }
    fmt::print("drawn to {}\n", path);
    return 0;
}

}  // namespace
}  // namespace takt::internal

int main(int count, char** arguments) {
    return takt::internal::Main(count, arguments);
}
