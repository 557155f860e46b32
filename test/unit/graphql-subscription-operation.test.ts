/** A subscription, executed for each event: what it does when an event cannot be told in full. */
import { buildSchema, type ExecutionResult } from "graphql";
import { expect, it, vi } from "vitest";
import { prepareOperation, startOperation } from "../../src/graphql/subscriptions/operation.ts";
import { AppError, unavailable } from "../../src/platform/errors.ts";

const schema = buildSchema(
  "type Query { none: Int } type Subscription { changed: Event! } type Event { n: Int name: String }",
);

/** Follows three events, whose names `nameOf` tells; answers with what came, and with what it failed. */
async function follow(nameOf: (n: number) => string): Promise<{ told: unknown[]; failure: unknown }> {
  const onFailure = vi.fn<(error: unknown) => void>();
  const eventOf = (n: number) => ({ n, name: () => nameOf(n) });
  async function* events() {
    for (const n of [1, 2, 3]) yield { changed: eventOf(n) };
  }
  const operation = prepareOperation(schema, { query: "subscription { changed { n name } }" });
  const subscription = schema.getSubscriptionType()?.getFields()["changed"];
  if (subscription) subscription.subscribe = events;
  const results = await startOperation(operation, {
    signal: new AbortController().signal,
    makeContext: () => ({}),
    semaphore: (work) => work(),
    isAuthorized: () => Promise.resolve(true),
    onStart: () => undefined,
    onEnd: () => undefined,
    onFailure,
  });
  const told: ExecutionResult[] = [];
  for await (const result of results as AsyncGenerator<ExecutionResult>) told.push(result);
  return {
    told: told.map(({ data, errors }) => (errors ? errors.map(({ message }) => message) : data?.["changed"])),
    failure: onFailure.mock.calls[0]?.[0],
  };
}

const failing = (error: Error) => (n: number) => {
  if (n === 2) throw error;
  return `name ${n}`;
};

it("tells each event", async () => {
  const { told, failure } = await follow((n) => `name ${n}`);
  expect(told).toEqual([1, 2, 3].map((n) => ({ n, name: `name ${n}` })));
  expect(failure).toBeUndefined();
});

it("ends before an event of which a part is out of reach, which the client then asks the feed for", async () => {
  const away = unavailable("The database is unreachable.", 2);
  expect(await follow(failing(away))).toEqual({ told: [{ n: 1, name: "name 1" }], failure: away });
});

it.each([
  ["is no fault of a store", new AppError("ForbiddenException", "not for you"), "not for you"],
  [
    "would fail again",
    unavailable("took too long", 2, Object.assign(new Error(), { code: "57014" })),
    "took too long",
  ],
])("tells of a failure that %s, and goes on", async (_, error, message) => {
  const { told, failure } = await follow(failing(error));
  expect(told).toEqual([{ n: 1, name: "name 1" }, [message], { n: 3, name: "name 3" }]);
  expect(failure).toBeUndefined();
});
