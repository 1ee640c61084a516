// A database of its own for each test, on the one server of the test program.
#pragma once

#include <string>

#include "store/mysql/connection.h"
#include "store/mysql/store.h"
#include "store/testing/mariadb_server.h"

namespace takt::internal::mysql {

// Started by the first call; ends the program with its output if it cannot be.
MariadbServer& TestServer();

// As root, who may do everything.
Connection Root(const std::string& database = "mysql");

class TestDatabase {
  public:
    TestDatabase();
    ~TestDatabase();

    MysqlOptions options() const;
    const std::string& name() const { return name_; }
    Connection Root() const { return mysql::Root(name_); }

  private:
    std::string name_;
};

}  // namespace takt::internal::mysql
