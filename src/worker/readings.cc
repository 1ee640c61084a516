#include "worker/readings.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

namespace takt::internal {
namespace {

// A process with more open files than this is busy enough; counting them all would take a while.
constexpr std::uint32_t kFilesLookedAtMax = 4'096;

void ReadCpu(const std::string& proc, std::uint64_t& busy, std::uint64_t& all) {
    std::ifstream file(proc + "/stat");
    std::string name;
    file >> name;
    // user nice system idle iowait irq softirq steal; guest times are inside user and nice.
    for (int column = 0; column < 8; ++column) {
        std::uint64_t ticks = 0;
        if (!(file >> ticks)) return;
        all += ticks;
        if (column != 3 && column != 4) busy += ticks;
    }
}

float ReadMemory(const std::string& proc) {
    std::ifstream file(proc + "/meminfo");
    double total = 0;
    double available = 0;
    std::string name;
    std::string unit;
    double value = 0;
    while ((total == 0 || available == 0) && file >> name >> value) {
        if (name == "MemTotal:") total = value;
        if (name == "MemAvailable:") available = value;
        std::getline(file, unit);
    }
    return total > 0 ? static_cast<float>(std::clamp(1 - available / total, 0.0, 1.0)) : 0;
}

void ReadNetwork(const std::string& proc, std::uint64_t& in, std::uint64_t& out) {
    std::ifstream file(proc + "/net/dev");
    std::string line;
    while (std::getline(file, line)) {
        const std::size_t colon = line.find(':');
        if (colon == std::string::npos) continue;
        const std::size_t start = line.find_first_not_of(' ');
        if (std::string_view(line).substr(start, colon - start) == "lo") continue;
        std::istringstream columns(line.substr(colon + 1));
        std::uint64_t value = 0;
        // Received bytes come first, sent bytes ninth.
        for (int column = 0; column < 9 && columns >> value; ++column) {
            if (column == 0) in += value;
            if (column == 8) out += value;
        }
    }
}

std::uint32_t CountSockets(const std::string& proc) {
    std::uint32_t sockets = 0;
    std::uint32_t looked_at = 0;
    std::error_code error;
    for (auto entry = std::filesystem::directory_iterator(proc + "/self/fd", error);
         !error && entry != std::filesystem::directory_iterator() && looked_at < kFilesLookedAtMax;
         entry.increment(error), ++looked_at) {
        std::error_code gone;
        const auto target = std::filesystem::read_symlink(entry->path(), gone);
        if (!gone && target.native().starts_with("socket:")) ++sockets;
    }
    return sockets;
}

double Rate(std::uint64_t now, std::uint64_t before, double seconds) {
    return seconds > 0 && now > before ? static_cast<double>(now - before) / seconds : 0;
}

}  // namespace

Reading Readings::Read(Steady now) {
    Totals totals;
    ReadCpu(proc_, totals.cpu_busy, totals.cpu_all);
    ReadNetwork(proc_, totals.bytes_in, totals.bytes_out);
    Reading reading{.memory = ReadMemory(proc_), .connections = CountSockets(proc_)};
    if (last_at_ != Steady{}) {
        const double seconds = std::chrono::duration<double>(now - last_at_).count();
        const double ticks =
            static_cast<double>(totals.cpu_all) - static_cast<double>(last_.cpu_all);
        const double busy =
            static_cast<double>(totals.cpu_busy) - static_cast<double>(last_.cpu_busy);
        if (ticks > 0) reading.cpu = static_cast<float>(std::clamp(busy / ticks, 0.0, 1.0));
        reading.network_in = Rate(totals.bytes_in, last_.bytes_in, seconds);
        reading.network_out = Rate(totals.bytes_out, last_.bytes_out, seconds);
    }
    last_ = totals;
    last_at_ = now;
    return reading;
}

}  // namespace takt::internal
