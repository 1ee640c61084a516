// Calls to schedulers: kept connections, the next server when one is away, patience for a new leader.
import http from "node:http";
import https from "node:https";
import { setTimeout as sleep } from "node:timers/promises";

import { Invalid, Stopped, TaktError, Unavailable, UnknownOutcome, errorOf } from "./errors.js";
import { Trust } from "./trust.js";
import { VERSION } from "./version.js";

const PAUSE_MIN = 50; // Milliseconds between two rounds over all servers.
const PAUSE_MAX = 1000;
const CONNECT_TIMEOUT = 5000;
const CLUSTER_PATHS = ["namespaces", "tokens", "scheduler/status"];

export type Query = Record<string, string | number | boolean | readonly string[] | null | undefined>;

export interface CallOptions {
  query?: Query;
  headers?: Record<string, string>;
  /** Asked again when its outcome is unknown; GET unless said. */
  repeat?: boolean;
  /** Seconds. */
  timeout?: number;
  patience?: number;
}

/** The servers given, those of TAKT_SERVER, or the one on this machine. Invalid names `servers`. */
export function readServers(servers?: string | readonly string[]): string[] {
  const given = servers ?? process.env.TAKT_SERVER ?? "http://127.0.0.1:8080";
  const names = (typeof given === "string" ? given.split(",") : given).map((name) => name.trim().replace(/\/+$/, ""));
  if (names.length === 0) throw new Invalid("servers: at least one is needed", { code: "invalid", field: "servers" });
  for (const name of names) {
    if (!/^https?:\/\/[^/]+$/.test(name)) {
      throw new Invalid(`servers: '${name}' is not http://host:port or https://host:port`, {
        code: "invalid",
        field: "servers",
      });
    }
  }
  return names;
}

export const quote = (part: string): string => encodeURIComponent(part);

interface Answer {
  status: number;
  body: string;
  retryAfter?: string;
}

export class Transport {
  readonly #servers: string[];
  readonly #headers: Record<string, string>;
  readonly #agents: { http: http.Agent; https: https.Agent };
  readonly #trust: Trust;
  readonly #closed = new AbortController();
  #first = 0; // The server that answered last.

  constructor(
    servers: string[],
    token: string | undefined,
    readonly namespace: string | undefined,
    caFile: string | undefined,
    readonly timeout: number,
    readonly patience: number,
  ) {
    this.#servers = servers;
    this.#headers = { Accept: "application/json", "User-Agent": `takt-node/${VERSION}` };
    if (token) this.#headers.Authorization = `Bearer ${token}`;
    this.#trust = new Trust(caFile);
    this.#agents = { http: new http.Agent({ keepAlive: true }), https: new https.Agent({ keepAlive: true }) };
  }

  close(): void {
    this.#closed.abort();
    this.#agents.http.destroy();
    this.#agents.https.destroy();
  }

  /** How many there are. */
  get servers(): number {
    return this.#servers.length;
  }

  checkOpen(): void {
    if (this.#closed.signal.aborted) throw new Stopped("the client was closed", { code: "stopped" });
  }

  /** Lets time pass. Stopped if the client is closed meanwhile. */
  async pause(seconds: number): Promise<void> {
    await sleep(Math.max(0, seconds * 1000), undefined, { signal: this.#closed.signal }).catch(() => this.checkOpen());
  }

  #path(path: string, query: Query = {}): string {
    const inside =
      this.namespace && !CLUSTER_PATHS.some((own) => path.startsWith(own)) ? `namespaces/${quote(this.namespace)}/` : "";
    const pairs = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined && value !== null) pairs.set(name, Array.isArray(value) ? value.join(",") : String(value));
    }
    const asked = pairs.toString();
    return `/api/v1/${inside}${path}${asked ? `?${asked}` : ""}`;
  }

