import { afterAll, beforeAll, beforeEach, describe, expect, expectTypeOf, it } from "vitest";
import type { BulkOptions } from "../../src/jobs/job.bulk.ts";
import { createJobCodes, type JobCodes } from "../../src/jobs/job.codes.ts";
import type { JobOperations, NewJob } from "../../src/jobs/job.operations.ts";
import { newUuid } from "../../src/platform/ids.ts";
import type { Operator, Principal } from "../../src/platform/principal.ts";
import { sql } from "../../src/platform/sql.ts";
import {
  newNumber,
  openJobServices,
  operator,
  options,
  outcomesOf,
  type JobServices,
} from "../support/job-services.ts";
import { holdJob } from "../support/row-lock.ts";
import { beginWith, untilSessionsWait } from "../support/waiting-sessions.ts";

let services: JobServices;
let agent: Principal;
let contractor: Principal;

beforeAll(async () => {
  services = await openJobServices();
  agent = await services.partner("agent");
  contractor = await services.partner("contractor");
  await services.database.query(sql`alter table job add constraint no_feathers check (labels <> 'feathers')`);
});
afterAll(() => services[Symbol.asyncDispose]());
beforeEach(() => {
  services.told.announced = 0;
  services.told.happened = [];
});

const policies = ["skip_failed", "all_or_nothing"] as const;
const allOrNothing: BulkOptions = { ...options, errorPolicy: "all_or_nothing" };
const dry: BulkOptions = { ...options, dryRun: true };
const seers = (...partners: Principal[]): string[] => partners.map((one) => one.organizationId).toSorted();
const create = (jobs: readonly NewJob[], how = options) =>
  services.operations.createJobs(operator, jobs, how);
const newJob = (rest: Partial<NewJob> = {}): NewJob => ({
  markingNumber: newNumber(),
  agentId: agent.organizationId,
  contractorId: null,
  fields: {},
  providerStatus: null,
  ...rest,
});
const assign = (markingNumbers: readonly string[], to: Principal | null, how = options) =>
  services.operations.assignJobs(
    operator,
    markingNumbers.map((markingNumber) => ({ markingNumber, contractorId: to?.organizationId ?? null })),
    how,
  );
const setStatus = (markingNumbers: readonly string[], providerStatus: string | null, how = options) =>
  services.operations.setProviderStatus(
    operator,
    markingNumbers.map((markingNumber) => ({ markingNumber, providerStatus })),
    how,
  );

interface StoredEvent {
  type: string;
  sequence: number;
  changes: Record<string, unknown>;
  request_id: string;
}

const eventsOf = (markingNumber: string): Promise<StoredEvent[]> =>
  services.database.query<StoredEvent>(sql`
    select type, sequence, changes, request_id from job_event
    where job ->> 'marking_number' = ${markingNumber} order by sequence`);

async function statementsOf(work: () => Promise<unknown>): Promise<number> {
  services.statements.length = 0;
  await work();
  return services.statements.length;
}

/** How many statements it takes to create, to take back and to change `count` jobs. */
async function statementsFor(count: number): Promise<number[]> {
  const jobs = Array.from({ length: count }, () => newJob({ contractorId: contractor.organizationId }));
  const numbers = jobs.map(({ markingNumber }) => markingNumber);
  const works = [() => create(jobs), () => assign(numbers, null), () => setStatus(numbers, "At hub")];
  const statements = [];
  for (const work of works) statements.push(await statementsOf(work));
  return statements;
}

