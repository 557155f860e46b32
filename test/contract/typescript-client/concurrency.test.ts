/** How the TypeScript client bounds its requests in flight, and shares the waits that the server asks for. */
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { TimeoutError, Waymark, type ClientOptions } from "../../../clients/typescript/src/index.ts";
import { endSharedApps } from "../../support/app/shared-app.ts";

beforeAll(endSharedApps);

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

interface Sent {
  /** The Marking Number. */
  job: string;
  atMs: number;
  answer: (status?: number, headers?: Record<string, string>) => Promise<void>;
  cut: () => Promise<void>;
}

const settle = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0);

/** A client, and the requests that it has sent: each is in flight until the test answers it. */
function createClient(options: Partial<ClientOptions> = {}) {
  const startMs = performance.now();
  const sent: Sent[] = [];
  const send: typeof fetch = (url, init) =>
    new Promise((resolve, reject) => {
      init?.signal?.addEventListener("abort", () => reject(new Error("aborted")));
      sent.push({
        job: (url as string).split("/").at(-1) ?? "",
        atMs: performance.now() - startMs,
        async answer(status = 200, headers = {}) {
          resolve(new Response('{"data": {}}', { status, headers }));
          await settle();
        },
        async cut() {
          reject(new Error("closed"));
          await settle();
        },
      });
    });
  const waymark = new Waymark({ apiKey: "wm_key", baseUrl: "http://127.0.0.1", fetch: send, ...options });
  /** Reads jobs at the same time. A call resolves to the job, or to the error. */
  const get = async (...jobs: (string | number)[]) => {
    const calls = jobs.map((job) => waymark.jobs.get(String(job)).catch((error: unknown) => error));
    await settle();
    return { calls };
  };
  return { waymark, sent, get, jobs: () => sent.map(({ job }) => job) };
}

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

/** Makes each random number another one. */
function spreadRandomNumbers(): void {
  let next = 0;
  vi.spyOn(Math, "random").mockImplementation(() => (next += 0.01) % 1);
}

describe("requests in flight", () => {
  it.each([
    ["by default", undefined, 5],
    ["1", 1, 1],
    ["8", 8, 8],
    ["Infinity", Infinity, 12],
  ])("are at most maxConcurrentRequests, and further calls start in order: %s", async (_, max, expected) => {
    const { sent, get, jobs } = createClient({ maxConcurrentRequests: max });
    await get(...numbers(12));
    expect(sent).toHaveLength(expected);
    for (let answered = 0; answered < 12; answered += 1) {
      expect(sent).toHaveLength(Math.min(12, expected + answered));
      await sent[answered]?.answer();
    }
    expect(jobs()).toEqual(numbers(12).map(String));
  });

  it.each([0, -1, 1.5, Number.NaN])("can't be at most %d", (max) => {
    expect(() => createClient({ maxConcurrentRequests: max })).toThrow(
      `maxConcurrentRequests must be a whole number of at least 1, or Infinity, got ${max}`,
    );
  });

  it("do not include a call that waits before its next attempt", async () => {
    const { sent, get, jobs } = createClient({ maxConcurrentRequests: 1 });
    await get("A", "B");
    await sent[0]?.cut();
    expect(jobs()).toEqual(["A", "B"]);
    await sent[1]?.answer();
    await vi.advanceTimersByTimeAsync(500);
    expect(jobs()).toEqual(["A", "B", "A"]);
  });

  it("do not include a call that timed out", async () => {
    const { get, jobs } = createClient({ maxConcurrentRequests: 1, timeoutMs: 1_000, maxRetries: 0 });
    const { calls } = await get("A", "B");
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await calls[0]).toBeInstanceOf(TimeoutError);
    expect(jobs()).toEqual(["A", "B"]);
  });

  it("do not include a follower of the feed that waits for events", async () => {
    const { waymark, sent, get, jobs } = createClient({ maxConcurrentRequests: 1 });
    const stop = new AbortController();
    const feed = { items: [], next_cursor: "c1", has_more: false };
    const pages = waymark.events.followPages({ after: "c1", signal: stop.signal, onGone: () => "oldest" });
    const next = pages.next();
    await settle();
    vi.spyOn(Response.prototype, "text").mockResolvedValueOnce(JSON.stringify({ data: feed }));
    await sent[0]?.answer();
    await get("A");
    expect(jobs().at(-1)).toBe("A");
    stop.abort();
    expect(await next).toEqual({ done: true, value: undefined });
  });
});

