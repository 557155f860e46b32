/** Requests of the TypeScript client: retries, timeouts, errors, lists and batches. */
import { describe, expect, it, vi } from "vitest";
import {
  ApiError,
  BadRequestError,
  ConnectionError,
  PreconditionFailedError,
  TimeoutError,
  TooManyRequestsError,
  Waymark,
  WaymarkError,
  type ClientOptions,
  type UpdateResult,
} from "../../../clients/typescript/src/index.ts";
import { operations } from "../../../clients/typescript/src/generated/api.ts";
import { isRetryable, retryDelayMs } from "../../../clients/typescript/src/retry.ts";
import { sharedApp } from "../../support/app/shared-app.ts";
import { expectChangesExactlyOnce } from "../../support/clients/changes-through-proxy.ts";
import { changeThroughProxy, listWhileChanging } from "../../support/clients/typescript.ts";
import { startTestReceiver, type ReceiverReply, type TestReceiver } from "../../support/webhooks/receiver.ts";

type Reply = ReceiverReply | "cut" | "none";

const ok = (data: unknown): ReceiverReply => ({ body: JSON.stringify({ success: true, data, error: null }) });

const failure = (status: number, code: string, headers = {}, details: unknown = null): ReceiverReply => ({
  status,
  headers,
  body: JSON.stringify({
    request_id: "req_1",
    success: false,
    data: null,
    error: { code, message: `${code}!`, details, doc_url: "http://docs.example/errors" },
  }),
});

/** A page of changes with `ids`. */
const page = (number: number, ids: string[], total: number): ReceiverReply =>
  ok({ items: ids.map((id) => ({ id })), pagination: { page: number, page_size: 2, total } });

/** An answer without an error of Waymark. */
const answered = (status: number): ApiError =>
  new ApiError({
    code: "",
    message: "",
    status,
    details: null,
    requestId: null,
    docUrl: null,
    headers: new Headers(),
  });

