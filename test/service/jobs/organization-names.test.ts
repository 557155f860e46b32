/** Lists take the names of organisations from memory. */
import { afterEach, beforeAll, expect, it, vi } from "vitest";
import type { Queryable } from "../../../src/core/postgres/database.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { systemPrincipal } from "../../../src/core/principal.ts";
import { findJobsByMarkingNumber } from "../../../src/jobs/list/find.sql.ts";
import { sharedApp, type SharedApp } from "../../support/app/shared-app.ts";

let app: SharedApp;

beforeAll(async () => {
  app = await sharedApp("api");
});
afterEach(() => vi.restoreAllMocks());

/** Returns the names of a job's organisations, and the number of statements that read them. */
async function read(numbers: readonly string[]) {
  let statements = 0;
  const counting: Queryable = {
    query: (statement) => {
      statements += 1;
      return app.database.query(statement);
    },
  };
  const jobs = await findJobsByMarkingNumber(counting, systemPrincipal, numbers);
  return { names: jobs.map((job) => [job?.agent_name, job?.contractor_name]), statements };
}

it("reads unknown names in one statement for all rows, and known ones in none", async () => {
  const [agent, other, contractor] = await Promise.all([
    app.createOrganization("agent"),
    app.createOrganization("agent"),
    app.createOrganization("contractor"),
  ]);
  const numbers = [
    ...(await app.createJobs(agent, [{ contractor }, {}])),
    ...(await app.createJobs(other, [{}])),
  ];
  const first = await read(numbers);
  expect(first.statements).toBe(2);
  expect(first.names).toEqual([
    [agent.name, contractor.name],
    [agent.name, null],
    [other.name, null],
  ]);
  expect(await read(numbers)).toEqual({ names: first.names, statements: 1 });
});

it("shows another name after a minute", async () => {
  const agent = await app.createOrganization("agent");
  const numbers = await app.createJobs(agent, [{}]);
  await read(numbers);
  await app.database.query(sql`update organization set name = ${`${agent.name} II`} where id = ${agent.id}`);
  expect((await read(numbers)).names).toEqual([[agent.name, null]]);
  const now = performance.now();
  vi.spyOn(performance, "now").mockImplementation(() => now + 60_001);
  expect((await read(numbers)).names).toEqual([[`${agent.name} II`, null]]);
});
