#include "links/frame_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/json_grammar.h"
#include "base/utf8.h"
#include "model/lock.h"
#include "wire/zstd.h"
#include "worker.pb.h"

namespace takt::internal {
namespace {

using Checked = std::expected<void, FrameFault>;

std::unexpected<FrameFault> Malformed(std::string message) {
    return std::unexpected(FrameFault{"malformed", std::move(message)});
}

Duration DurationOf(std::uint64_t ms) {
    return Duration(
        static_cast<Duration::rep>(std::min(ms, static_cast<std::uint64_t>(kDurationMax.count()))));
}

class Reader {
  public:
    Reader(const FrameSource& source, const FrameInputLimits& limits, FrameInputs& to)
        : source_(source),
          session_(source.session),
          limits_(limits),
          inputs_(to.inputs),
          foreign_(to.foreign) {}

    Checked Read(const worker::v1::WorkerFrame& frame) {
        if (auto read = ReadEach(frame.started(), "started"); !read) return read;
        if (auto read = ReadEach(frame.progress(), "progress"); !read) return read;
        if (auto read = ReadEach(frame.logs(), "logs"); !read) return read;
        if (auto read = ReadEach(frame.lock_asks(), "lock_asks"); !read) return read;
        if (auto read = ReadEach(frame.lock_drops(), "lock_drops"); !read) return read;
        if (auto read = ReadEach(frame.results(), "results"); !read) return read;
        if (frame.has_heartbeat()) Append(frame.heartbeat());
        if (frame.has_bye()) inputs_.emplace_back(Goodbye{session_});
        return {};
    }

  private:
    template <typename List>
    Checked ReadEach(const List& list, std::string_view field) {
        for (int i = 0; i < list.size(); ++i) {
            auto attempt = ReadAttempt(list[i].attempt(), field);
            if (!attempt) {
                // Looked at again only for the fault: the index is for the author of the worker.
                attempt = ReadAttempt(list[i].attempt(), fmt::format("{}[{}].attempt", field, i));
                return std::unexpected(attempt.error());
            }
            if (auto read = Append(list[i], std::move(*attempt)); !read) return read;
        }
        return {};
    }

    Checked Append(const worker::v1::Started& started, AttemptRef attempt) {
        inputs_.emplace_back(Started{session_, std::move(attempt), DurationOf(started.ran_ms())});
        return {};
    }

    Checked Append(const worker::v1::Progress& progress, AttemptRef attempt) {
        if (!std::isfinite(progress.fraction())) {
            return Malformed("progress.fraction must be a number from 0 to 1");
        }
        inputs_.emplace_back(Progress{session_, std::move(attempt),
                                      std::clamp(progress.fraction(), 0.0, 1.0),
                                      CutUtf8(progress.message(), limits_.message_bytes_max)});
        return {};
    }

    Checked Append(const worker::v1::Log& log, AttemptRef attempt) {
        std::string lines;
        for (const std::string& whole : log.lines()) {
            const std::string_view line = CutUtf8(whole, limits_.log_line_bytes_max);
            if (!lines.empty() && lines.size() + line.size() + 1 > limits_.log_piece_bytes_max) {
                inputs_.emplace_back(LogLines{session_, attempt, lines});
                lines.clear();
            }
            lines.append(line).push_back('\n');
        }
        if (!lines.empty()) inputs_.emplace_back(LogLines{session_, std::move(attempt), lines});
        return {};
    }

    Checked Append(const worker::v1::LockAsk& ask, AttemptRef attempt) {
        if (!IsValidLockName(ask.name())) {
            return Malformed(
                "lock_asks.name must be 1 to 128 characters of A-Z a-z 0-9 . _ ~ - "
                "and start with a letter or digit");
        }
        if (ask.ask() == 0) return Malformed("lock_asks.ask must not be 0");
        inputs_.emplace_back(AskLock{.session = session_,
                                     .attempt = std::move(attempt),
                                     .ask = ask.ask(),
                                     .name = ask.name(),
                                     .permits = std::max(1u, ask.permits()),
                                     .wait = DurationOf(ask.wait_ms())});
        return {};
    }

    Checked Append(const worker::v1::LockDrop& drop, AttemptRef attempt) {
        inputs_.emplace_back(DropLock{session_, std::move(attempt), drop.ask()});
        return {};
    }

