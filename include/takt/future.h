// The calls of SchedulerApi that do not block, with a std::future of their answer.
//
//     auto run = client.RunAsync({.type = "resize"}, 1min);
//     …
//     if (const auto ended = run.get()) …
//
// A header of its own, so that a program without futures compiles faster.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <string_view>
#include <utility>

#include "takt/scheduler_api.h"

namespace takt {

// A promise that a call keeps, which is begun with the callback for its answer.
template <typename T, typename Begin>
std::future<Result<T>> Promise(Begin begin) {
    auto promise = std::make_shared<std::promise<Result<T>>>();
    auto future = promise->get_future();
    begin([promise](Result<T> answer) { promise->set_value(std::move(answer)); });
    return future;
}

template <typename...>
auto SchedulerApi::SubmitTaskAsync(const Task& task) {
    return Promise<TaskRecord>([&](auto done) { SubmitNow(task, std::move(done)); });
}

template <typename...>
auto SchedulerApi::WaitAsync(std::string_view id, Duration timeout) {
    return Promise<Execution>([&](auto done) { WaitNow(id, timeout, std::move(done)); });
}

template <typename...>
auto SchedulerApi::RunAsync(const Task& task, Duration timeout) {
    return Promise<Execution>([&](auto done) { RunNow(task, timeout, std::move(done)); });
}

}  // namespace takt
