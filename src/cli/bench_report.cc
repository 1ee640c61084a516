#include "cli/bench_report.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/json.h"
#include "cli/output.h"
#include "takt/version.h"

namespace takt::internal::cli {
namespace {

Cell BenchCell(const std::optional<Rate>& rate) {
    if (!rate) return Cell("-");
    return Cell(fmt::format("{:.0f}/s  ({} tasks)", rate->per_second(), rate->tasks));
}

Cell BenchCell(const std::optional<Latency>& latency) {
    if (!latency) return Cell("-");
    return Cell(fmt::format(
        "p50 {:.2f} ms  p99 {:.2f} ms  p99.9 {:.2f} ms  max {:.2f} ms  ({} tasks at {:.0f}/s)",
        latency->p50, latency->p99, latency->p999, latency->max, latency->tasks,
        latency->sent.per_second()));
}

// Without its end, for more members.
JsonWriter& BeginRate(JsonWriter& json, std::string_view name, const Rate& rate) {
    json.Key(name).BeginObject().Field("tasks", rate.tasks).Field("seconds", rate.seconds);
    return json.Field("per_second", rate.per_second());
}

void WritePhases(JsonWriter& json, const BenchResults& results) {
    json.Key("phases").BeginObject();
    const auto write = [&](std::string_view name, const std::optional<Rate>& rate) {
        if (rate) BeginRate(json, name, *rate).EndObject();
    };
    write("pending", results.pending);
    write("single", results.single);
    write("bulk", results.bulk);
    write("drain", results.drain);
    write("submitted", results.submitted);
    write("end_to_end", results.end_to_end);
    if (results.latency) {
        const Latency& latency = *results.latency;
        BeginRate(json, "latency", latency.sent).Key("ms").BeginObject();
        json.Field("tasks", latency.tasks).Field("p50", latency.p50).Field("p99", latency.p99);
        json.Field("p999", latency.p999).Field("max", latency.max).EndObject().EndObject();
    }
    json.EndObject();
}

}  // namespace

void PrintBench(const BenchReport& report) {
    const BenchResults& results = report.results;
    std::vector<std::pair<std::string, Cell>> fields = {{"store", Cell(report.store)}};
    if (results.pending) fields.emplace_back("pending meanwhile", BenchCell(results.pending));
    if (results.single) fields.emplace_back("submitted one by one", BenchCell(results.single));
    if (results.bulk) fields.emplace_back("submitted in bulk", BenchCell(results.bulk));
    if (results.drain) fields.emplace_back("drained", BenchCell(results.drain));
    if (results.submitted) fields.emplace_back("submitted", BenchCell(results.submitted));
    if (results.end_to_end) fields.emplace_back("completed", BenchCell(results.end_to_end));
    if (results.latency) fields.emplace_back("submit to start", BenchCell(results.latency));
    std::fputs(Fields(fields).c_str(), stdout);
    Table table({"PROCESS", "CPU", "OF ONE CORE", "MEMORY"});
    for (const BenchProcess& process : report.processes) {
        const double cpu = process.after.cpu_seconds - process.before.cpu_seconds;
        table.Add({process.name, fmt::format("{:.2f}s", cpu),
                   fmt::format("{:.0f}%", 100 * cpu / report.seconds),
                   fmt::format("{:.1f} MiB",
                               static_cast<double>(process.after.memory_peak_bytes) / (1 << 20))});
    }
    std::printf("\n%s", table.Text().c_str());
}

void PrintBenchJson(const BenchReport& report) {
    std::string text;
    JsonWriter json(text);
    json.BeginObject().Field("version", kVersion).Field("store", std::string_view(report.store));
    json.Field("payload_bytes", report.plan.payload).Field("workers", report.fleet.processes);
    json.Field("sessions", report.fleet.sessions).Field("capacity", report.fleet.capacity);
    json.Field("batch", report.plan.batch).Field("submitters", report.plan.submitters);
    WritePhases(json, report.results);
    json.Key("processes").BeginArray();
    for (const BenchProcess& process : report.processes) {
        json.BeginObject().Field("name", std::string_view(process.name));
        json.Field("cpu_seconds", process.after.cpu_seconds - process.before.cpu_seconds);
        json.Field("memory_peak_bytes", process.after.memory_peak_bytes).EndObject();
    }
    json.EndArray().EndObject();
    std::printf("%s\n", text.c_str());
}

}  // namespace takt::internal::cli
