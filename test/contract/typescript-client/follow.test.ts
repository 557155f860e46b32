/** Following the events feed with the TypeScript client. */
import { setImmediate as turn } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  GoneError,
  UnauthorizedError,
  Waymark,
  type ClientOptions,
  type CursorStore,
  type FollowFrom,
} from "../../../clients/typescript/src/index.ts";
import { encodeCursor } from "../../../src/core/cursor.ts";
import { minUuidAt } from "../../../src/core/ids.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { startTestApp, type TestApp, type TestOrganization } from "../../support/app/app.fixture.ts";
import { waitUntilFeedIsComplete } from "../../support/app/feed-client.ts";
import { patchJob } from "../../support/app/job-client.ts";
import { DAY_MS } from "../../support/fake-clock.ts";

let app: TestApp;

beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app[Symbol.asyncDispose]());

/** A store in memory that records what is saved. */
function createStore(cursor: string | null = null): CursorStore & { saved: string[] } {
  const saved: string[] = [];
  return { saved, load: () => saved.at(-1) ?? cursor, save: (next) => void saved.push(next) };
}

/** A client whose waits are recorded and end at once. */
function createClient(url: string, agent: TestOrganization, options: Partial<ClientOptions> = {}) {
  const waits: number[] = [];
  const waymark = new Waymark({
    apiKey: agent.key,
    baseUrl: url,
    async sleep(ms, signal) {
      waits.push(ms);
      await turn();
      signal?.throwIfAborted();
    },
    ...options,
  });
  return { waymark, waits };
}

/** An agent with a job and its number of events. */
async function createAgent(events: number): Promise<{ agent: TestOrganization; number: string }> {
  const agent = await app.createOrganization("agent");
  const [number = ""] = await app.createJobs(agent, [{}]);
  for (let weight = 1; weight < events; weight += 1) await patchJob(app, agent, number, { weight });
  await waitUntilFeedIsComplete(app.database);
  return { agent, number };
}

/** For tests in which no events have left the feed. */
const onGone = (error: GoneError): never => {
  throw error;
};

describe("follow", () => {
  it("yields each event, saves the cursor after the last of a page, and continues there", async () => {
    const { agent, number } = await createAgent(3);
    const { waymark, waits } = createClient(app.url, agent);
    const store = createStore();
    const sequences: number[] = [];
    let savedDuringPage: string[] | null = null;
    const stop = new AbortController();
    for await (const { data } of waymark.events.follow({ store, onGone, signal: stop.signal })) {
      sequences.push(data.sequence);
      if (data.sequence === 3) {
        savedDuringPage = [...store.saved];
        await patchJob(app, agent, number, { weight: 4 });
      }
      if (data.sequence === 4) break;
    }
    expect(sequences).toEqual([1, 2, 3, 4]);
    expect([savedDuringPage, store.saved.length]).toEqual([[], 1]);
    expect(waits.every((ms) => ms >= 5_000 && ms <= 5_500)).toBe(true);

    // Event 4 comes again, because its page was not finished.
    for await (const { data } of waymark.events.follow({ store, onGone, signal: stop.signal })) {
      expect(data.sequence).toBe(4);
      queueMicrotask(() => stop.abort());
    }
    expect(store.saved).toHaveLength(2);
  });

  it("starts with new events only, if asked to", async () => {
    const { agent, number } = await createAgent(3);
    const { waymark } = createClient(app.url, agent, {
      // The first request takes the cursor.
      fetch: async (...request) => {
        const response = await fetch(...request);
        if (response.url.includes("after=latest")) await patchJob(app, agent, number, { weight: 9 });
        return response;
      },
    });
    for await (const { data } of waymark.events.follow({ store: createStore(), onGone, start: "latest" })) {
      expect(data.sequence).toBe(4);
      break;
    }
  });

  it("saves the latest cursor before the first event, so a stop before it loses nothing", async () => {
    const { agent, number } = await createAgent(1);
    const store = createStore();
    const stop = new AbortController();
    const { waymark: stopped } = createClient(app.url, agent, {
      async sleep() {
        stop.abort();
        stop.signal.throwIfAborted();
      },
    });
    const events = stopped.events.follow({ store, onGone, start: "latest", signal: stop.signal });
    for await (const { id } of events) expect.unreachable(id);
    expect(store.saved).toHaveLength(1);

    const { waymark } = createClient(app.url, agent);
    await patchJob(app, agent, number, { weight: 2 });
    for await (const { data } of waymark.events.follow({ store, onGone, start: "latest" })) {
      expect(data.sequence).toBe(2);
      break;
    }
  });

  it("waits out failures, reports them, and ends with an error that waiting can't fix", async () => {
    const { agent } = await createAgent(1);
    let requests = 0;
    const { waymark, waits } = createClient(app.url, agent, {
      maxRetries: 0,
      fetch: async (url, init) => {
        requests += 1;
        if (requests <= 5) throw new TypeError("fetch failed");
        const headers = new Headers(init?.headers);
        if (requests === 7) headers.set("x-api-key", "revoked");
        return await fetch(url, { ...init, headers });
      },
    });
    const failures: string[] = [];
    const types: string[] = [];
    const onRetry = (error: Error): void => void failures.push(error.name);
    const follow = async (): Promise<void> => {
      for await (const { type } of waymark.events.follow({ store: createStore(), onGone, onRetry }))
        types.push(type);
    };
    await expect(follow()).rejects.toThrow(UnauthorizedError);
    expect([types, failures]).toEqual([["job.created"], Array.from({ length: 5 }, () => "ConnectionError")]);
    const seconds = waits.slice(0, 5).map((ms) => Math.floor(ms / 1_000));
    expect(seconds.every((wait, index) => wait >= [5, 10, 20, 40, 60][index]!)).toBe(true);
  });

  it("ends without an error when the signal aborts, also while it waits", async () => {
    const { agent } = await createAgent(1);
    const stop = new AbortController();
    const waymark = new Waymark({ apiKey: agent.key, baseUrl: app.url });
    const cursors: string[] = [];
    for await (const { cursor } of waymark.events.followPages({ signal: stop.signal, onGone })) {
      cursors.push(cursor);
      setImmediate(() => stop.abort());
    }
    expect(cursors).toHaveLength(1);
  });
});

