/** The cost of a search: the index finds the jobs of the organisation, also with the generic plans of the service. */
import { beforeAll, describe, expect, it } from "vitest";
import { listJobs, type JobListQuery } from "../../../src/jobs/list/list.sql.ts";
import { rebuildCounters } from "../../../src/jobs/counters/counters.sql.ts";
import type { OrganizationPrincipal, Principal } from "../../../src/core/principal.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { operatorPrincipal, rowsRead, useJobServiceFixture } from "../../support/jobs/service.fixture.ts";
import { insertMany } from "../../support/database/test-database.ts";

/** Of each of five agents. */
const JOBS = 3_000;

const services = useJobServiceFixture();
let agent: OrganizationPrincipal;
beforeAll(async () => {
  const agents = await Promise.all(Array.from({ length: 5 }, () => services.createOrganization("agent")));
  agent = agents[0] as OrganizationPrincipal;
  const ids = agents.map(({ organizationId }) => organizationId);
  await insertMany(
    services.database,
    JOBS * ids.length,
    (numbers) => sql`
    insert into job (id, marking_number, agent_id, recipient_name, recipient_contact, delivery_address)
    select gen_random_uuid(), 'FIND-' || n, (${ids}::uuid[])[1 + n % 5],
      case when n % 1001 = 0 then 'Søren' else 'Recipient ' || n end, '+44 20 7946 ' || lpad(n::text, 5, '0'), n || ' Harbour Street'
    from ${numbers} n`,
  );
  await services.database.transaction(rebuildCounters);
  await services.database.query(sql`analyze job`);
  await services.database.query(sql`analyze job_search`);
});

async function search(principal: Principal, text: string, page: JobListQuery["page"]) {
  return await services.database.transaction(async (tx) => {
    const order = { field: "created_at", descending: true } as const;
    const before = { jobs: await rowsRead(tx, "job"), texts: await rowsRead(tx, "job_search") };
    const { items, total } = await listJobs(tx, principal, {
      filter: { search: text },
      order,
      page,
      include: { items: true, total: true },
    });
    const jobs = (await rowsRead(tx, "job")) - before.jobs;
    const texts = (await rowsRead(tx, "job_search")) - before.texts;
    return { items, total, read: { jobs, texts } };
  });
}

const firstPages: JobListQuery["page"][] = [
  { limit: 10, offset: 0 },
  { direction: "forward", limit: 10, position: null },
];

describe.each(firstPages)("a search with the page %j", (page) => {
  it.each<[text: string, jobs: number, ofAll: number]>([
    ["soren", 2, 14],
    ["020 7946 01000", 1, 1],
    ["find-1000", 3, 11],
    ["soren 5005 harbour", 1, 1],
    ["FIND-5, FIND-10, FIND-15", 3, 3],
    ["zzz", 0, 0],
  ])("for %j reads only what it finds", async (text, ofAgent, ofAll) => {
    const own = await search(agent, text, page);
    const all = await search(operatorPrincipal, text, page);
    expect([own.total, all.total]).toEqual([ofAgent, ofAll]);
    expect(own.read.jobs + own.read.texts).toBeLessThan(100);
    // PostgreSQL reads all jobs of a small table instead of looking up some.
    expect(all.read.texts).toBeLessThan(100);
  });

  it("for a word that all jobs have reads no jobs of others", async () => {
    const { total, read } = await search(agent, "harbour", page);
    expect(total).toBe(JOBS);
    expect(read.texts).toBeLessThan(JOBS + 100);
  });

  it("for two letters finds all jobs", async () => {
    expect((await search(agent, "ha", page)).total).toBe(JOBS);
  });
});

async function textOf(markingNumber: string) {
  const [row] = await services.database.query<{ text: string; row: string }>(sql`
    select text, job_search.xmin::text as row from job_search join job on job.id = job_id
    where marking_number = ${markingNumber}`);
  return row;
}

describe("the text of the search", () => {
  it("is written only by a change of a searched field", async () => {
    const number = await services.createJob(agent, { patch: { recipient_name: "Zoë" } });
    const before = await textOf(number);
    const patch = (changes: object) =>
      services.jobs.updateOne(
        agent,
        { markingNumber: number, body: changes as Record<string, unknown> },
        { actor: agent.actor, requestId: "req_test", dryRun: false },
      );
    await patch({
      normalized_status: "failed",
      instructions: "Ring twice",
      weight: 3,
      recipient_name: "Zoë",
    });
    expect(await textOf(number)).toEqual(before);
    await patch({ recipient_name: "Noor" });
    expect((await textOf(number))?.text).toContain("noor");
  });

  it("is bounded, because each of its characters can be three tokens", async () => {
    const longest = { recipient_name: "名", recipient_contact: "絡", delivery_address: "址" };
    const lengths = { recipient_name: 255, recipient_contact: 255, delivery_address: 1_000 };
    const patch = Object.fromEntries(
      Object.entries(longest).map(([name, sign]) => [
        name,
        sign.repeat(lengths[name as keyof typeof lengths]),
      ]),
    );
    const number = await services.createJob(agent, { patch });
    const { text = "" } = (await textOf(number)) ?? {};
    expect(["名", "絡", "址"].map((sign) => text.split(sign).length - 1)).toEqual([100, 100, 300]);
  });

  it("is deleted with the job", async () => {
    const number = await services.createJob(agent);
    await services.database.query(sql`delete from job where marking_number = ${number}`);
    const [row] = await services.database.query<{ orphans: number }>(sql`
      select count(*)::int as orphans from job_search where not exists (select from job where id = job_id)`);
    expect(row?.orphans).toBe(0);
  });
});
