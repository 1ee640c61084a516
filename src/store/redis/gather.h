// Reader::Gather, for the sources of the reader: one read over all partitions.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "store/redis/reader.h"

namespace takt::internal::redis {

template <typename Part, typename Whole>
void Reader::Gather(ReadPart<Part> read, std::function<Whole(std::vector<Part>)> merge,
                    Done<Whole> done) {
    struct Gathering {
        ReadPart<Part> read;
        std::function<Whole(std::vector<Part>)> merge;
        Done<Whole> done;
        std::set<Partition> begun;
        std::size_t waiting = 0;
        std::optional<Error> error;
        std::vector<Part> parts;

        void Begin(Reader& reader, const std::shared_ptr<Gathering>& self) {
            std::vector<const PartitionKeys*> fresh;
            for (const auto& [partition, keys] : reader.keys_.known()) {
                if (begun.insert(partition).second) fresh.push_back(&keys);
            }
            waiting += fresh.size();
            for (const PartitionKeys* keys : fresh) {
                read(*keys, [self](Result<Part> part) {
                    if (part) {
                        self->parts.push_back(std::move(*part));
                    } else if (!self->error) {
                        self->error = part.error();
                    }
                    self->End();
                });
            }
        }
        void End() {
            if (--waiting > 0) return;
            if (error) return done(std::unexpected(*error));
            done(merge(std::move(parts)));
        }
    };
    auto gathering = std::make_shared<Gathering>();
    gathering->read = std::move(read);
    gathering->merge = std::move(merge);
    gathering->done = std::move(done);
    client_.Post([this, gathering] {
        gathering->waiting = 1;  // The list of partitions.
        Call call{.slot = keys_.global.slot};
        call.commands = Resp("SMEMBERS", keys_.global.prefix + "partitions");
        client_.Send(std::move(call), [this, gathering](Result<Replies> replies) {
            if (!replies) {
                if (!gathering->error) gathering->error = replies.error();
                return gathering->End();
            }
            const ReplyView members = replies->front().view();
            for (std::size_t i = 0; i < members.size(); ++i) {
                const auto partition = members[i].number();
                if (partition && *partition <= 255) keys_.Of(static_cast<Partition>(*partition));
            }
            gathering->Begin(*this, gathering);
            gathering->End();
        });
        gathering->Begin(*this, gathering);
    });
}

}  // namespace takt::internal::redis
