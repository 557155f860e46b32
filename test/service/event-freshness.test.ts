import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createFreshnessLookup } from "../../src/events/event.freshness.ts";
import { upsertRows } from "../../src/jobs/update/upsert.sql.ts";
import type { Queryable } from "../../src/platform/postgres/database.ts";
import { newUuid } from "../../src/platform/ids.ts";
import {
  systemActor,
  type OperatorPrincipal,
  type OrganizationPrincipal,
} from "../../src/platform/principal.ts";
import { sql } from "../../src/platform/postgres/sql.ts";
import {
  newMarkingNumber,
  openJobServiceFixture,
  type JobServiceFixture,
} from "../support/jobs/service.fixture.ts";

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

/** Makes a job of the agent's; answers with the transaction's number. */
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

describe("the newest that somebody may have seen", () => {
  it("is nothing where there was no change", async () => {
    expect(await createFreshnessLookup(services.database)(await services.createOrganization("agent"))).toBe(
      0n,
    );
  });

  it("is for a partner the last change of its jobs, by whomever, and no other", async () => {
    const newestOf = createFreshnessLookup(services.database);
    const first = await change(systemActor, contractor.organizationId);
    expect(await Promise.all([newestOf(agent), newestOf(contractor)])).toEqual([first, first]);
    const second = await change(systemActor);
    expect(await Promise.all([newestOf(agent), newestOf(contractor)])).toEqual([second, first]);
  });

  it("is for an operator the last change by the operator's own hand", async () => {
    const newestOf = createFreshnessLookup(services.database);
    const [mine, another] = [operator(), operator()];
    const own = await change(mine.actor);
    const last = await change(another.actor);
    await change(systemActor);
    expect(await Promise.all([newestOf(mine), newestOf(another), newestOf(operator())])).toEqual([
      own,
      last,
      0n,
    ]);
  });

  it("is for an operator not known beyond the last 200 changes, so that those are the newest", async () => {
    const newestOf = createFreshnessLookup(services.database);
    const mine = operator();
    await change(mine.actor);
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
    expect(await newestOf(mine)).toBe(oldest);
  });

  it("counts what was committed before it was asked for, also while another look is under way; askers share a look", async () => {
    const { promise: isHeld, resolve: letGo } = Promise.withResolvers<void>();
    let looks = 0;
    const slow: Queryable = {
      async query<Row>(statement: Parameters<Queryable["query"]>[0]) {
        looks += 1;
        const rows = await services.database.query<Row>(statement);
        await isHeld;
        return rows;
      },
    };
    const newestOf = createFreshnessLookup(slow);
    // As many as there are at once.
    const early = Array.from({ length: 4 }, () => newestOf(agent));
    const last = await change(systemActor, contractor.organizationId);
    const late = [newestOf(agent), newestOf(agent), newestOf(contractor)];
    letGo();
    expect(await Promise.all(late)).toEqual([last, last, last]);
    expect(Math.max(...(await Promise.all(early)).map(Number))).toBeLessThanOrEqual(Number(last));
    expect(looks).toBe(5);
  });

  it("fails where the database is away, and is found again once it is back", async () => {
    let isAway = true;
    const newestOf = createFreshnessLookup({
      query: (statement) => (isAway ? Promise.reject(new Error("away")) : services.database.query(statement)),
    });
    await expect(newestOf(agent)).rejects.toThrow("away");
    isAway = false;
    expect(await newestOf(agent)).toBeGreaterThan(0n);
  });
});
