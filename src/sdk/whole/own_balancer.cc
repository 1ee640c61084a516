#include "sdk/whole/own_balancer.h"

#include <exception>
#include <utility>
#include <vector>

#include "base/log.h"

namespace takt {
namespace {

class OwnBalancer final : public internal::Balancer {
  public:
    OwnBalancer(std::string name, std::unique_ptr<LoadBalancer> own)
        : name_(std::move(name)), own_(std::move(own)) {}

    std::size_t Pick(const internal::Execution& execution, std::uint64_t,
                     std::span<const internal::Choice> choices) override {
        Fill(choices);
        const internal::Task& task = *execution.task;
        const WorkToPlace work{.task_id = task.id.view(),
                               .task_name = task.name,
                               .type = task.type,
                               .queue = task.queue,
                               .priority = task.priority,
                               .failures = execution.failures,
                               .payload = execution.input()};
        // The program's code may do anything, but its tasks still have to go somewhere.
        try {
            const std::size_t index = own_->Pick(work, choices_);
            if (index < choices.size()) return index;
            Complain("it picked worker " + std::to_string(index) + " of " +
                     std::to_string(choices.size()));
        } catch (const std::exception& error) {
            Complain(error.what());
        } catch (...) {
            Complain("it threw something that is no std::exception");
        }
        return 0;
    }

  private:
    void Fill(std::span<const internal::Choice> choices) {
        choices_.clear();
        labels_.clear();
        for (const internal::Choice& choice : choices) {
            for (const auto& [key, value] : choice.worker->labels) {
                labels_.emplace_back(key.view(), value.view());
            }
        }
        std::size_t label = 0;
        for (const internal::Choice& choice : choices) {
            const internal::Worker& worker = *choice.worker;
            choices_.push_back({.id = worker.id.view(),
                                .name = worker.name,
                                .group = worker.group,
                                .capacity = worker.capacity,
                                .running = choice.busy,
                                .weight = worker.weight,
                                .cpu = choice.load->cpu,
                                .memory = choice.load->memory,
                                .connections = choice.load->connections,
                                .labels = std::span(labels_).subspan(label, worker.labels.size())});
            label += worker.labels.size();
        }
    }

    void Complain(std::string_view what) {
        internal::Log(internal::LogLevel::kError, "sdk",
                      "a strategy of the program's own failed; the first worker is taken",
                      {{"strategy", name_}, {"error", what}});
    }

    const std::string name_;
    const std::unique_ptr<LoadBalancer> own_;
    std::vector<WorkerChoice> choices_;                                  // Scratch,
    std::vector<std::pair<std::string_view, std::string_view>> labels_;  // both.
};

}  // namespace

LoadBalancer::~LoadBalancer() = default;

std::unique_ptr<internal::Balancer> WrapBalancer(const std::string& name,
                                                 const MakeLoadBalancer& make) {
    try {
        auto own = make ? make() : nullptr;
        if (own) return std::make_unique<OwnBalancer>(name, std::move(own));
    } catch (const std::exception& error) {
        internal::Log(internal::LogLevel::kError, "sdk",
                      "a strategy of the program's own could not be made; least_tasks is used",
                      {{"strategy", name}, {"error", error.what()}});
    }
    return nullptr;
}

}  // namespace takt