describe("410 while following", () => {
  const expired = encodeCursor("events", ["0", "0"]);

  /** Follows from an expired cursor until the first event. The events of the job are 31 days old. */
  async function followExpired(decide: (waymark: Waymark, error: GoneError) => Promise<FollowFrom>) {
    const { agent, number } = await createAgent(2);
    // IDs of events begin with their time.
    const time = minUuidAt(new Date(Date.now() - 31 * DAY_MS)).slice(0, 13);
    await app.database.query(sql`
      update job_event set id = (${time}::text || substr(id::text, 14))::uuid where agent_id = ${agent.id}::uuid`);
    const { waymark } = createClient(app.url, agent);
    const store = createStore(expired);
    const stop = new AbortController();
    const reconcile = async (error: GoneError): Promise<FollowFrom> => {
      // A change during the reconciliation.
      await patchJob(app, agent, number, { weight: 50 });
      await waitUntilFeedIsComplete(app.database);
      return await decide(waymark, error);
    };
    const events: number[] = [];
    const follow = async (): Promise<void> => {
      const options = { store, signal: stop.signal, onGone: reconcile };
      for await (const { data } of waymark.events.follow(options)) {
        events.push(data.sequence);
        stop.abort();
      }
    };
    return { outcome: await follow().catch((error: unknown) => error), events, store };
  }

  it("throws the error of a failed reconciliation, and keeps the stored cursor", async () => {
    const { outcome, events, store } = await followExpired((_waymark, error) => Promise.reject(error));
    expect(outcome).toBeInstanceOf(GoneError);
    expect((outcome as GoneError).oldestCursor).toMatch(/^\w+/);
    expect([events, store.saved]).toEqual([[], []]);
  });

  it.each<FollowFrom>(["latest", "oldest"])(
    "lets the caller reconcile, and continues from the %s cursor without missing a change meanwhile",
    async (from) => {
      const copied: string[] = [];
      const { outcome, events, store } = await followExpired(async (waymark, error) => {
        expect(error.code).toBe("GoneException");
        for await (const { marking_number: number } of waymark.jobs.list()) copied.push(number);
        return from;
      });
      expect(outcome).toBeUndefined();
      expect([copied.length, events]).toEqual([1, [3]]);
      expect(store.saved).not.toContain(expired);
    },
  );

  it("throws at the start if a program without types forgot onGone", async () => {
    const { waymark } = createClient("http://127.0.0.1:9", await app.createOrganization("agent"));
    const forgotten = { store: createStore() } as never;
    await expect(waymark.events.follow(forgotten).next()).rejects.toThrow("Pass onGone");
    await expect(waymark.events.followPages(undefined as never).next()).rejects.toThrow("Pass onGone");
  });
});
