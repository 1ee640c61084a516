import com.google.gson.JsonObject;
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.net.URI;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;

/** Connections to the server that servers.py has started. */
final class Postgres {
  private Postgres() {}

  static HikariDataSource connect(JsonObject settings, int connections) {
    URI url = URI.create(settings.get("url").getAsString());
    HikariConfig config = new HikariConfig();
    config.setJdbcUrl(
        "jdbc:postgresql://" + url.getHost() + ":" + url.getPort() + url.getPath()
            + "?reWriteBatchedInserts=true");
    config.setUsername(url.getUserInfo());
    config.setMaximumPoolSize(connections);
    return new HikariDataSource(config);
  }

  static void execute(HikariDataSource source, String sql) throws SQLException {
    try (Connection connection = source.getConnection();
        Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  /** Waits until there is no row: what is completed is deleted. */
  static void awaitNone(HikariDataSource source, String table) throws Exception {
    try (Connection connection = source.getConnection();
        Statement statement = connection.createStatement()) {
      while (statement.executeQuery("select 1 from " + table + " limit 1").next()) {
        Thread.sleep(2);
      }
    }
  }
}