describe("a call in the queue", () => {
  it("ends with the signal's reason, and the next call is sent in its place", async () => {
    const { waymark, sent, get, jobs } = createClient({ maxConcurrentRequests: 1 });
    await get("A");
    const stop = new AbortController();
    const call = waymark.jobs.get("B", { signal: stop.signal }).catch((error: unknown) => error);
    await get("C");
    const reason = new Error("too late");
    stop.abort(reason);
    expect(await call).toBe(reason);
    await sent[0]?.answer();
    expect(jobs()).toEqual(["A", "C"]);
    // A signal that has already aborted holds up no other call either.
    await expect(waymark.jobs.get("D", { signal: stop.signal })).rejects.toBe(reason);
    await sent[1]?.answer();
    await get("E");
    expect(jobs()).toEqual(["A", "C", "E"]);
  });

  it("has its whole timeout once it is sent", async () => {
    const { sent, get } = createClient({ maxConcurrentRequests: 1, timeoutMs: 1_000, maxRetries: 0 });
    const { calls } = await get("A", "B");
    await vi.advanceTimersByTimeAsync(900);
    await sent[0]?.answer();
    await vi.advanceTimersByTimeAsync(900);
    await sent[1]?.answer();
    expect(await calls[1]).toEqual({});
  });
});

describe("Retry-After", () => {
  it.each([429, 503])("of a %i delays all requests of the client, and spreads them out", async (status) => {
    spreadRandomNumbers();
    const { sent, get, jobs } = createClient();
    await get(...numbers(7));
    await sent[0]?.answer(status, { "retry-after": "10" });
    for (const { answer } of sent.slice(1)) await answer();
    await get(7, 8, 9);
    await vi.advanceTimersByTimeAsync(9_999);
    expect(sent).toHaveLength(5);

    await vi.advanceTimersByTimeAsync(2_001);
    const times = sent.slice(5).map(({ atMs }) => atMs);
    expect(times).toHaveLength(5);
    expect(times.filter((atMs) => atMs < 10_000)).toEqual([]);
    expect(new Set(times).size).toBe(times.length);
    await sent[5]?.answer();
    expect(jobs().at(-1)).toBe("0");
  });

  it("delays a call that has its own wait before the next attempt", async () => {
    const { sent, get, jobs } = createClient();
    await get("A", "B");
    await sent[1]?.cut();
    await sent[0]?.answer(429, { "retry-after": "10" });
    await vi.advanceTimersByTimeAsync(9_999);
    expect(jobs()).toEqual(["A", "B"]);
    await vi.advanceTimersByTimeAsync(2_001);
    expect(jobs().toSorted()).toEqual(["A", "A", "B", "B"]);
  });

  it("is the longest of several, also for calls that already wait", async () => {
    const { sent, get } = createClient({ maxRetries: 0 });
    await get("A", "B", "C");
    await sent[0]?.answer(429, { "retry-after": "20" });
    await get("D");
    await vi.advanceTimersByTimeAsync(5_000);
    await sent[1]?.answer(503, { "retry-after": "30" });
    await sent[2]?.answer(503, { "retry-after": "1" });
    await vi.advanceTimersByTimeAsync(29_999);
    expect(sent).toHaveLength(3);
    await vi.advanceTimersByTimeAsync(6_001);
    expect(sent).toHaveLength(4);
  });

  it("delays no call that starts after its time", async () => {
    const { sent, get } = createClient({ maxRetries: 0 });
    await get("A");
    await sent[0]?.answer(429, { "retry-after": "10" });
    await vi.advanceTimersByTimeAsync(10_000);
    await get("B");
    expect(sent).toHaveLength(2);
  });

  it.each([
    ["429 without it", 429, {}],
    ["429 with more than the client waits for", 429, { "retry-after": "61" }],
    ["500", 500, { "retry-after": "10" }],
  ])("delays no other request: %s", async (_, status, headers) => {
    const { sent, get, jobs } = createClient({ maxRetries: 0 });
    await get("A");
    await sent[0]?.answer(status, headers);
    await get("B");
    expect(jobs()).toEqual(["A", "B"]);
  });

  it("does not keep a call whose signal aborts", async () => {
    const { waymark, sent, get, jobs } = createClient({ maxConcurrentRequests: 1, maxRetries: 0 });
    await get("A");
    await sent[0]?.answer(429, { "retry-after": "10" });
    const stop = new AbortController();
    const call = waymark.jobs.get("B", { signal: stop.signal }).catch((error: unknown) => error);
    await settle();
    const reason = new Error("closed");
    stop.abort(reason);
    expect(await call).toBe(reason);
    await get("C");
    await vi.advanceTimersByTimeAsync(12_000);
    expect(jobs()).toEqual(["A", "C"]);
  });
});
