// The workflows of examples/workflows, written in C++: extract, transform, load; a fan-out over
// files with a reduce; a broadcast that clears caches. Their steps are run by
// example_workflow_worker, or by workflows/worker.py.
//
//     example_workflows [URL]
#include <chrono>
#include <iostream>

#include "takt/client.h"
#include "takt/workflow.h"

namespace {

using namespace std::chrono_literals;

takt::Task Etl() {
    takt::Workflow etl("etl");
    etl.Input(R"({"day": "2026-11-15"})")
        .Step("extract", "flow.extract")
        .Payload(R"({"day": )" + takt::Input("/day") + "}")
        .Step("transform", "flow.transform")
        .After("extract")
        .Payload(R"({"rows": )" + takt::From("extract", "/rows") + "}")
        .Step("load", "flow.load")
        .After("transform")
        .Payload(takt::From("transform"));
    return etl.task();
}

takt::Task FanOut() {
    takt::Workflow fan_out("fan-out");
    fan_out.Step("list", "flow.list");
    fan_out.Step("count", "flow.count")
        .After("list")
        .ForEach(takt::From("list", "/files"))
        .Payload(R"({"file": )" + takt::Item() + "}")
        .Parallel(10);
    fan_out.Step("sum", "flow.sum").After("count");
    fan_out.Payload(R"({"counts": )" + takt::From("count") + "}");
    return fan_out.task();
}

takt::Task ClearCaches() {
    return {.name = "clear-caches", .type = "flow.clear", .each_worker = true};
}

}  // namespace

int main(int argc, char** argv) {
    takt::Client client({.servers = {argc > 1 ? argv[1] : "http://127.0.0.1:8080"}});
    for (const takt::Task& task : {Etl(), FanOut(), ClearCaches()}) {
        const auto run = client.SubmitTask(task);
        const auto done = run ? client.WaitForTask(run->id, 1min) : run.error();
        if (!done) {
            std::cerr << task.name << ": " << done.error().message << "\n";
            return 1;
        }
        std::cout << task.name << ": " << takt::Name(done->status) << " " << done->result
                  << std::endl;
    }
}