describe("creating jobs", () => {
  it("makes them with their fields, the carrier's status and the defaults of the rest", async () => {
    const bare = newJob();
    const full = newJob({
      contractorId: contractor.organizationId,
      fields: { weight: 2.5, recipient_name: "Ann", normalized_status: "scheduled" },
      providerStatus: "At hub",
    });
    const results = await create([bare, full]);
    expect(results).toMatchObject([
      {
        markingNumber: bare.markingNumber,
        outcome: "created",
        job: {
          version: 1,
          normalized_status: "pending",
          scheduled_delivery_pending: false,
          provider_status: null,
          agent_id: agent.organizationId,
          contractor_id: null,
        },
      },
      {
        markingNumber: full.markingNumber,
        outcome: "created",
        job: {
          version: 2,
          weight: 2.5,
          recipient_name: "Ann",
          normalized_status: "scheduled",
          provider_status: "At hub",
          contractor_id: contractor.organizationId,
        },
      },
    ]);
    expect(await services.stored(full.markingNumber)).toMatchObject({ version: 2, weight: 2.5 });
  });

  it("records one creation of each, an assignment where there is one, their deliveries, and tells of them", async () => {
    const before = await services.counts();
    const bare = newJob();
    const assigned = newJob({ contractorId: contractor.organizationId, fields: { weight: 1 } });
    await create([bare, assigned]);
    expect(await eventsOf(bare.markingNumber)).toMatchObject([
      { type: "job.created", sequence: 1, request_id: "req_test" },
    ]);
    expect(await eventsOf(assigned.markingNumber)).toMatchObject([
      { type: "job.created", changes: { weight: { from: null, to: 1 } } },
      { type: "job.assigned", changes: { contractor_id: { from: null, to: contractor.organizationId } } },
    ]);
    // The agent's endpoint gets all three events, the contractor's the assignment.
    const { jobs, events, deliveries } = await services.counts();
    expect([jobs - before.jobs, events - before.events, deliveries - before.deliveries]).toEqual([2, 3, 4]);
    expect(services.told).toEqual({ announced: 1, happened: [seers(agent, contractor)] });
  });

  it("refuses a Marking Number that is taken, whosever it is, and leaves that job as it is", async () => {
    const other = await services.partner("agent");
    const numbers = [await services.job(agent), await services.job(other)];
    const taken = numbers.map((markingNumber) => newJob({ markingNumber, fields: { weight: 9 } }));
    const results = await create([...taken, newJob()]);
    expect(outcomesOf(results)).toEqual(["Conflict", "Conflict", "created"]);
    expect(results[0]).toMatchObject({
      failure: { message: "There is a job with this Marking Number already" },
    });
    for (const number of numbers)
      expect(await services.stored(number)).toMatchObject({ version: 1, weight: null });
  });

  it.each(policies)("refuses the second of two with the same Marking Number: %s", async (errorPolicy) => {
    const twice = newJob({ fields: { weight: 1 } });
    const results = await create([twice, { ...twice, fields: { weight: 2 } }], { ...options, errorPolicy });
    const isAll = errorPolicy === "all_or_nothing";
    expect(outcomesOf(results)).toEqual([isAll ? "not_applied" : "created", "Conflict"]);
    expect(await services.stored(twice.markingNumber)).toMatchObject(
      isAll ? { version: 0 } : { version: 1, weight: 1 },
    );
  });

  it("refuses what an item cannot be, with every problem by its path", async () => {
    const wrong = newJob({
      markingNumber: "",
      agentId: contractor.organizationId,
      contractorId: agent.organizationId,
      fields: { weight: "x", normalized_status: "nowhere" },
      providerStatus: "x".repeat(256),
    });
    const [result] = await create([wrong]);
    expect(result).toMatchObject({ outcome: "failed", failure: { code: "BadRequestException" } });
    const failure = result && "failure" in result ? result.failure : null;
    expect(failure?.message).toBe("markingNumber must not be empty");
    expect(failure?.problems.map(({ field }) => field)).toEqual([
      "markingNumber",
      "agentId",
      "contractorId",
      "fields.weight",
      "fields.normalized_status",
      "providerStatus",
    ]);
  });

  it.each([() => newUuid(), () => "no uuid", () => ""])(
    "refuses organisations that are not there",
    async (id) => {
      const results = await create([newJob({ agentId: id() }), newJob({ contractorId: id() }), newJob()]);
      expect(results).toMatchObject([
        { failure: { code: "BadRequestException", problems: [{ field: "agentId" }] } },
        { failure: { code: "BadRequestException", problems: [{ field: "contractorId" }] } },
        { outcome: "created" },
      ]);
    },
  );

  it("leaves out what the database refuses, and makes the others", async () => {
    const jobs = [newJob(), newJob({ fields: { labels: "feathers" } }), newJob()];
    expect(outcomesOf(await create(jobs))).toEqual(["created", "InternalServerError", "created"]);
  });

  it("makes none where one is refused and the policy is all or nothing", async () => {
    const before = await services.counts();
    const jobs = [newJob(), newJob({ fields: { labels: "feathers" } }), newJob({ agentId: newUuid() })];
    expect(outcomesOf(await create(jobs, allOrNothing))).toEqual([
      "not_applied",
      "InternalServerError",
      "BadRequest",
    ]);
    expect(await services.counts()).toEqual(before);
    expect(services.told).toEqual({ announced: 0, happened: [] });
  });

  it("makes nothing in a dry run, and answers as if done", async () => {
    const before = await services.counts();
    const job = newJob({ contractorId: contractor.organizationId, fields: { weight: 1 } });
    expect(await create([job], dry)).toMatchObject([
      { outcome: "created", job: { version: 2, weight: 1, contractor_id: contractor.organizationId } },
    ]);
    expect(await services.counts()).toEqual(before);
    expect(services.told).toEqual({ announced: 0, happened: [] });
  });

  it("makes each number once, and fails with nothing but conflicts, when many make the same at once", async () => {
    const numbers = Array.from({ length: 30 }, newNumber);
    const calls = Array.from({ length: 6 }, (_, at) =>
      create(
        (at % 2 === 0 ? numbers : numbers.toReversed()).map((markingNumber) => newJob({ markingNumber })),
      ),
    );
    const outcomes = (await Promise.all(calls)).flatMap(outcomesOf);
    expect(outcomes.filter((outcome) => outcome === "created")).toHaveLength(numbers.length);
    expect(outcomes.filter((outcome) => outcome === "Conflict")).toHaveLength(5 * numbers.length);
  });
});