/** Starts a server that gives `replies` in their order, and a client that waits no real time. */
async function startScript(replies: readonly Reply[], options: Partial<ClientOptions> = {}) {
  const left = [...replies];
  const server = await startTestReceiver({
    respond: (_received, response) => {
      const reply = left.length > 1 ? left.shift() : left[0];
      if (reply === "cut") response.destroy();
      return typeof reply === "object" ? reply : undefined;
    },
  });
  const waits: number[] = [];
  let nowMs = 0;
  const waymark = new Waymark({
    apiKey: "wm_key",
    baseUrl: new URL(server.url).origin,
    sleep: async (ms) => {
      waits.push(ms);
      nowMs += ms;
    },
    now: () => nowMs,
    ...options,
  });
  return { server, waymark, waits, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

const keysOf = ({ received }: TestReceiver): unknown[] =>
  received.map(({ headers }) => headers["idempotency-key"]);
const job = { marking_number: "WM-1", weight: 1 };

describe("a request that fails", () => {
  it.each<[string, Reply]>([
    ["the connection is closed", "cut"],
    ["500", failure(500, "InternalServerErrorException")],
    ["502 of a proxy", { status: 502, body: "<html>Bad gateway</html>" }],
    ["503", failure(503, "ServiceUnavailableException")],
    ["a success that is cut off", { body: '{"success": true, "da' }],
  ])("is sent again with the same Idempotency-Key: %s", async (_, reply) => {
    await using script = await startScript([reply, reply, ok(job)]);
    const { data, attempts } = await script.waymark.jobs.update("WM-1", { weight: 1 }).withResponse();

    expect([data, attempts]).toEqual([job, 3]);
    const keys = keysOf(script.server);
    expect(keys).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/), keys[0], keys[0]]);
  });

  it("has another key in another call, and the caller's own if there is one", async () => {
    await using script = await startScript([ok(job)]);
    await script.waymark.jobs.update("WM-1", {});
    await script.waymark.jobs.update("WM-1", {});
    await script.waymark.jobs.update("WM-1", {}, { idempotencyKey: "order-1" });

    const [first, second, third] = keysOf(script.server);
    expect(first).not.toBe(second);
    expect(third).toBe("order-1");
  });

  it("keeps an Idempotency-Key that the caller sets as a header, and treats it like the option", async () => {
    const conflict = failure(409, "ConflictException");
    await using script = await startScript(["cut", conflict, ok(job)], {
      headers: { "idempotency-key": "all" },
    });
    await script.waymark.jobs.update("WM-1", {}, { headers: { "Idempotency-Key": "order-1" } });
    await script.waymark.jobs.update("WM-1", {});
    await script.waymark.jobs.get("WM-1", { headers: { "Idempotency-Key": "read" } });
    await script.waymark.jobs.update(
      "WM-1",
      {},
      { idempotencyKey: "option", headers: { "Idempotency-Key": "no" } },
    );

    expect(keysOf(script.server)).toEqual(["order-1", "order-1", "order-1", "all", "read", "option"]);
  });

  it("is sent again after 409 only if an earlier attempt may be in flight", async () => {
    const conflict = failure(409, "ConflictException");
    await using first = await startScript([conflict, ok(job)]);
    await using second = await startScript(["cut", conflict, ok(job)]);

    await expect(first.waymark.jobs.update("WM-1", {})).rejects.toMatchObject({ name: "ConflictError" });
    await expect(second.waymark.jobs.update("WM-1", {})).resolves.toEqual(job);
  });

  it.each([400, 401, 403, 404, 412, 413, 415, 422])("is not sent again after %i", async (status) => {
    await using script = await startScript([failure(status, "OtherException"), ok(job)]);
    await expect(script.waymark.jobs.get("WM-1")).rejects.toMatchObject({ status });
    expect(script.server.received).toHaveLength(1);
  });

  it("is given up after maxRetries, with the last error", async () => {
    await using script = await startScript(["cut"], { maxRetries: 2 });
    await expect(script.waymark.jobs.get("WM-1")).rejects.toThrow(ConnectionError);
    expect(script.server.received).toHaveLength(3);
  });

  it("waits at least for Retry-After, in seconds or as a date, and longer with each attempt without it", async () => {
    const limited = failure(429, "TooManyRequestsException", { "retry-after": "7" });
    const date = new Date(Date.now() + 30_000).toUTCString();
    const unavailable = failure(503, "ServiceUnavailableException", { "retry-after": date });
    await using script = await startScript([limited, unavailable, "cut", ok(job)]);
    await script.waymark.jobs.get("WM-1");

    const [first = 0, second = 0, third = 0] = script.waits;
    expect([first >= 7_000, first <= 8_400]).toEqual([true, true]);
    expect([second > 20_000, second <= 36_000]).toEqual([true, true]);
    expect([third >= 1_000, third <= 2_000]).toEqual([true, true]);
    expect([1, 2, 3, 9].map((attempt) => retryDelayMs(null, attempt, 1))).toEqual([500, 1_000, 2_000, 8_000]);
  });

  it("is not sent again if the server asks to wait for more than a minute", async () => {
    await using script = await startScript([
      failure(429, "TooManyRequestsException", { "retry-after": "61" }),
    ]);
    const error = await script.waymark.jobs.get("WM-1").catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(TooManyRequestsError);
    expect((error as TooManyRequestsError).retryAfter).toBe(61);
    expect(script.waits).toEqual([]);
  });
});

describe("a change without an Idempotency-Key", () => {
  const sent = { isRepeatable: false, mayBeInFlight: false };
  it("is sent again only after 429, which the server did not process", () => {
    const errors = [new ConnectionError(), new TimeoutError(), ...[409, 429, 500, 502, 503].map(answered)];
    expect(errors.map((error) => isRetryable(error, sent))).toEqual([
      false,
      false,
      false,
      true,
      false,
      false,
      false,
    ]);
  });

  it("is any operation that changes something and takes no key", () => {
    for (const [name, { method, changes }] of Object.entries(operations))
      expect({ name, changes }).toEqual({ name, changes: method !== "GET" && name !== "lookUpJobs" });
  });
});

