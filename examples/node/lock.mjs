// Does something while it holds a Takt lock, over REST alone. Node 18 and later, no packages.
//
//   node lock.mjs http://127.0.0.1:8080 NAME [token]
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

// The highest token so far: told with each question, so that later ones are above it whatever a store lost.
let lastToken = 0;

// Runs `work({ token, signal })`; the signal is aborted no later than when somebody else may have the lock.
export async function withLock(url, name, { ttl = 30, wait = 0, accessToken } = {}, work) {
  const post = async (action, body, seconds) => {
    const headers = { "Content-Type": "application/json" };
    if (accessToken) headers.Authorization = `Bearer ${accessToken}`;
    const answer = await fetch(`${url}/api/v1/locks/${name}/${action}`, {
      method: "POST", headers, body: JSON.stringify(body), signal: AbortSignal.timeout(seconds * 1000),
    });
    const said = await answer.json();
    if (!answer.ok) throw Object.assign(new Error(said.detail), { status: answer.status });
    return said;
  };
  const asked = { ttl, owner: "lock.mjs", request_id: randomUUID() };
  const end = performance.now() + wait * 1000;
  let sent, given;
  while (!given) {
    sent = performance.now();
    const left = Math.max(0, Math.min((end - sent) / 1000, 20));
    try {
      given = await post("acquire", { ...asked, wait: left, last_token: lastToken }, left + 10);
    } catch (error) {
      // 409: others hold it. 503 or no answer: the same request_id finds what it was given.
      if (![409, 503, undefined].includes(error.status) || performance.now() >= end) throw error;
      if (error.status !== 409) await sleep(200);
    }
  }
  lastToken = Math.max(lastToken, given.token);
  const over = new AbortController();
  const done = new AbortController();
  let validUntil = sent + ttl * 1000;
  const renew = async () => {
    let pause = performance.now() > validUntil - (ttl * 2000) / 3 ? 0 : ttl / 3;
    for (;;) {
      await sleep(Math.min(pause * 1000, validUntil - performance.now()), null, { signal: done.signal });
      if (performance.now() >= validUntil) break;
      const began = performance.now();
      try {
        await post("renew", { lock_id: given.lock_id }, ttl / 3);
        [validUntil, pause] = [began + ttl * 1000, ttl / 3];
      } catch (error) {
        if (error.status === 409) break;
        pause = ttl / 10;
      }
    }
    over.abort(new Error(`lock ${name} was lost`));
  };
  const renewing = renew().catch(() => {});
  try {
    return await work({ token: given.token, signal: over.signal });
  } finally {
    done.abort();
    await renewing;
    // 409: it was lost before.
    await post("release", { lock_id: given.lock_id }, 10).catch((error) => {
      if (error.status !== 409) throw error;
    });
  }
}

if (import.meta.url === `file://${process.argv[1]}`) {
  const [url, name, accessToken] = process.argv.slice(2);
  await withLock(url, name, { wait: 10, accessToken }, async ({ token }) => console.log("token", token));
}
