#include "base/log.h"

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/ringbuffer_sink.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include <array>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <utility>

#include "base/check.h"
#include "base/json.h"
#include "base/log_limit.h"
#include "base/log_sink.h"
#include "base/unprintable.h"
#include "base/utf8.h"

namespace takt::internal {

namespace log_internal {
std::atomic<LogLevel> level{LogLevel::kInfo};
}  // namespace log_internal

namespace {

constexpr std::array<std::string_view, 6> kLevels = {"trace",   "debug", "info",
                                                     "warning", "error", "off"};
constexpr std::size_t kCaptureLinesMax = 10'000;

spdlog::level::level_enum SpdlogLevel(LogLevel level) {
    using enum spdlog::level::level_enum;
    static constexpr std::array kSpdlogLevels = {trace, debug, info, warn, err, off};
    return kSpdlogLevels[static_cast<std::size_t>(level)];
}

using Ring = spdlog::sinks::ringbuffer_sink_mt;

std::shared_ptr<spdlog::logger> NewLogger(spdlog::sink_ptr sink, LogFormat format) {
    auto logger = std::make_shared<spdlog::logger>("takt", std::move(sink));
    // Which levels are written is decided before we come here.
    logger->set_level(spdlog::level::trace);
    logger->flush_on(spdlog::level::trace);  // The last lines before a crash are the ones needed.
    logger->set_pattern(format == LogFormat::kJson ? "%v" : "%Y-%m-%dT%H:%M:%S.%eZ %^%l%$ %v",
                        spdlog::pattern_time_type::utc);
    return logger;
}

std::shared_ptr<spdlog::logger> NewStderrLogger(LogFormat format) {
    // https://no-color.org: any value but nothing.
    const char* no_color = std::getenv("NO_COLOR");
    const bool plain = format == LogFormat::kJson || (no_color && *no_color);
    return NewLogger(std::make_shared<spdlog::sinks::stderr_color_sink_mt>(
                         plain ? spdlog::color_mode::never : spdlog::color_mode::automatic),
                     format);
}

struct Target {
    std::shared_ptr<spdlog::logger> logger;
    LogFormat format = LogFormat::kText;
    std::shared_ptr<Ring> ring;           // Of a LogCapture.
    std::shared_ptr<const LogSink> sink;  // Instead of the logger.
};

// Whether this thread is inside a sink: what it logs there would come back to it without end.
thread_local bool tl_in_sink = false;

void CallSink(const LogSink& sink, LogLevel level, std::string_view component,
              std::string_view text) {
    if (tl_in_sink) return;
    tl_in_sink = true;
    try {
        sink(level, component, text);
    } catch (...) {
        // There is nobody left to tell.
    }
    tl_in_sink = false;
}

struct State {
    std::mutex mutex;
    Target target{.logger = NewStderrLogger(LogFormat::kText)};
    LogLimiter limiter;
};

// Never destroyed: threads and destructors log until the very end of the process.
State& TheState() {
    static State& state = *new State;
    return state;
}

// REQUIRES: `text` is one valid character.
char32_t CodeOf(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
    if (text.size() == 1) return byte(0);
    char32_t code = byte(0) & (0xffu >> (text.size() + 1));
    for (std::size_t i = 1; i < text.size(); ++i) code = code << 6 | (byte(i) & 0x3fu);
    return code;
}

// Appends `text` with everything escaped that could start a new line, command a terminal or change
// the order in which a line is read. Whether anything was.
bool AppendEscaped(std::string& out, std::string_view text) {
    const std::size_t start = out.size();
    std::size_t plain = 0;
    for (std::size_t i = 0; i < text.size();) {
        const auto byte = static_cast<std::uint8_t>(text[i]);
        const std::size_t length = Utf8Length(text.substr(i));
        if (text[i] == '\n') {
            out += "\\n";
        } else if (text[i] == '\r') {
            out += "\\r";
        } else if (text[i] == '\t') {
            out += "\\t";
        } else if (text[i] == '"' || text[i] == '\\') {
            out += {'\\', text[i]};
        } else if (length == 0 || byte < 0x20 || byte == 0x7f) {
            fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte);
        } else if (const char32_t code = CodeOf(text.substr(i, length)); IsUnprintable(code)) {
            fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<std::uint32_t>(code));
        } else {
            out.append(text, i, length);
            plain += length;
        }
        i += length == 0 ? 1 : length;
    }
    return out.size() - start != plain;
}

