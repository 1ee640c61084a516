// A directory for one test, gone when the test is over.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "base/check.h"

namespace takt::internal {

class TemporaryDirectory {
  public:
    TemporaryDirectory() {
        std::string name = std::filesystem::temp_directory_path() / "takt-test-XXXXXX";
        TAKT_CHECK(mkdtemp(name.data()) != nullptr);
        path_ = name;
    }
    ~TemporaryDirectory() {
        std::error_code ignored;  // What is left behind is in /tmp.
        std::filesystem::remove_all(path_, ignored);
    }
    TemporaryDirectory(const TemporaryDirectory&) = delete;
    TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

}  // namespace takt::internal
