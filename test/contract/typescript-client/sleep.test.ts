/** The waits of the TypeScript client, with the timers of the platform. */
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { Waymark } from "../../../clients/typescript/src/index.ts";
import { sleep } from "../../../clients/typescript/src/retry.ts";
import { endSharedApps } from "../../support/app/shared-app.ts";

beforeAll(endSharedApps);

const LIMIT_MS = 2 ** 31 - 1;

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

describe("sleep", () => {
  it.each([0, 1, 1_000.4, 60_000, LIMIT_MS, LIMIT_MS + 1, LIMIT_MS * 3 + 7])(
    "waits for %d ms and not less",
    async (ms) => {
      let isOver = false;
      const wait = async (): Promise<void> => {
        await sleep(ms);
        isOver = true;
      };
      const waiting = wait();
      await vi.advanceTimersByTimeAsync(Math.max(0, Math.ceil(ms) - 1));
      expect(isOver).toBe(ms === 0);
      await vi.advanceTimersByTimeAsync(1);
      await waiting;
    },
  );

  it.each([1_000, LIMIT_MS * 2])(
    "of %d ms rejects with the reason of the signal, and leaves no timer",
    async (ms) => {
      const reason = new Error("closed");
      const stop = new AbortController();
      // A timer that ends calls it. The timers of the process are not counted: other code has some.
      const timerEnded = vi.spyOn(stop.signal, "removeEventListener");
      const outcome = sleep(ms, stop.signal).catch((error: unknown) => error);
      await vi.advanceTimersByTimeAsync(ms - 10);
      stop.abort(reason);
      expect(await outcome).toBe(reason);
      await expect(sleep(ms, stop.signal)).rejects.toBe(reason);
      timerEnded.mockClear();
      await vi.advanceTimersByTimeAsync(ms);
      expect(timerEnded).not.toHaveBeenCalled();
    },
  );
});

describe("a client", () => {
  it("that follows the feed sends no request before a Retry-After of 30 days has passed", async () => {
    const retryAfterS = 30 * 24 * 60 * 60;
    const send = vi.fn<typeof fetch>(
      async () => new Response("{}", { status: 503, headers: { "retry-after": String(retryAfterS) } }),
    );
    const stop = new AbortController();
    const waymark = new Waymark({ apiKey: "wm_key", baseUrl: "http://127.0.0.1", fetch: send });
    const ended = waymark.events.followPages({ signal: stop.signal, onGone: () => "oldest" }).next();
    await vi.advanceTimersByTimeAsync(retryAfterS * 1_000);
    expect(send).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(retryAfterS * 100);
    expect(send).toHaveBeenCalledTimes(2);
    stop.abort();
    expect(await ended).toEqual({ done: true, value: undefined });
  });

  it.each([LIMIT_MS + 1, Infinity])("with a timeout of %d ms waits for the answer", async (timeoutMs) => {
    const send = vi.fn<typeof fetch>(
      (_url, init) =>
        new Promise((resolve, reject) => {
          init?.signal?.addEventListener("abort", () => reject(new Error("aborted")));
          setTimeout(() => resolve(new Response('{"data": {}}')), 60_000);
        }),
    );
    const waymark = new Waymark({ apiKey: "wm_key", baseUrl: "http://127.0.0.1", fetch: send, timeoutMs });
    const call = waymark.jobs.get("WM-1");
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await call).toEqual({});
    expect(send).toHaveBeenCalledTimes(1);
  });
});