// Cut to its bound, with a note of its size; `keep` owns the text if it was cut.
std::string_view Bounded(std::string_view text, std::string& keep) {
    if (text.size() <= kLogValueBytesMax) return text;
    keep = CutUtf8(text, kLogValueBytesMax);
    keep += fmt::format("… ({} bytes)", text.size());
    return keep;
}

void AppendTextValue(std::string& out, std::string_view text) {
    std::string keep;
    text = Bounded(text, keep);
    const std::size_t start = out.size();
    const bool escaped = AppendEscaped(out, text);
    if (escaped || text.empty() || text.find_first_of(" =") != text.npos) {
        out.insert(start, 1, '"');
        out += '"';
    }
}

std::string DurationText(std::chrono::microseconds duration) {
    if (duration < std::chrono::seconds(1)) return fmt::format("{}ms", duration.count() / 1000.0);
    return FormatDuration(std::chrono::round<Duration>(duration));
}

std::string TextLine(std::string_view component, std::string_view message,
                     std::initializer_list<LogField> fields, std::uint64_t left_out) {
    std::string line;
    std::string keep;
    AppendEscaped(line, component);
    line += ": ";
    AppendEscaped(line, Bounded(message, keep));
    const auto append = [&](const LogField& field) {
        line += ' ';
        line += field.key();
        line += '=';
        std::visit(
            [&]<typename T>(const T& value) {
                if constexpr (std::same_as<T, std::string_view>) {
                    AppendTextValue(line, value);
                } else if constexpr (std::same_as<T, std::chrono::microseconds>) {
                    line += DurationText(value);
                } else if constexpr (std::same_as<T, Time>) {
                    line += FormatTime(value);
                } else {
                    fmt::format_to(std::back_inserter(line), "{}", value);
                }
            },
            field.value());
    };
    for (const LogField& field : fields) append(field);
    if (left_out > 0) append({"left_out", left_out});
    return line;
}

std::string JsonLine(LogLevel level, std::string_view component, std::string_view message,
                     std::initializer_list<LogField> fields, std::uint64_t left_out) {
    std::string line;
    std::string keep;
    JsonWriter json(line);
    json.BeginObject().Field("time", ReadClocks().wall).Field("level", Name(level));
    json.Field("component", component).Field("message", Bounded(message, keep));
    for (const LogField& field : fields) {
        std::visit(
            [&]<typename T>(const T& value) {
                if constexpr (std::same_as<T, std::string_view>) {
                    json.Field(field.key(), Bounded(value, keep));
                } else if constexpr (std::same_as<T, std::chrono::microseconds>) {
                    // A number that programs can compute with carries its unit in its name.
                    json.Field(std::string(field.key()) + "_ms",
                               static_cast<double>(value.count()) / 1000.0);
                } else {
                    json.Field(field.key(), value);
                }
            },
            field.value());
    }
    if (left_out > 0) json.Field("left_out", left_out);
    json.EndObject();
    return line;
}

}  // namespace

std::string_view Name(LogLevel level) {
    return kLevels[static_cast<std::size_t>(level)];
}

std::optional<LogLevel> ParseLogLevel(std::string_view name) {
    if (name == "warn") return LogLevel::kWarning;
    for (std::size_t i = 0; i < kLevels.size(); ++i) {
        if (kLevels[i] == name) return static_cast<LogLevel>(i);
    }
    return std::nullopt;
}

