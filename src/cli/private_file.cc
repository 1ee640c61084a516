#include "cli/private_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace takt::internal::cli {

Result<void> WritePrivateFile(const std::string& path, const std::string& text) {
    const auto failed = [&] {
        return Fail(ErrorCode::kInvalid, "cannot write " + path + ": " + std::strerror(errno));
    };
    std::error_code made;
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    if (std::filesystem::create_directories(folder, made); made) {
        return Fail(ErrorCode::kInvalid, "cannot make " + folder.string() + ": " + made.message());
    }
    const std::string partial = path + ".partial";
    unlink(partial.c_str());
    const int file = open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) return failed();
    const ssize_t written = write(file, text.data(), text.size());
    const bool whole = written == static_cast<ssize_t>(text.size()) && fsync(file) == 0;
    close(file);
    if (!whole || rename(partial.c_str(), path.c_str()) != 0) return failed();
    return {};
}

}  // namespace takt::internal::cli
