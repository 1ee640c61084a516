// Where the SQL of our databases differs. Everything else is written once, in this folder.
#pragma once

#include <string>
#include <string_view>

namespace takt::internal::sql {

// Of the tables of one partition.
struct Dialect {
    std::string table_prefix;  // Before the name of every table.
    std::string index_prefix;  // Before the name of every index.
    // After a table's name: read it through this index, whatever the statistics say. Without a
    // name: in the order of its primary key.
    std::string (*use_index)(std::string_view index);
    // Whether the column's text contains the parameter, byte by byte.
    std::string (*contains)(std::string_view column);
    // Whether live executions of one-off tasks with generated ids are in a table of their own,
    // `once_live`, without any index but its key.
    bool once_live = false;

    // `index` without its prefix.
    std::string UseIndex(std::string_view index) const {
        return use_index(index.empty() ? std::string() : index_prefix + std::string(index));
    }
};

// Names of indexes are the whole database's there.
inline Dialect Sqlite(const std::string& table_prefix) {
    return {
        .table_prefix = table_prefix,
        .index_prefix = table_prefix,
        .use_index =
            [](std::string_view index) {
                return index.empty() ? std::string(" NOT INDEXED")
                                     : " INDEXED BY " + std::string(index);
            },
        .contains =
            [](std::string_view column) { return "instr(" + std::string(column) + ", ?) > 0"; },
    };
}

inline Dialect Mysql(std::string table_prefix) {
    return {
        .table_prefix = std::move(table_prefix),
        .index_prefix = {},
        .use_index =
            [](std::string_view index) {
                return " FORCE INDEX (" + std::string(index.empty() ? "PRIMARY" : index) + ")";
            },
        .contains =
            [](std::string_view column) { return "INSTR(" + std::string(column) + ", ?) > 0"; },
        .once_live = true,
    };
}

}  // namespace takt::internal::sql
