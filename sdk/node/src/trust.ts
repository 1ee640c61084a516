// Whom a TLS connection trusts: the system's authorities, or those of a file, which may be replaced.
import { readFileSync, statSync } from "node:fs";

export class Trust {
  readonly #file: string | undefined;
  #ca?: Buffer;
  #stamp?: string;
  #told = false; // That it cannot be read now.

  constructor(file: string | undefined) {
    this.#file = file;
    if (file) this.#read(file);
  }

  /** For a new connection; undefined: the system's. A file that cannot be read now is as it was. */
  get ca(): Buffer | undefined {
    if (!this.#file) return undefined;
    try {
      this.#read(this.#file);
      this.#told = false;
    } catch (error) {
      if (!this.#told) process.emitWarning(`cannot read ${this.#file} again: ${error}`);
      this.#told = true;
    }
    return this.#ca;
  }

  // Also asked for questions on connections that are kept: it is read only if it was replaced.
  #read(file: string): void {
    const { ino, size, mtimeNs } = statSync(file, { bigint: true });
    const stamp = `${ino} ${size} ${mtimeNs}`;
    if (stamp === this.#stamp) return;
    const read = readFileSync(file);
    // The same object as long as it says the same: connections are kept by it.
    if (!this.#ca?.equals(read)) this.#ca = read;
    this.#stamp = stamp;
  }
}
