import java.io.File;

/** Versions of libraries, by the names of their files on the class path. */
final class Versions {
  private Versions() {}

  static String of(String library) {
    for (String path : System.getProperty("java.class.path").split(File.pathSeparator)) {
      String name = new File(path).getName();
      if (name.matches(library + "-[0-9].*\\.jar")) {
        return library + " " + name.substring(library.length() + 1, name.length() - ".jar".length());
      }
    }
    throw new IllegalStateException(library + " is not on the class path");
  }
}
