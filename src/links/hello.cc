#include "links/hello.h"

#include <fmt/format.h>

#include <algorithm>

#include "worker.pb.h"

namespace takt::internal {
namespace {

std::unexpected<FrameFault> Invalid(std::string message) {
    return std::unexpected(FrameFault{"invalid_hello", std::move(message)});
}

using Checked = std::expected<void, FrameFault>;

Checked CheckText(std::string_view text, std::string_view field) {
    if (text.size() <= kHelloNameBytesMax) return {};
    return Invalid(fmt::format("{} must be at most {} bytes, but is {}", field, kHelloNameBytesMax,
                               text.size()));
}

Checked CheckSize(std::size_t size, std::string_view field) {
    if (size <= kHelloListMax) return {};
    return Invalid(
        fmt::format("{} must have at most {} entries, but has {}", field, kHelloListMax, size));
}

Checked CheckNumbers(const worker::v1::Hello& hello) {
    if (hello.capacity() < 1 || hello.capacity() > kCapacityMax) {
        return Invalid(
            fmt::format("capacity must be 1 to {}, but is {}", kCapacityMax, hello.capacity()));
    }
    if (hello.weight() > kWeightMax) {
        return Invalid(
            fmt::format("weight must be 0 to {}, but is {}", kWeightMax, hello.weight()));
    }
    if (hello.epoch_seen() > kEpochSeenMax) {
        return Invalid(fmt::format("epoch_seen {} is no epoch of ours", hello.epoch_seen()));
    }
    // Running, or finished and not acknowledged, and stopping beside those.
    if (hello.holding_size() > int{kCapacityMax} * 2) {
        return Invalid(fmt::format("holding must have at most {} entries, but has {}",
                                   kCapacityMax * 2, hello.holding_size()));
    }
    return {};
}

// Sorted and without duplicates, as Worker has them.
std::expected<std::vector<Text>, FrameFault> ReadNames(
    const google::protobuf::RepeatedPtrField<std::string>& names, std::string_view field) {
    if (auto fine = CheckSize(static_cast<std::size_t>(names.size()), field); !fine) {
        return std::unexpected(fine.error());
    }
    std::vector<Text> texts;
    texts.reserve(static_cast<std::size_t>(names.size()));
    for (const std::string& name : names) {
        if (name.empty()) return Invalid(fmt::format("{} must not have an empty entry", field));
        if (auto fine = CheckText(name, field); !fine) return std::unexpected(fine.error());
        texts.emplace_back(name);
    }
    std::ranges::sort(texts);
    const auto rest = std::ranges::unique(texts);
    texts.erase(rest.begin(), rest.end());
    return texts;
}

std::expected<Pairs, FrameFault> ReadLabels(const worker::v1::Hello& hello) {
    if (auto fine = CheckSize(hello.labels().size(), "labels"); !fine) {
        return std::unexpected(fine.error());
    }
    Pairs labels;
    for (const auto& [key, value] : hello.labels()) {
        if (key.empty()) return Invalid("labels must not have an empty name");
        for (const std::string& text : {key, value}) {
            if (auto fine = CheckText(text, "labels"); !fine) return std::unexpected(fine.error());
        }
        labels.emplace_back(Text(key), Text(value));
    }
    std::ranges::sort(labels, {}, &std::pair<Text, Text>::first);
    return labels;
}

Checked CheckTotal(const worker::v1::Hello& hello) {
    std::size_t bytes = 0;
    for (const std::string& type : hello.types()) bytes += type.size();
    for (const std::string& queue : hello.queues()) bytes += queue.size();
    for (const auto& [key, value] : hello.labels()) bytes += key.size() + value.size();
    if (bytes <= kHelloTextBytesMax) return {};
    return Invalid(
        fmt::format("types, queues and labels together must be at most {} bytes, but "
                    "are {}",
                    kHelloTextBytesMax, bytes));
}

Checked CheckTexts(const worker::v1::Hello& hello) {
    for (const auto& [text, field] :
         {std::pair{&hello.instance(), "instance"}, std::pair{&hello.name(), "name"},
          std::pair{&hello.group(), "group"}, std::pair{&hello.version(), "version"}}) {
        if (auto fine = CheckText(*text, field); !fine) return fine;
    }
    return {};
}

}  // namespace

std::expected<AttemptRef, FrameFault> ReadAttempt(const worker::v1::Attempt& attempt,
                                                  std::string_view where) {
    if (!IsValidId(attempt.execution_id())) {
        return std::unexpected(
            FrameFault{"malformed", fmt::format("{}.execution_id is not an id", where)});
    }
    const auto token = ParseToken(attempt.token());
    if (!token) {
        return std::unexpected(
            FrameFault{"malformed", fmt::format("{}.token must be 32 hexadecimal digits", where)});
    }
    return AttemptRef{ExecutionId(Text(attempt.execution_id())), attempt.attempt(), *token};
}

std::expected<Attach, FrameFault> ReadHello(const worker::v1::Hello& hello, SessionId session,
                                            std::string_view address) {
    if (hello.protocol() != kWorkerProtocol) {
        return std::unexpected(
            FrameFault{"protocol", fmt::format("this scheduler speaks protocol {}, the worker {}",
                                               kWorkerProtocol, hello.protocol())});
    }
    auto id = WorkerId::Parse(hello.worker_id(), "worker_id");
    if (!id) return Invalid(id.error().detail);
    if (auto fine = CheckNumbers(hello); !fine) return std::unexpected(fine.error());
    if (auto fine = CheckTexts(hello); !fine) return std::unexpected(fine.error());
    if (auto fine = CheckTotal(hello); !fine) return std::unexpected(fine.error());
    auto types = ReadNames(hello.types(), "types");
    if (!types) return std::unexpected(types.error());
    auto queues = ReadNames(hello.queues(), "queues");
    if (!queues) return std::unexpected(queues.error());
    auto labels = ReadLabels(hello);
    if (!labels) return std::unexpected(labels.error());

    Attach attach{.session = session};
    Worker& worker = attach.worker;
    worker.name = hello.name().empty() ? id->text() : Text(hello.name());
    worker.id = std::move(*id);
    worker.link = LinkKind::kStream;
    worker.types = std::move(*types);
    worker.queues = std::move(*queues);
    worker.labels = std::move(*labels);
    worker.group = hello.group();
    worker.capacity = hello.capacity();
    worker.weight = std::max(1u, hello.weight());
    worker.address = address;
    worker.version = hello.version();
    worker.instance = hello.instance();
    attach.holding.reserve(static_cast<std::size_t>(hello.holding_size()));
    for (int i = 0; i < hello.holding_size(); ++i) {
        auto attempt = ReadAttempt(hello.holding(i), fmt::format("holding[{}]", i));
        if (!attempt) return std::unexpected(attempt.error());
        attach.holding.push_back(std::move(*attempt));
    }
    return attach;
}

std::string BindWorker(Worker& worker, bool any_of_types, const AttachBounds& bounds) {
    const auto foreign = [](const std::vector<std::string>& allowed, std::string_view asked) {
        return !allowed.empty() && std::ranges::find(allowed, asked) == allowed.end();
    };
    if (foreign(bounds.worker_ids, worker.id.view())) {
        return "the token is not for a worker with the id " + worker.id.text().str();
    }
    if (any_of_types && !worker.types.empty()) {
        std::erase_if(worker.types, [&](const Text& type) { return foreign(bounds.types, type); });
        if (worker.types.empty()) return "the token is for none of the types that it can run";
    }
    const auto narrow = [&](std::vector<Text>& asked, const std::vector<std::string>& allowed,
                            std::string_view what) -> std::string {
        if (asked.empty()) asked.assign(allowed.begin(), allowed.end());
        std::ranges::sort(asked);
        for (const Text& one : asked) {
            if (foreign(allowed, one.view())) {
                return "the token is not for the " + std::string(what) + " " + one.str();
            }
        }
        return {};
    };
    std::string why = narrow(worker.queues, bounds.queues, "queue");
    return why.empty() ? narrow(worker.types, bounds.types, "type") : why;
}

}  // namespace takt::internal
