// PatientStore: a store that cannot be reached yet. It opens it again and again until that succeeds
// and answers kUnavailable, with the reason, meanwhile; so a scheduler that starts before its
// database serves, says so and goes on by itself. A database that is there and does not answer is no
// different: it is opened on a thread of the store's own.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "store/store_room.h"
#include "store/store_wrapper.h"

namespace takt::internal {

class PatientStore final : public StoreWrapper, public CountsRoom {
  public:
    using Open = std::function<Result<std::unique_ptr<Store>>()>;

    // `name` is what people see until the store itself says it.
    PatientStore(std::string name, Open open, Duration interval);
    // Waits for an attempt that is under way.
    ~PatientStore() override;

    // Waits for the first attempt, but no longer than that. Its error; success if there is none, or
    // not yet.
    Result<void> AwaitFirst(Duration patience);

    std::string Describe() const override;
    std::optional<StoreRoom> Room() const override {
        const Store* open = counted_;
        return open ? RoomOf(*open) : std::nullopt;
    }

  private:
    class Away;

    void OpenAgain(const std::stop_token& stop);
    // Whether the store is open now; else why it is not.
    Result<void> TryOpen();
    void EndFirst(Result<void> how);

    const std::string name_;
    const Open open_;
    const Duration interval_;
    std::unique_ptr<Away> away_;
    std::unique_ptr<Store> opened_;  // Written before it is the inner store, then only read.
    std::atomic<const Store*> counted_{nullptr};  // The same, once it is.
    std::mutex mutex_;
    std::condition_variable_any changed_;  // A stop was asked for, or the first attempt ended.
    std::optional<Result<void>> first_;    // How it ended.
    std::jthread thread_;
};

}  // namespace takt::internal
