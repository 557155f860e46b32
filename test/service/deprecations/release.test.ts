/**
 * One release with two deprecations, from the announcement to the last mail: a process per period, on the same database, with
 * the scheduler and a mail server.
 */
import { buildClientSchema, getIntrospectionQuery, isObjectType, type IntrospectionQuery } from "graphql";
import { expect, it, onTestFinished } from "vitest";
import type { Deprecation } from "../../../src/deprecations/api.ts";
import { raw } from "../../../src/platform/postgres/sql.ts";
import { createTestUser } from "../../support/accounts/session-client.ts";
import { createFactories } from "../../support/app/app.fixture.ts";
import { startAppInstance, type AppInstance } from "../../support/app/app-instance.ts";
import { createTestDatabase } from "../../support/database/test-database.ts";
import { createTestMongo } from "../../support/database/test-mongo.ts";
import { eventually } from "../../support/eventually.ts";
import { createFakeClock, DAY_MS } from "../../support/fake-clock.ts";
import { queryData } from "../../support/graphql/client.ts";
import { query as queryOnce } from "../../support/processes/embedded-processes.ts";
import { startTestSmtpServer, type ReceivedMail } from "../../support/smtp-server.ts";

const dayIn = (days: number): string => new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10);

/** The removal is 80 days from today, and was announced 12 months before. */
const REMOVAL_DAYS = 80;
const dates = { since: dayIn(REMOVAL_DAYS - 366), sunset: dayIn(REMOVAL_DAYS) };
const deprecations: readonly Deprecation[] = [
  {
    id: "statuses",
    target: { operation: "GET /v1/reference/statuses" },
    ...dates,
    replacement: "Read the guide.",
    successor: "/guide/status-codes",
  },
  { id: "graphql-pts", target: { coordinate: "Job.pts" }, ...dates, replacement: "Select weight." },
];
const NAMES = ["GET /v1/reference/statuses", "GraphQL Job.pts"];
const FIELDS = "{ jobs(first: 1) { nodes { id pts } } }";

interface Key {
  name: string;
  prefix: string;
  text: string;
}

async function openRelease() {
  const opened = new AsyncDisposableStack();
  onTestFinished(() => opened.disposeAsync());
  const database = opened.use(await createTestDatabase());
  const smtp = opened.use(await startTestSmtpServer());
  /** Runs `work` with a process that starts `days` from today. Its scheduler runs each task once. */
  const onDay = async <T>(days: number, work: (app: AppInstance) => Promise<T>): Promise<T> => {
    await using mongo = createTestMongo();
    await using app = await startAppInstance(
      database.url,
      { MONGODB_URL: mongo.url, SMTP_URL: `smtp://127.0.0.1:${smtp.port}`, LOG_LEVEL: "warn" },
      { deprecations, clock: createFakeClock(Date.now() + days * DAY_MS) },
    );
    return await work(app);
  };
  return { databaseUrl: database.url, onDay, received: smtp.received };
}

/** Expects a 200, and returns the headers of a request that uses something deprecated. */
async function headersOf(app: AppInstance, path: string, key: Key, query?: string) {
  const body = query === undefined ? {} : { method: "POST", body: JSON.stringify({ query }) };
  const response = await app.request(path, { key: key.text, ...body });
  expect(response.status).toBe(200);
  return ["deprecation", "sunset", "link"].map((name) => response.get(name));
}

async function createPartner(app: AppInstance) {
  const { id } = await createFactories(app).createOrganization("agent");
  const create = async (name: string): Promise<Key> => {
    const { key, text } = await app.keys.create({
      organizationId: id,
      name,
      createdBy: "test",
      scopes: ["jobs:read", "keys:manage"],
    });
    return { name, prefix: key.prefix, text };
  };
  const keys = { rest: await create("warehouse sync"), graphql: await create("dispatch board") };
  const { email } = await createTestUser(app, { organizationId: id, role: "owner" });
  return { ...keys, email };
}

const countUses = async (app: AppInstance): Promise<number> =>
  (await app.database.query(raw("select from deprecation_use"))).length;

/** Returns the names of the deprecations with those of the keys that used them recently. */
async function usesOf(app: AppInstance, { text }: Key): Promise<Record<string, string[]>> {
  const { deprecations: listed } = await queryData(
    app,
    "{ deprecations { name uses { apiKey { name } } } }",
    {
      key: text,
    },
  );
  return Object.fromEntries(
    listed.map(({ name, uses }: { name: string; uses: { apiKey: { name: string } }[] }) => [
      name,
      uses.map(({ apiKey }) => apiKey.name),
    ]),
  );
}