std::optional<LogFormat> ParseLogFormat(std::string_view name) {
    if (name == "text") return LogFormat::kText;
    if (name == "json") return LogFormat::kJson;
    return std::nullopt;
}

Result<void> StartLogging(const LogOptions& options) {
    Target target{.format = options.format};
    if (options.file.empty()) {
        target.logger = NewStderrLogger(options.format);
    } else if (options.file_bytes_max == 0) {
        return Fail(ErrorCode::kInvalid, "a log file needs a size above 0", "file_bytes_max");
    } else {
        try {
            target.logger = NewLogger(std::make_shared<spdlog::sinks::rotating_file_sink_mt>(
                                          options.file, options.file_bytes_max, options.files_max),
                                      options.format);
        } catch (const std::exception& error) {
            return Fail(ErrorCode::kInvalid,
                        "cannot write the log file " + options.file + ": " + error.what(), "file");
        }
    }
    State& state = TheState();
    const std::lock_guard lock(state.mutex);
    state.target = std::move(target);
    SetLogLevel(options.level);
    return {};
}

void LogTo(LogSink sink, LogLevel level, LogFormat format) {
    Target target{.format = format, .sink = std::make_shared<const LogSink>(std::move(sink))};
    State& state = TheState();
    const std::lock_guard lock(state.mutex);
    state.target = std::move(target);
    SetLogLevel(level);
}

void SetLogLevel(LogLevel level) {
    log_internal::level.store(level, std::memory_order_relaxed);
}

void log_internal::Write(LogLevel level, std::string_view component, std::string_view message,
                         std::initializer_list<LogField> fields) {
    if (level >= LogLevel::kOff) return;
    State& state = TheState();
    std::shared_ptr<spdlog::logger> logger;
    std::shared_ptr<const LogSink> sink;
    LogFormat format;
    std::uint64_t left_out = 0;
    {
        const std::lock_guard lock(state.mutex);
        if (level >= LogLevel::kWarning) {
            const auto admitted = state.limiter.Admit(component, message, SteadyClock::now());
            if (!admitted) return;
            left_out = *admitted;
        }
        logger = state.target.logger;
        sink = state.target.sink;
        format = state.target.format;
    }
    const std::string line = format == LogFormat::kJson
                                 ? JsonLine(level, component, message, fields, left_out)
                                 : TextLine(component, message, fields, left_out);
    if (sink) return CallSink(*sink, level, component, line);
    logger->log(SpdlogLevel(level), spdlog::string_view_t(line));
}

struct LogCapture::Previous {
    Target target;
    LogLevel level;
    std::shared_ptr<Ring> ring;
};

LogCapture::LogCapture(LogFormat format, LogLevel level) : previous_(std::make_unique<Previous>()) {
    auto ring = std::make_shared<Ring>(kCaptureLinesMax);
    Target target{.logger = NewLogger(ring, format), .format = format, .ring = ring};
    if (format == LogFormat::kText) target.logger->set_pattern("%l %v");
    State& state = TheState();
    const std::lock_guard lock(state.mutex);
    TAKT_CHECK(state.target.ring == nullptr);
    previous_->target = std::exchange(state.target, std::move(target));
    previous_->level = log_internal::level.load();
    previous_->ring = std::move(ring);
    state.limiter = {};
    SetLogLevel(level);
}

LogCapture::~LogCapture() {
    State& state = TheState();
    const std::lock_guard lock(state.mutex);
    state.target = std::move(previous_->target);
    state.limiter = {};
    SetLogLevel(previous_->level);
}

std::vector<std::string> LogCapture::lines() const {
    std::vector<std::string> lines = previous_->ring->last_formatted();
    for (std::string& line : lines) {
        if (line.ends_with('\n')) line.pop_back();
    }
    return lines;
}

}  // namespace takt::internal