describe("an error", () => {
  it("has the class of its code, and request ID, details and page", async () => {
    const problems = [
      { location: "body", field: "weight", code: "invalid_type", message: "must be a number" },
    ];
    await using script = await startScript([failure(400, "BadRequestException", {}, problems)]);
    const error = await script.waymark.jobs.update("WM-1", {}).catch((thrown: unknown) => thrown);

    expect(error).toBeInstanceOf(BadRequestError);
    const { problems: listed, ...rest } = error as BadRequestError;
    expect((error as BadRequestError).problems ?? listed).toEqual(problems);
    expect(rest).toMatchObject({
      code: "BadRequestException",
      requestId: "req_1",
      docUrl: "http://docs.example/errors",
      retryAfter: null,
    });
    expect((error as Error).message).toBe("BadRequestException!");
  });

  it("of an unknown code or without one is an ApiError", async () => {
    await using script = await startScript([
      failure(418, "TeapotException"),
      { status: 404, body: "<html>" },
    ]);
    const errors = [];
    for (let index = 0; index < 2; index += 1)
      errors.push(await script.waymark.jobs.get("WM-1").catch((thrown: unknown) => thrown));

    expect(errors.map((error) => (error as object).constructor)).toEqual([ApiError, ApiError]);
    expect(errors).toMatchObject([{ code: "TeapotException" }, { code: "", status: 404, requestId: null }]);
  });

  it("of a real refusal has the current ETag", async () => {
    const app = await sharedApp();
    const agent = await app.createOrganization("agent");
    const [number = ""] = await app.createJobs(agent, [{}]);
    const waymark = new Waymark({ apiKey: agent.key, baseUrl: `${app.url}/v1/` });
    const error = await waymark.jobs
      .update(number, { weight: 1 }, { ifMatch: '"9"' })
      .catch((thrown: unknown) => thrown);

    expect(error).toBeInstanceOf(PreconditionFailedError);
    const { currentEtag } = error as PreconditionFailedError;
    expect(await waymark.jobs.getIfChanged(number, currentEtag ?? "")).toBeNull();
  });

  it("never contains the API key", async () => {
    await using script = await startScript(["cut"], { maxRetries: 0 });
    const error = await script.waymark.jobs.get("WM-1").catch((thrown: unknown) => thrown);
    expect(JSON.stringify([error, String(error), String((error as Error).cause)])).not.toContain("wm_key");
  });

  it("names a base URL that can't be right", () => {
    expect(() => new Waymark({ apiKey: "k", baseUrl: "api.example.com" })).toThrow("baseUrl");
  });

  it.each(["", ".", ".."])("refuses a Marking Number that no URL can hold: %j", async (number) => {
    await using script = await startScript([ok(job)]);
    await expect(script.waymark.jobs.get(number)).rejects.toThrow(WaymarkError);
    expect(script.server.received).toHaveLength(0);
  });
});

