// PatientStore: a store that could not be reached when it was opened. It opens it again and again
// until that succeeds and answers kUnavailable, with the reason, meanwhile; so a scheduler that
// starts before its database serves, says so and goes on by itself.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "store/store_wrapper.h"

namespace takt::internal {

class PatientStore final : public StoreWrapper {
  public:
    using Open = std::function<Result<std::unique_ptr<Store>>()>;

    // `name` is what people see until the store itself says it. `why` is the error of the attempt
    // that the caller made.
    PatientStore(std::string name, Open open, Error why, Duration interval);
    ~PatientStore() override;

    std::string Describe() const override;

  private:
    class Away;

    void OpenAgain(const std::stop_token& stop, Error why);

    const std::string name_;
    const Open open_;
    const Duration interval_;
    std::unique_ptr<Away> away_;
    std::unique_ptr<Store> opened_;  // Written before it is the inner store, then only read.
    std::mutex mutex_;
    std::condition_variable_any stopped_;
    std::jthread thread_;
};

}  // namespace takt::internal