describe("calls that meet", () => {
  beforeAll(async () => {
    await services.job(agent, { markingNumber: "gate" });
    await services.database.query(sql`create function wait() returns trigger language plpgsql as $$
      begin
        if new.labels = 'slow' then perform 1 from job where marking_number = 'gate' for share; end if;
        return new;
      end $$`);
    await services.database.query(
      sql`create trigger wait before insert on job for each row execute function wait()`,
    );
  });
  afterAll(() => services.database.query(sql`drop trigger wait on job`));

  it("over the same new numbers in another order wait for each other and never deadlock", async () => {
    const [first, second] = [newJob({ markingNumber: "meet-1" }), newJob({ markingNumber: "meet-2" })];
    const gate = await holdJob(services.databaseUrl, "gate");
    const one = create([first, { ...second, fields: { labels: "slow" } }]);
    await gate.untilSomeoneWaits(1);
    const other = create([second, first]);
    await gate.untilSomeoneWaits(2);
    await gate.release();
    expect(outcomesOf(await one)).toEqual(["created", "created"]);
    expect(outcomesOf(await other)).toEqual(["Conflict", "Conflict"]);
  });

  it("over the same jobs lock them in the order of their ids", async () => {
    const older = await services.job(agent, { markingNumber: "order-z" });
    const newer = await services.job(agent, { markingNumber: "order-a" });
    // By its number and by its place on the disk, too, it comes last now, and by its id first.
    await setStatus([older], "Moved");
    const gate = await holdJob(services.databaseUrl, newer);
    const assigned = assign([newer, older], contractor);
    await gate.untilSomeoneWaits(1);
    const updated = setStatus([newer, older], "Moved again");
    await gate.untilSomeoneWaits(2);
    await gate.release();
    expect((await Promise.all([assigned, updated])).flatMap(outcomesOf)).toEqual(Array(4).fill("updated"));
  });

  it("tell of a job that was given away meanwhile as it is then", async () => {
    const number = await services.job(agent, { contractorId: contractor.organizationId });
    const taking = await beginWith(
      services.database,
      sql`update job set contractor_id = null where marking_number = ${number}`,
    );
    const assigned = assign([number], contractor);
    await untilSessionsWait(services.database, 1);
    await taking.commit();
    expect(await assigned).toMatchObject([
      { outcome: "updated", job: { contractor_id: contractor.organizationId } },
    ]);
  });
});