describe("a call", () => {
  it("without an answer within timeoutMs is sent again, and then throws a TimeoutError", async () => {
    // On a busy machine an attempt can end before its request reaches the server.
    const send = vi.fn<typeof fetch>(fetch);
    await using script = await startScript(["none"], { maxRetries: 1, fetch: send });
    await expect(script.waymark.jobs.get("WM-1", { timeoutMs: 50 })).rejects.toThrow(TimeoutError);
    expect(send).toHaveBeenCalledTimes(2);
  });

  it("rejects with the signal's reason while it sends and while it waits", async () => {
    const reason = new Error("closed");
    const stop = new AbortController();
    await using sending = await startScript(["none"], {
      fetch: async (...request) => {
        queueMicrotask(() => stop.abort(reason));
        return await fetch(...request);
      },
    });
    await expect(sending.waymark.jobs.get("WM-1", { signal: stop.signal })).rejects.toBe(reason);

    const waiting = new AbortController();
    await using failing = await startScript(["cut"], { sleep: undefined });
    const call = failing.waymark.jobs.get("WM-1", {
      signal: waiting.signal,
      headers: { "X-Test": "1" },
    });
    await expect.poll(() => failing.server.received.length).toBe(1);
    waiting.abort(reason);
    await expect(call).rejects.toBe(reason);
    expect(failing.server.received[0]?.headers["x-test"]).toBe("1");
  });

  it("sends its own headers with each request, also of lists and followers", async () => {
    const feed = { items: [{}], next_cursor: "c1", has_more: false };
    await using script = await startScript([ok(feed)]);
    const { jobs, events } = script.waymark;
    const options = { headers: { "X-Trace": "t-1" } };
    await jobs.get("WM-1", options);
    for await (const _ of events.list({}, options)) break;
    const following = { ...options, onGone: (): "oldest" => "oldest" };
    const store = { load: () => null, save: () => undefined };
    for await (const _ of events.follow({ ...following, store })) break;
    for await (const _ of events.followPages(following)) break;
    expect(script.server.received.map(({ headers }) => headers["x-trace"])).toEqual(Array(4).fill("t-1"));
  });

  it("does not follow redirects, which would send the key elsewhere", async () => {
    await using script = await startScript([{ status: 307, headers: { location: "http://127.0.0.1:9/" } }]);
    await expect(script.waymark.jobs.get("WM-1")).rejects.toMatchObject({ status: 307 });
  });

  it("sends null, leaves absent fields out, and returns members that are newer than the client", async () => {
    await using script = await startScript([ok({ ...job, normalized_status: "in_orbit", altitude: 400 })]);
    const updated = await script.waymark.jobs.update("A/17 ü", { labels: null, weight: undefined as never });

    expect(updated).toMatchObject({ normalized_status: "in_orbit", altitude: 400 });
    const [{ body, path } = { body: "", path: "" }] = script.server.received;
    expect([JSON.parse(body), path]).toEqual([{ labels: null }, "/v1/jobs/by-marking/A%2F17%20%C3%BC"]);
  });
});

describe("lists", () => {
  it("of a job's changes have each change once, although new ones move the pages", async () => {
    await using script = await startScript([
      page(1, ["d", "c"], 4),
      page(2, ["c", "b"], 5),
      page(3, ["a"], 5),
    ]);
    const ids: string[] = [];
    for await (const { id } of script.waymark.jobs.listHistory("WM-1")) ids.push(id);
    expect(ids).toEqual(["d", "c", "b", "a"]);
  });

  it("have each of 537 jobs once while they change", async () => {
    const app = await sharedApp();
    const agent = await app.createOrganization("agent");
    const numbers = await app.createJobs(agent, 537);
    const { listed, changed } = await listWhileChanging({ baseUrl: app.url, key: agent.key }, numbers);
    expect(listed.toSorted()).toEqual(numbers.toSorted());
    expect(changed).toBeGreaterThan(100);
  });
});