  /** The answer's JSON. What was certainly not done is always asked again within the patience. */
  async call<T = any>(method: string, path: string, body?: unknown, options: CallOptions = {}): Promise<T> {
    const repeat = options.repeat ?? method === "GET";
    const target = this.#path(path, options.query);
    const data = body === undefined ? undefined : JSON.stringify(body);
    const end = performance.now() + (options.patience ?? this.patience) * 1000;
    for (let pause = PAUSE_MIN; ; pause = Math.min(PAUSE_MAX, pause * 2)) {
      try {
        return (await this.#round(method, target, data, options, repeat)) as T;
      } catch (error) {
        const again = error instanceof Unavailable || (error instanceof UnknownOutcome && repeat);
        if (!again || performance.now() + pause >= end) throw error;
      }
      await this.pause((Math.random() * pause) / 1000);
    }
  }

  /** Each server once, beginning with the one that answered last. */
  async #round(method: string, target: string, data: string | undefined, options: CallOptions, repeat: boolean) {
    let failure: TaktError | undefined;
    for (let at = 0; at < this.#servers.length; at++) {
      const number = (this.#first + at) % this.#servers.length;
      const server = this.#servers[number]!;
      try {
        const answer = read(server, await this.#ask(server, method, target, data, options, repeat));
        this.#first = number;
        return answer;
      } catch (error) {
        if (error instanceof UnknownOutcome && repeat) failure = error;
        else if (error instanceof Unavailable) failure ??= error;
        else throw error;
      }
    }
    throw failure;
  }

  #ask(
    server: string,
    method: string,
    target: string,
    data: string | undefined,
    options: CallOptions,
    repeat: boolean,
  ): Promise<Answer> {
    this.checkOpen();
    const secure = server.startsWith("https:");
    const headers: http.OutgoingHttpHeaders = { ...this.#headers, ...options.headers };
    if (data !== undefined) {
      headers["Content-Type"] = "application/json";
      headers["Content-Length"] = Buffer.byteLength(data);
    }
    return new Promise((resolve, reject) => {
      let connected = false;
      // A kept connection may be closed while it is asked: no harm if the question can be asked again.
      const agent = repeat ? (secure ? this.#agents.https : this.#agents.http) : undefined;
      const request = (secure ? https : http).request(server + target, {
        method,
        headers,
        agent: agent ?? (secure ? new https.Agent() : new http.Agent()),
        ...(secure ? { ca: this.#trust.ca } : {}),
      });
      const stop = () => request.destroy(new Stopped("the client was closed", { code: "stopped" }));
      this.#closed.signal.addEventListener("abort", stop, { once: true });
      const connecting = setTimeout(() => request.destroy(new Error("no connection in time")), CONNECT_TIMEOUT);
      const answering = setTimeout(
        () => request.destroy(new Error("no answer in time")),
        (options.timeout ?? this.timeout) * 1000,
      );
      const done = () => {
        this.#closed.signal.removeEventListener("abort", stop);
        clearTimeout(connecting);
        clearTimeout(answering);
      };
      request.on("socket", (socket) => {
        const onConnected = () => {
          connected = true;
          clearTimeout(connecting);
        };
        if (socket.connecting) socket.once(secure ? "secureConnect" : "connect", onConnected);
        else onConnected();
      });
      const fail = (error: Error) => {
        done();
        if (error instanceof Stopped) return reject(error);
        const why = error.message || "it hung up";
        reject(
          connected
            ? new UnknownOutcome(`${server} did not answer: ${why}`, { code: "unknown" })
            : new Unavailable(`${server} cannot be reached: ${why}`, { code: "unavailable" }),
        );
      };
      request.on("error", fail);
      request.on("response", (answer) => {
        const parts: Buffer[] = [];
        answer.on("data", (part: Buffer) => parts.push(part));
        answer.on("error", fail);
        answer.on("end", () => {
          done();
          const retryAfter = answer.headers["retry-after"];
          resolve({ status: answer.statusCode ?? 0, body: Buffer.concat(parts).toString(), retryAfter });
        });
      });
      request.end(data);
    });
  }
}

function read(server: string, answer: Answer): unknown {
  let value: unknown;
  try {
    value = answer.body ? JSON.parse(answer.body) : undefined;
  } catch {
    if (answer.status < 400) throw new UnknownOutcome(`${server} answered what is no JSON`, { code: "unknown" });
  }
  if (answer.status >= 200 && answer.status < 300) return value;
  throw errorOf(answer.status, value, answer.retryAfter);
}
