/** The execution of a subscription for each event, with and without errors. */
import { buildSchema, parse, type ExecutionResult } from "graphql";
import { Registry } from "prom-client";
import { expect, it, vi } from "vitest";
import { scopes } from "../../../src/api-keys/api.ts";
import { startSubscription } from "../../../src/api/graphql/subscriptions/event-execution.ts";
import { createSubscriptionMetrics } from "../../../src/api/graphql/subscriptions/metrics.ts";
import { FairSemaphore } from "../../../src/core/concurrency/semaphore.ts";
import { AppError, unavailable } from "../../../src/core/errors.ts";

const schema = buildSchema(
  "type Query { none: Int } type Subscription { changed: Event! } type Event { n: Int name: String }",
);

/** Subscribes to three events with names from `nameOf`. Returns the results, and the code that closed the connection. */
async function subscribe(nameOf: (n: number) => string): Promise<{ results: unknown[]; closeCode: unknown }> {
  const close = vi.fn<(code?: number) => void>();
  const eventOf = (n: number) => ({ n, name: () => nameOf(n) });
  async function* events() {
    for (const n of [1, 2, 3]) yield { changed: eventOf(n) };
  }
  const operation = { schema, document: parse("subscription { changed { n name } }") };
  const subscription = schema.getSubscriptionType()?.getFields()["changed"];
  if (subscription) subscription.subscribe = events;
  const { signal } = new AbortController();
  const principal = { organizationId: "1", liveOrganizationId: "1", keyId: "2", scopes } as never;
  const connection = {
    request: { requestId: "request", ipAddress: null, principal, signal },
    signal,
    principal,
    credential: { groupKey: "", verify: () => Promise.resolve(principal) },
    active: 0,
    close,
  };
  const deps = {
    makeContext: () => ({}),
    semaphore: new FairSemaphore({ permits: 1, permitsPerKey: 1 }),
    metrics: createSubscriptionMetrics(new Registry(), new Set()),
  };
  const stream = await startSubscription(deps, connection, operation);
  const results: ExecutionResult[] = [];
  for await (const result of stream as AsyncGenerator<ExecutionResult>) results.push(result);
  return {
    results: results.map(({ data, errors }) =>
      errors ? errors.map(({ message }) => message) : data?.["changed"],
    ),
    closeCode: close.mock.calls[0]?.[0],
  };
}

const failing = (error: Error) => (n: number) => {
  if (n === 2) throw error;
  return `name ${n}`;
};

it("returns a result for each event", async () => {
  const { results, closeCode } = await subscribe((n) => `name ${n}`);
  expect(results).toEqual([1, 2, 3].map((n) => ({ n, name: `name ${n}` })));
  expect(closeCode).toBeUndefined();
});

it("ends before an event if a service is unavailable", async () => {
  const error = unavailable("The database is unreachable.", 2);
  expect(await subscribe(failing(error))).toEqual({ results: [{ n: 1, name: "name 1" }], closeCode: 1013 });
});

it.each([
  ["a forbidden field", new AppError("ForbiddenException", "not for you"), "not for you"],
  [
    "a query timeout",
    unavailable("took too long", 2, Object.assign(new Error(), { code: "57014" })),
    "took too long",
  ],
])("returns the error of %s and continues", async (_, error, message) => {
  const { results, closeCode } = await subscribe(failing(error));
  expect(results).toEqual([{ n: 1, name: "name 1" }, [message], { n: 3, name: "name 3" }]);
  expect(closeCode).toBeUndefined();
});