describe("updateMany", () => {
  it("splits items into batches of 100 and yields each result in order, also of items that fail", async () => {
    const app = await sharedApp();
    const agent = await app.createOrganization("agent");
    const numbers = await app.createJobs(agent, 230);
    numbers[150] = "NONE";
    const waymark = new Waymark({ apiKey: agent.key, baseUrl: app.url });
    let read = 0;
    async function* items() {
      for (const number of numbers) {
        read += 1;
        yield { marking_number: number, weight: read };
      }
    }
    const results: UpdateResult[] = [];
    const readBefore: number[] = [];
    for await (const result of waymark.jobs.updateMany(items())) {
      readBefore.push(read);
      results.push(result);
    }
    // Only as many items are read as a batch needs.
    expect([readBefore[0], readBefore[100], readBefore[229]]).toEqual([100, 200, 230]);

    expect(results.map(({ marking_number: number }) => number)).toEqual(numbers);
    expect(results.filter(({ success }) => !success)).toEqual([results[150]]);
    expect(results[229]).toMatchObject({ success: true, job: { weight: 230 } });
  });

  it("yields the same results as updateBatch", async () => {
    const app = await sharedApp();
    const agent = await app.createOrganization("agent");
    const [number = ""] = await app.createJobs(agent, [{ patch: { weight: 1 } }]);
    const waymark = new Waymark({ apiKey: agent.key, baseUrl: app.url });
    const items = [
      { marking_number: number, weight: 1 },
      { marking_number: "NONE", weight: 1 },
      { marking_number: number, weight: "heavy" as never },
    ];
    const many = await Array.fromAsync(waymark.jobs.updateMany(items));
    const { results, failed_count: failed } = await waymark.jobs.updateBatch(items);
    expect(many).toEqual(results);
    expect(failed).toBe(2);
    const described = many.map((result) => (result.success ? result.job.weight : result.error_code));
    expect(described).toEqual([1, "NotFoundException", "BadRequestException"]);
    expect(many.map((result) => result.error_details?.at(0)?.field)).toEqual([
      undefined,
      undefined,
      "jobs[2].weight",
    ]);
  });

  it.each([
    ["option", { idempotencyKey: "import-7" }],
    ["header", { headers: { "Idempotency-Key": "import-7" } }],
  ])("numbers the caller's Idempotency-Key: %s", async (_, options) => {
    const results = Array.from({ length: 100 }, () => ({ marking_number: "WM-1", success: true, job }));
    await using script = await startScript([ok({ results })]);
    const items = Array.from({ length: 200 }, () => ({ marking_number: "WM-1", weight: 1 }));
    for await (const { success } of script.waymark.jobs.updateMany(items, options))
      expect(success).toBe(true);
    expect(keysOf(script.server)).toEqual(["import-7-1", "import-7-2"]);
  });
});

describe("through a proxy that loses, delays and refuses answers", () => {
  it("each of 150 changes is applied once", async () => {
    const app = await sharedApp();
    await expectChangesExactlyOnce(app, 150, changeThroughProxy);
  });
});

describe("what JSON and URLs cannot hold", () => {
  it.each([Number.NaN, Number.POSITIVE_INFINITY, Number("12,5")])(
    "%d is refused before a request",
    async (number) => {
      await using script = await startScript([ok({})]);
      const { waymark, server } = script;
      await expect(waymark.jobs.update("V-1", { weight: number })).rejects.toThrow(
        `weight must not be ${number}`,
      );
      const batch = waymark.jobs.updateBatch([{ marking_number: "V-1", pts: number }]);
      await expect(batch).rejects.toThrow(`pts must not be ${number}`);
      await expect(waymark.jobs.listPage({ page: number })).rejects.toThrow(`page must not be ${number}`);
      expect(server.received).toEqual([]);
    },
  );

  it("a filter by several statuses is a list or a text", async () => {
    await using script = await startScript([page(1, [], 0), page(1, [], 0)]);
    const { waymark, server } = script;
    await waymark.jobs.listPage({ normalized_status: ["failed", "on_hold"], category: ["open"] });
    await waymark.jobs.listPage({ normalized_status: "failed,on_hold" });
    expect(server.received.map(({ path }) => path)).toEqual([
      "/v1/jobs?normalized_status=failed%2Con_hold&category=open",
      "/v1/jobs?normalized_status=failed%2Con_hold",
    ]);
  });

  it("undefined in a list is refused, and left out elsewhere, as null is in a query", async () => {
    await using script = await startScript([page(1, [], 0)]);
    const { waymark, server } = script;
    const numbers = ["V-1", undefined] as unknown as string[];
    await expect(waymark.jobs.lookUp(numbers)).rejects.toThrow("must not be undefined");
    expect(server.received).toEqual([]);
    await waymark.jobs.listPage({ marking_number: null as unknown as string, page: undefined });
    expect(server.received.map(({ path }) => path)).toEqual(["/v1/jobs"]);
  });

  it.each([undefined, null, "", "wmk_1\n", " wmk_1", "wmk 1", "café"])(
    "a key of %j is refused, and not shown",
    (apiKey) => {
      const create = () => new Waymark({ apiKey: apiKey as string, baseUrl: "http://127.0.0.1" });
      expect(create).toThrow("apiKey must be an API key of Waymark, without white space");
    },
  );
});