async function expectDocuments(app: AppInstance, key: Key): Promise<void> {
  const { body: openapi } = await app.request("/openapi.json");
  expect(openapi.paths["/reference/statuses"].get).toMatchObject({ deprecated: true });
  const body = JSON.stringify({ query: getIntrospectionQuery() });
  const response = await app.request("/graphql", { method: "POST", key: key.text, body });
  const job = buildClientSchema((response.body as { data: IntrospectionQuery }).data).getType("Job");
  const reason = isObjectType(job) ? job.getFields()["pts"]?.deprecationReason : null;
  expect(reason).toBe(`Deprecated since ${dates.since}, and removed on ${dates.sunset}. Select weight.`);
  const { body: feed } = await app.request("/changelog.json");
  expect(feed.items.map(({ title }: { title: string }) => title)).toEqual(
    expect.arrayContaining(NAMES.map((name) => `Deprecated: ${name}`)),
  );
  const { text: atom } = await app.request("/changelog.atom").buffer();
  for (const name of NAMES) expect(atom).toContain(`<title>Deprecated: ${name}</title>`);
}

const subjectsOf = (mails: readonly ReceivedMail[]): string[] =>
  mails.map(({ subject = "" }) => subject).toSorted();

it("tells partners about a removal everywhere, from the headers to the last mail", async () => {
  const { databaseUrl, onDay, received } = await openRelease();

  // 100 days before: partners see it in the documents and the headers. The process writes its counts when it stops.
  const partner = await onDay(-20, async (app) => {
    const created = await createPartner(app);
    await expectDocuments(app, created.rest);
    expect(await usesOf(app, created.rest)).toEqual({ [NAMES[0] ?? ""]: [], [NAMES[1] ?? ""]: [] });
    const since = `@${Date.parse(dates.since) / 1000}`;
    const sunset = new Date(dates.sunset).toUTCString();
    const rest = await headersOf(app, "/v1/reference/statuses", created.rest);
    expect(rest.slice(0, 2)).toEqual([since, sunset]);
    expect(rest[2]).toContain(`<${app.url}/guide/status-codes>; rel="successor-version"`);
    for (const time of [1, 2])
      expect([time, ...(await headersOf(app, "/graphql", created.graphql, FIELDS))].slice(0, 3)).toEqual([
        time,
        since,
        sunset,
      ]);
    expect((await headersOf(app, "/v1/jobs", created.graphql)).slice(0, 2)).toEqual([undefined, undefined]);
    const { text: metrics } = await app.request("/metrics");
    expect(metrics).toContain('waymark_deprecation_uses_total{deprecation="statuses"} 1');
    expect(metrics).toContain('waymark_deprecation_uses_total{deprecation="graphql-pts"} 2');
    return created;
  });
  expect(received).toEqual([]);

  // 80 days before: the 90 days have passed, so the owner gets one mail for each deprecation.
  await onDay(0, async (app) => {
    expect(await countUses(app)).toBe(2);
    expect(await usesOf(app, partner.rest)).toEqual({
      [NAMES[0] ?? ""]: [partner.rest.name],
      [NAMES[1] ?? ""]: [partner.graphql.name],
    });
    await eventually(() => expect(received).toHaveLength(2));
  });
  const first = received.splice(0);
  expect(subjectsOf(first)).toEqual(NAMES.map((name) => `Removed in ${REMOVAL_DAYS} days: ${name}`));
  expect(first.map(({ recipients }) => recipients)).toEqual([[partner.email], [partner.email]]);
  const about = (name: string) => first.find(({ subject }) => subject?.endsWith(name))?.text ?? "";
  expect(about(NAMES[0] ?? "")).toContain(`${partner.rest.name} (${partner.rest.prefix}), last on`);
  expect(about(NAMES[0] ?? "")).not.toContain(partner.graphql.prefix);
  expect(about(NAMES[1] ?? "")).toContain(`${partner.graphql.name} (${partner.graphql.prefix}), last on`);

  // 20 days before: nothing was used for 30 days. Then one key calls the operation again.
  await onDay(60, async (app) => {
    expect(await usesOf(app, partner.rest)).toEqual({ [NAMES[0] ?? ""]: [], [NAMES[1] ?? ""]: [] });
    await headersOf(app, "/v1/reference/statuses", partner.rest);
  });
  await onDay(60, async () => {
    await eventually(() => expect(received).toHaveLength(1));
  });
  // 6 days before.
  await onDay(74, async () => {
    await eventually(() => expect(received).toHaveLength(2));
  });
  expect(subjectsOf(received)).toEqual([`Removed in 20 days: ${NAMES[0]}`, `Removed in 6 days: ${NAMES[0]}`]);
  // A process that has stopped has finished its tasks, so no further mail is in the queue.
  expect(await queryOnce(databaseUrl, "select from mail")).toHaveLength(first.length + received.length);
});
