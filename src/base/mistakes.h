// Mistakes: everything that is wrong with a configuration, told at once. Who has to start a program
// again for each line that is wrong gives up before the last one.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace takt::internal {

class Mistakes {
  public:
    void Add(Error error) {
        if (errors_.size() < kMistakesMax) errors_.push_back(std::move(error));
    }
    void AddIfAny(const Result<void>& result) {
        if (!result) Add(result.error());
    }
    const std::vector<Error>& errors() const { return errors_; }
    bool empty() const { return errors_.empty(); }

    // kInvalid with one line for each mistake, and the field of the first.
    Result<void> ToResult() const {
        if (errors_.empty()) return {};
        std::string lines;
        for (const Error& error : errors_) lines += (lines.empty() ? "" : "\n") + error.detail;
        return Fail(ErrorCode::kInvalid, std::move(lines), errors_.front().field);
    }

  private:
    // A page of them; whoever gave the wrong file wants no more.
    static constexpr std::size_t kMistakesMax = 20;

    std::vector<Error> errors_;
};

}  // namespace takt::internal
