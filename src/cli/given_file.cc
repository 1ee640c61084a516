#include "cli/given_file.h"

#include <fstream>
#include <iostream>

namespace takt::internal::cli {

Result<std::string> ReadGivenFile(const std::string& path) {
    std::ifstream file;
    if (path != "-") file.open(path, std::ios::binary);
    std::istream& in = path == "-" ? std::cin : file;
    std::string text;
    // By read(), which tells of a directory by its state; iterators throw.
    char block[65536];
    while (in.read(block, sizeof block) || in.gcount() > 0) {
        text.append(block, static_cast<std::size_t>(in.gcount()));
    }
    if (in.eof() && !in.bad()) return text;
    return Fail(ErrorCode::kInvalid,
                "cannot read " + (path == "-" ? std::string("standard input") : path));
}

}  // namespace takt::internal::cli