describe("assigning jobs", () => {
  it("gives them to a contractor and takes them back, with an event each time", async () => {
    const number = await services.job(agent);
    const [given] = await assign([number], contractor);
    expect(given).toMatchObject({
      outcome: "updated",
      job: { version: 2, contractor_id: contractor.organizationId },
    });
    expect(services.told).toEqual({ announced: 1, happened: [seers(agent, contractor)] });
    const [taken] = await assign([number], null);
    expect(taken).toMatchObject({ outcome: "updated", job: { version: 3, contractor_id: null } });
    expect((await eventsOf(number)).map(({ type }) => type)).toEqual([
      "job.created",
      "job.assigned",
      "job.updated",
    ]);
    expect(services.told.happened.at(-1)).toEqual(seers(agent));
  });

  it("is unchanged where the contractor has it already: no version, no event, nobody told", async () => {
    const number = await services.job(agent, { contractorId: contractor.organizationId });
    const before = await services.counts();
    const [result] = await assign([number], contractor);
    expect(result).toMatchObject({
      outcome: "unchanged",
      job: { version: 2, contractor_id: contractor.organizationId },
    });
    expect(await services.counts()).toEqual(before);
    expect(services.told).toEqual({ announced: 0, happened: [] });
  });

  it("refuses a job that is not there, a Marking Number that is none, and who is no contractor", async () => {
    const number = await services.job(agent);
    expect(outcomesOf(await assign([newNumber(), "\0", number], contractor))).toEqual([
      "NotFound",
      "BadRequest",
      "updated",
    ]);
    for (const nobody of [agent, { ...contractor, organizationId: newUuid() }])
      expect(await assign([number], nobody)).toMatchObject([
        { failure: { code: "BadRequestException", problems: [{ field: "contractorId" }] } },
      ]);
  });

  it("assigns the same job twice in order, and nothing where all or nothing is wanted and one fails", async () => {
    const number = await services.job(agent);
    const other = await services.partner("contractor");
    const twice = [contractor, other].map(({ organizationId }) => ({
      markingNumber: number,
      contractorId: organizationId,
    }));
    const missing = { markingNumber: newNumber(), contractorId: null };
    const refused = await services.operations.assignJobs(operator, [...twice, missing], allOrNothing);
    expect(outcomesOf(refused)).toEqual(["not_applied", "not_applied", "NotFound"]);
    expect(await services.stored(number)).toMatchObject({ version: 1, contractor_id: null });
    expect(services.told.happened).toEqual([]);
    expect(await services.operations.assignJobs(operator, twice, allOrNothing)).toMatchObject([
      { outcome: "updated", job: { version: 2, contractor_id: contractor.organizationId } },
      { outcome: "updated", job: { version: 3, contractor_id: other.organizationId } },
    ]);
  });

  it("changes nothing in a dry run", async () => {
    const number = await services.job(agent);
    expect(await assign([number], contractor, dry)).toMatchObject([
      { outcome: "updated", job: { version: 2 } },
    ]);
    expect(await services.stored(number)).toMatchObject({ version: 1, contractor_id: null });
    expect(services.told.happened).toEqual([]);
  });

  it("never deadlocks with other assignments and updates of the same jobs", async () => {
    const other = await services.partner("contractor");
    const numbers = await Promise.all(Array.from({ length: 20 }, () => services.job(agent)));
    const reversed = numbers.toReversed();
    const items = reversed.map((markingNumber) => ({ markingNumber, body: { weight: 3 } }));
    const results = await Promise.all([
      assign(numbers, contractor),
      assign(reversed, other),
      services.jobs.updateBatch(agent, items, allOrNothing).then((answer) => answer.results),
      setStatus(reversed, "Moved", allOrNothing),
    ]);
    expect(new Set(results.flatMap(outcomesOf))).toEqual(new Set(["updated"]));
  });
});

