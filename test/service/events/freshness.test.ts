import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createFreshnessLookup } from "../../../src/events/freshness.sql.ts";
import { upsertRows } from "../../../src/jobs/update/upsert.sql.ts";
import type { Queryable } from "../../../src/platform/postgres/database.ts";
import { newUuid } from "../../../src/platform/ids.ts";
import {
  systemActor,
  type OperatorPrincipal,
  type OrganizationPrincipal,
} from "../../../src/platform/principal.ts";
import { sql } from "../../../src/platform/postgres/sql.ts";
import {
  newMarkingNumber,
  openJobServiceFixture,
  type JobServiceFixture,
} from "../../support/jobs/service.fixture.ts";

let services: JobServiceFixture;
let agent: OrganizationPrincipal;
let contractor: OrganizationPrincipal;

beforeAll(async () => {
  services = await openJobServiceFixture();
  [agent, contractor] = await Promise.all([
    services.createOrganization("agent"),
    services.createOrganization("contractor"),
  ]);
});
afterAll(() => services[Symbol.asyncDispose]());

/** Creates a job of the agent and returns the transaction id. */
async function change(actor: OperatorPrincipal["actor"], contractorId?: string): Promise<bigint> {
  return await services.database.transaction(async (tx) => {
    const upsert = {
      markingNumber: newMarkingNumber(),
      agentId: agent.organizationId,
      contractorId,
      patch: {},
    };
    await upsertRows(tx, [upsert], { actor, requestId: null });
    const [row] = await tx.query<{ own: string }>(sql`select pg_current_xact_id()::text as own`);
    return BigInt(row?.own ?? 0);
  });
}
const operator = (): OperatorPrincipal => ({
  organizationId: null,
  organizationType: null,
  actor: { type: "key", id: newUuid() },
});

describe("the freshness lookup", () => {
  it("returns 0 for a principal without events", async () => {
    expect(await createFreshnessLookup(services.database)(await services.createOrganization("agent"))).toBe(
      0n,
    );
  });

  it("returns a partner's newest event, made by any actor", async () => {
    const lookUp = createFreshnessLookup(services.database);
    const first = await change(systemActor, contractor.organizationId);
    expect(await Promise.all([lookUp(agent), lookUp(contractor)])).toEqual([first, first]);
    const second = await change(systemActor);
    expect(await Promise.all([lookUp(agent), lookUp(contractor)])).toEqual([second, first]);
  });

  it("returns the operator's newest event, or the oldest of the last 200 if they made none of those", async () => {
    const lookUp = createFreshnessLookup(services.database);
    const [mine, another] = [operator(), operator()];
    const own = await change(mine.actor);
    const last = await change(another.actor);
    await change(systemActor);
    expect(await Promise.all([lookUp(mine), lookUp(another), lookUp(operator())])).toEqual([own, last, 0n]);
    const oldest = await services.database.transaction(async (tx) => {
      const upserts = Array.from({ length: 200 }, () => ({
        markingNumber: newMarkingNumber(),
        agentId: agent.organizationId,
        patch: {},
      }));
      await upsertRows(tx, upserts, { actor: systemActor, requestId: null });
      const [row] = await tx.query<{ own: string }>(sql`select pg_current_xact_id()::text as own`);
      return BigInt(row?.own ?? 0);
    });
    expect(await lookUp(mine)).toBe(oldest);
  });

  it("includes everything committed before the call, and concurrent calls share a query", async () => {
    const { promise: blocked, resolve: release } = Promise.withResolvers<void>();
    let queries = 0;
    const slow: Queryable = {
      async query<Row>(statement: Parameters<Queryable["query"]>[0]) {
        queries += 1;
        const rows = await services.database.query<Row>(statement);
        await blocked;
        return rows;
      },
    };
    const lookUp = createFreshnessLookup(slow);
    const early: Promise<bigint>[] = [];
    // As many as run concurrently, each in a statement of its own.
    for (let running = 1; running <= 4; running += 1) {
      early.push(lookUp(agent));
      await expect.poll(() => queries).toBe(running);
    }
    const last = await change(systemActor, contractor.organizationId);
    const late = [lookUp(agent), lookUp(agent), lookUp(contractor)];
    release();
    expect(await Promise.all(late)).toEqual([last, last, last]);
    expect(Math.max(...(await Promise.all(early)).map(Number))).toBeLessThanOrEqual(Number(last));
    expect(queries).toBe(5);
  });

  it("a statement that fails does not fail or block the look-ups that wait for the next one", async () => {
    const failures: ((error: Error) => void)[] = [];
    const lookUp = createFreshnessLookup({
      query: (statement) =>
        failures.length < 4
          ? new Promise((_resolve, reject) => failures.push(reject))
          : services.database.query(statement),
    });
    const early: Promise<unknown>[] = [];
    for (let running = 1; running <= 4; running += 1) {
      early.push(lookUp(agent).catch((error: unknown) => error));
      await expect.poll(() => failures.length).toBe(running);
    }
    const last = await change(systemActor);
    const late = lookUp(agent);
    for (const fail of failures) fail(new Error("away"));
    expect(await Promise.all(early)).toEqual(Array.from({ length: 4 }, () => new Error("away")));
    expect(await late).toBe(last);
  });

  it("fails while the database is unavailable and then recovers", async () => {
    let isAway = true;
    const lookUp = createFreshnessLookup({
      query: (statement) => (isAway ? Promise.reject(new Error("away")) : services.database.query(statement)),
    });
    await expect(lookUp(agent)).rejects.toThrow("away");
    isAway = false;
    const last = await change(systemActor);
    expect(await lookUp(agent)).toBe(last);
  });
});