    Checked Append(const worker::v1::Result& result, AttemptRef attempt) {
        const Holding holding = source_.holding(attempt.token);
        if (holding == Holding::kNone) {
            foreign_.push_back(std::move(attempt));
            return {};
        }
        Report report{.session = session_,
                      .attempt = std::move(attempt),
                      .success = result.success(),
                      .retryable = !result.final(),
                      .ran = DurationOf(result.ran_ms()),
                      .ended_ago = DurationOf(result.ended_ms_ago())};
        auto reason = result.success() ? Reason::kNone : Reason::kHandlerFailed;
        if (!result.success() && !result.reason().empty()) {
            const auto named = ParseReason(result.reason());
            if (!named || !IsWorkers(*named)) {
                return Malformed(
                    fmt::format("results.reason must be handler_failed, timeout, rejected or "
                                "cancelled, but is '{}'",
                                CutUtf8(result.reason(), 64)));
            }
            reason = *named;
        }
        auto outcome = boost::intrusive_ptr<Outcome>(new Outcome);
        outcome->reason = reason;
        outcome->code = result.code();
        outcome->message = CutUtf8(result.message(), limits_.message_bytes_max);
        // The result of an attempt that was settled without it will be refused: it is not worth
        // unpacking.
        auto data = holding == Holding::kSettled ? Text() : ReadData(result);
        if (unpacked_bytes_ > limits_.unpacked_bytes_max) {
            return std::unexpected(FrameFault{
                "too_large", fmt::format("the results of one frame unpack to more than {} bytes; "
                                         "send fewer at once",
                                         limits_.unpacked_bytes_max)});
        }
        if (!data) {
            if (data.error().code != ErrorCode::kExhausted) {
                return Malformed("results.data_zstd is " + data.error().detail);
            }
            // The work was done, but its result cannot be kept; doing it again would not mend that.
            // A failure stays what it was, without its data.
            if (report.success) {
                report.success = false;
                report.retryable = false;
                outcome->reason = Reason::kHandlerFailed;
                outcome->message = data.error().detail;
            }
        } else {
            outcome->data = *data;
        }
        const bool empty = report.success && outcome->code == 0 && outcome->message.empty() &&
                           outcome->data.empty();
        if (!empty) report.outcome = std::move(outcome);
        inputs_.emplace_back(std::move(report));
        return {};
    }

    // Whether a worker may give it as its reason.
    static bool IsWorkers(Reason reason) {
        return reason == Reason::kHandlerFailed || reason == Reason::kTimeout ||
               reason == Reason::kRejected || reason == Reason::kCancelled;
    }

    // The result's JSON. What is no JSON is kept as a JSON string: it is shown inside other JSON.
    internal::Result<Text> ReadData(const worker::v1::Result& result) {
        std::string unpacked;
        std::string_view data = result.data();
        if (!result.data_zstd().empty()) {
            auto text = Unzstd(result.data_zstd(), limits_.result_bytes_max);
            if (!text) {
                if (text.error().code != ErrorCode::kExhausted)
                    return std::unexpected(text.error());
                return Fail(ErrorCode::kExhausted, "the result " + text.error().detail);
            }
            // A few bytes may unpack to a MiB, and a frame may have thousands of such results.
            unpacked_bytes_ += text->size();
            unpacked = std::move(*text);
            data = unpacked;
        }
        if (data.size() > limits_.result_bytes_max) return TooLarge(data.size());
        if (data.empty()) return Text(data);
        const JsonLimits limits{.bytes_max = data.size()};
        const auto checked = CheckJson(data, limits);
        if (checked) return Text(data);
        // An object that became a string would be misread by everybody who gets it. A number alone
        // may well be the output of a program.
        const auto first = data.find_first_not_of(" \t\r\n");
        const bool structured = first != data.npos && (data[first] == '{' || data[first] == '[');
        if (structured && ParseByGrammar(data, data.size())) {
            return Fail(ErrorCode::kExhausted,
                        "the result cannot be kept: " + checked.error().detail);
        }
        std::string quoted;
        AppendJsonString(quoted, data);
        if (quoted.size() > limits_.result_bytes_max) return TooLarge(quoted.size());
        return Text(quoted);
    }

    std::unexpected<Error> TooLarge(std::size_t bytes) const {
        return Fail(ErrorCode::kExhausted,
                    fmt::format("the result has {} bytes, which is more than the limit of {}",
                                bytes, limits_.result_bytes_max));
    }

    void Append(const worker::v1::Heartbeat& beat) {
        // Not a number is what a division by no time gives; it must not reach the balancers.
        const auto sane = [](auto value, auto most) {
            return std::isfinite(value) ? std::clamp(value, decltype(value){0}, most)
                                        : decltype(value){0};
        };
        inputs_.emplace_back(Heartbeat{session_,
                                       {.cpu = sane(beat.cpu(), 1.0F),
                                        .memory = sane(beat.memory(), 1.0F),
                                        .network_in = sane(beat.network_in(), 1e15),
                                        .network_out = sane(beat.network_out(), 1e15),
                                        .connections = beat.connections(),
                                        .draining = beat.draining()},
                                       std::min(beat.capacity(), kCapacityMax)});
    }

    const FrameSource& source_;
    const SessionId session_;
    const FrameInputLimits& limits_;
    std::vector<Input>& inputs_;
    std::vector<AttemptRef>& foreign_;
    std::size_t unpacked_bytes_ = 0;  // Of all results so far.
};

}  // namespace

std::expected<void, FrameFault> ReadInputs(const worker::v1::WorkerFrame& frame,
                                           const FrameSource& source,
                                           const FrameInputLimits& limits, FrameInputs& to) {
    return Reader(source, limits, to).Read(frame);
}

}  // namespace takt::internal
