// LockFile: one process at a time uses a directory. The lock goes with the process, however it
// ends.
#pragma once

#include <string>

#include "base/error.h"

namespace takt::internal::embedded {

class LockFile {
  public:
    LockFile() = default;
    ~LockFile();
    LockFile(LockFile&& other) noexcept;
    LockFile& operator=(LockFile&& other) noexcept;

    // kConflict, naming the process that holds it.
    static Result<LockFile> Take(const std::string& directory);

  private:
    explicit LockFile(int file) : file_(file) {}
    int file_ = -1;
};

}  // namespace takt::internal::embedded