describe("setting the carrier's status", () => {
  it("is a change like others, seen in the job and in its event", async () => {
    const number = await services.job(agent, { contractorId: contractor.organizationId });
    expect(await setStatus([number], "At hub")).toMatchObject([
      { outcome: "updated", job: { version: 3, provider_status: "At hub", normalized_status: "pending" } },
    ]);
    expect((await eventsOf(number)).at(-1)).toMatchObject({
      type: "job.updated",
      sequence: 3,
      changes: { provider_status: { from: null, to: "At hub" } },
    });
    expect(services.told).toEqual({ announced: 1, happened: [seers(agent, contractor)] });
    expect(outcomesOf(await setStatus([number], "At hub"))).toEqual(["unchanged"]);
    expect(await setStatus([number], null)).toMatchObject([
      { outcome: "updated", job: { version: 4, provider_status: null } },
    ]);
  });

  it("refuses what is no such status and jobs that are not there; all or nothing changes none then", async () => {
    const number = await services.job(agent);
    const changes = [
      { markingNumber: number, providerStatus: "fine" },
      { markingNumber: number, providerStatus: "x".repeat(256) },
      { markingNumber: newNumber(), providerStatus: "fine" },
    ];
    expect(outcomesOf(await services.operations.setProviderStatus(operator, changes, allOrNothing))).toEqual([
      "not_applied",
      "BadRequest",
      "NotFound",
    ]);
    expect(await services.stored(number)).toMatchObject({ version: 1, provider_status: null });
    const results = await services.operations.setProviderStatus(operator, changes, options);
    expect(outcomesOf(results)).toEqual(["updated", "BadRequest", "NotFound"]);
    expect(results[1]).toMatchObject({ failure: { problems: [{ field: "providerStatus" }] } });
  });
});

describe("operators' operations", () => {
  it("take as many statements for 100 jobs as for one", async () => {
    const one = await statementsFor(1);
    expect(await statementsFor(100)).toEqual(one);
    expect(one).toEqual([8, 7, 1]);
  });

  it.each([0, 101])("refuse a call of %i items whole", async (count) => {
    const numbers = Array.from({ length: count }, newNumber);
    const calls = [
      () => create(numbers.map((markingNumber) => newJob({ markingNumber }))),
      () => assign(numbers, null),
      () => setStatus(numbers, null),
    ];
    for (const call of calls) await expect(call()).rejects.toMatchObject({ code: "BadRequestException" });
  });

  it("are no partner's: the compiler refuses its type", () => {
    type Caller = Parameters<
      JobOperations["createJobs" | "assignJobs" | "setProviderStatus"] | JobCodes["upsertStatus"]
    >[0];
    expectTypeOf<Caller>().toEqualTypeOf<Operator>();
    expectTypeOf<Principal>().not.toExtend<Operator>();
  });
});

describe("the catalogue of statuses", () => {
  const held = { code: "at_customs", label: "At customs", category: "attention", isTerminal: false };

  it("takes a new one at its end, which every process knows when it is used", async () => {
    const elsewhere = createJobCodes(services.database);
    await elsewhere.statuses();
    expect(await services.codes.upsertStatus(operator, held)).toEqual({
      code: "at_customs",
      label: "At customs",
      category: "attention",
      is_terminal: false,
    });
    await services.codes.upsertStatus(operator, { ...held, code: "a_later_one" });
    expect((await services.codes.statuses()).slice(-2).map(({ code }) => code)).toEqual([
      "at_customs",
      "a_later_one",
    ]);
    expect(await elsewhere.isKnownStatus("at_customs")).toBe(true);
    expect(outcomesOf(await create([newJob({ fields: { normalized_status: "at_customs" } })]))).toEqual([
      "created",
    ]);
  });

  it("changes one in its place", async () => {
    const order = (await services.codes.statuses()).map(({ code }) => code);
    const changed = { code: "on_hold", label: "Held", category: "return", isTerminal: true };
    await services.codes.upsertStatus(operator, changed);
    const statuses = await services.codes.statuses();
    expect(statuses.map(({ code }) => code)).toEqual(order);
    expect(statuses.find(({ code }) => code === "on_hold")).toEqual({
      code: "on_hold",
      label: "Held",
      category: "return",
      is_terminal: true,
    });
  });

  it.each([
    ["code", { code: "" }],
    ["code", { code: "Upper" }],
    ["code", { code: "1st" }],
    ["code", { code: "a".repeat(65) }],
    ["code", { code: "a\n" }],
    ["label", { label: " " }],
    ["label", { label: "x".repeat(101) }],
    ["label", { label: "\0" }],
    ["category", { category: "lost" }],
  ])("refuses a wrong %s: %j", async (field, wrong) => {
    await expect(services.codes.upsertStatus(operator, { ...held, ...wrong })).rejects.toMatchObject({
      code: "BadRequestException",
      details: [{ field }],
    });
  });

  it("takes the longest code and label", async () => {
    const longest = { ...held, code: "a".repeat(64), label: "📦".repeat(100) };
    expect(await services.codes.upsertStatus(operator, longest)).toMatchObject({ label: longest.label });
  });
});
