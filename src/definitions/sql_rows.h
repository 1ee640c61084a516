// Rows of tables from a dump in SQL, as mysqldump and its like write it: CREATE TABLE says which
// columns there are, INSERT INTO … VALUES the rows. All other statements are passed over.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace takt::internal {

struct SqlRow {
    int line = 0;
    std::map<std::string, std::string> values;  // By column; those that are NULL are left out.
};

// By table, its name without that of a database.
std::map<std::string, std::vector<SqlRow>> ReadSqlRows(const std::string& text);

}  // namespace takt::internal
