// Whom a TLS connection trusts: the system's authorities, or those of a file, which may be replaced.
import { readFileSync } from "node:fs";

export class Trust {
  readonly #file: string | undefined;
  #ca?: Buffer;

  constructor(file: string | undefined) {
    this.#file = file;
    if (file) this.#ca = readFileSync(file);
  }

  /** For a new connection; undefined: the system's. A file that cannot be read now is as it was. */
  get ca(): Buffer | undefined {
    if (!this.#file) return undefined;
    try {
      const read = readFileSync(this.#file);
      // The same object as long as it says the same: connections are kept by it.
      if (!this.#ca?.equals(read)) this.#ca = read;
    } catch (error) {
      process.emitWarning(`cannot read ${this.#file} again: ${error}`);
    }
    return this.#ca;
  }
}
