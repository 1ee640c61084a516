#include "store/redis/index_reader.h"

#include <utility>

#include "store/redis/rows.h"
#include "store/wait.h"

namespace takt::internal::redis {

Result<Replies> IndexReader::Ask(const PartitionKeys& keys, std::string commands,
                                 std::size_t replies) {
    return AskStore<Replies>([&](Done<Replies> done) {
        client_.Post([&, done = std::move(done)]() mutable {
            Call call{.slot = keys.slot};
            call.commands = std::move(commands);
            call.replies = replies;
            client_.Send(std::move(call), std::move(done));
        });
    });
}

Result<std::vector<std::optional<Execution>>> IndexReader::Rows(
    const PartitionKeys& keys, const std::vector<std::string>& ids) {
    RespWriter command;
    command.Begin(1 + 2 * ids.size());
    command.Arg("MGET");
    for (const std::string& id : ids) command.Arg(keys.Execution(id)).Arg(keys.State(id));
    const auto replies = Ask(keys, std::move(command).Take(), 1);
    if (!replies) return std::unexpected(replies.error());
    const ReplyView texts = replies->front().view();
    std::vector<std::optional<Execution>> rows(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (texts[2 * i].is_nil()) continue;
        rows[i] = ReadExecution(ids[i], 0, texts[2 * i], texts[2 * i + 1]);
    }
    return rows;
}

}  // namespace takt::internal::redis
