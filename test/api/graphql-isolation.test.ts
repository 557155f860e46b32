/**
 * An organisation reaches nothing of another's: not by a field, a filter, an order, an aggregate, an id, a cursor, a
 * mutation or a subscription. The documents are made from the schema, so that whatever is added is tried from its first
 * day on.
 */
import { getNamedType, type GraphQLField } from "graphql";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { createSchema } from "../../src/graphql/schema.ts";
import { newUuid, toTypedId } from "../../src/platform/ids.ts";
import { raw, sql } from "../../src/platform/sql.ts";
import { argumentsOf, everythingBelow, objectTypesOf, type Attempts } from "../support/graphql-documents.ts";
import { liveClient, standing, subscribe, type Following } from "../support/graphql-live.ts";
import { ask, graphql } from "../support/graphql.ts";
import { startTestApp, type Partner, type TestApp } from "../support/start-app.ts";

const schema = createSchema();
const MARK = "zq-victim";

let app: TestApp;
let victim: Partner;
let contractor: Partner;
let stranger: Partner;
let operator: string;
/** What no answer to the stranger may hold. */
let secrets: string[];
let attempts: Attempts;

beforeAll(async () => {
  app = await startTestApp({ WEBHOOK_ALLOW_PRIVATE: "on" });
  stranger = await app.partner("agent");
  victim = await app.partner("agent", { name: `${MARK} key` });
  contractor = await app.partner("contractor");
  operator = (await app.keys.create({ organizationId: null, name: "operator", createdBy: "test" })).text;
  await app.jobs(stranger, [{ markingNumber: "own-1", patch: { recipient_name: "own" } }]);
  await app.jobs(
    victim,
    [1, 2, 3].map((n) => ({
      markingNumber: `${MARK}-${n}`,
      contractor,
      patch: {
        batch_number: `${MARK} batch`,
        group_code: `${MARK} group`,
        recipient_name: `${MARK} recipient ${n}`,
        recipient_contact: `${MARK} contact`,
        delivery_address: `${MARK} address`,
        postal_code: `${MARK} code`,
        instructions: `${MARK} instructions`,
        labels: `${MARK} labels`,
        failure_reason: `${MARK} reason`,
        scheduled_date: "2031-05-06",
        weight: 31.5,
        piece_quantity: 77,
      },
      providerStatus: `${MARK} carrier`,
    })),
  );
  await victimsWebhooks();
  const ids = await victimsIds();
  const cursors = await victimsCursors();
  secrets = [MARK, victim.name, contractor.name, ...ids];
  attempts = createAttempts(ids, cursors);
});

afterAll(() => app[Symbol.asyncDispose]());

async function victimsWebhooks(): Promise<void> {
  const made = await ask(
    app,
    `mutation { createWebhookEndpoint(input: { url: "http://127.0.0.1:9/${MARK}", description: "${MARK}" }) {
      endpoint { id } userErrors { message } } }`,
    { key: victim.key },
  );
  const id: string = made.createWebhookEndpoint.endpoint.id;
  // A delivery with an attempt, whether or not anybody listens there.
  await ask(app, `mutation { sendTestEvent(endpointId: "${id}") { delivery { id } } }`, { key: victim.key });
  await ask(
    app,
    `mutation { updateJob(input: { markingNumber: "${MARK}-1", patch: { labels: "${MARK} new" } }) { job { id } } }`,
    { key: victim.key },
  );
}

/** Every id that belongs to the victim, typed. */
async function victimsIds(): Promise<string[]> {
  const of = (table: string, where: string) =>
    app.database.query<{ id: string }>(sql`select id from ${raw(table)} where ${raw(where)} = ${victim.id}`);
  const typed = async (prefix: "job" | "evt" | "whe" | "key", table: string, where: string) =>
    (await of(table, where)).map(({ id }) => toTypedId(prefix, id));
  const deliveries = await app.database.query<{ id: string }>(sql`
    select delivery.id from webhook_delivery delivery join webhook_endpoint endpoint on endpoint.id = endpoint_id
    where organization_id = ${victim.id}`);
  return [
    toTypedId("org", victim.id),
    toTypedId("org", contractor.id),
    ...(await typed("job", "job", "agent_id")),
    ...(await typed("evt", "job_event", "agent_id")),
    ...(await typed("whe", "webhook_endpoint", "organization_id")),
    ...(await typed("key", "api_key", "organization_id")),
    ...deliveries.map(({ id }) => toTypedId("dlv", id)),
  ];
}

async function victimsCursors(): Promise<string[]> {
  const { byCreation, byNumber, events } = await ask(
    app,
    `{ byCreation: jobs(first: 1) { pageInfo { endCursor } }
       byNumber: jobs(first: 1, orderBy: { field: MARKING_NUMBER, direction: ASC }) { pageInfo { endCursor } }
       events(first: 1) { pageInfo { endCursor } } }`,
    { key: victim.key },
  );
  return [byCreation, byNumber, events].map(({ pageInfo }) => pageInfo.endCursor as string);
}

const quoted = (values: readonly string[]) => values.map((value) => JSON.stringify(value));

/** What a stranger who knows all of the victim's values would try. */
function createAttempts(ids: readonly string[], cursors: readonly string[]): Attempts {
  const byName: Record<string, readonly string[]> = {
    after: quoted(cursors),
    before: quoted(cursors),
    first: ["2"],
    last: ["2"],
    graceHours: ["0"],
    url: quoted(["http://127.0.0.1:9/elsewhere"]),
    code: quoted(["stolen"]),
    cidrs: quoted(["10.0.0.0/8"]),
  };
  const organizations = ids.filter((id) => id.startsWith("org_"));
  const byType: Record<string, readonly string[]> = {
    ID: quoted([...new Map(ids.map((id) => [id.slice(0, 3), id])).values()]),
    String: quoted([`${MARK}-1`, MARK]),
    Int: ["77"],
    Float: ["31.5"],
    Boolean: ["true", "false"],
    DateTime: quoted(["2020-01-01T00:00:00Z", "2040-01-01T00:00:00Z"]),
    LocalDate: quoted(["2031-05-06"]),
  };
  return {
    of(name, type) {
      if (/^(organization|agent|contractor)Id$/.test(name)) return quoted(organizations);
      const literals = byName[name] ?? byType[type];
      if (!literals) throw new Error(`Say what a stranger would try for ${name}: ${type}`);
      return literals;
    },
  };
}

type Field = GraphQLField<unknown, unknown>;

/** Each call of a root field that can be made of `attempts`. */
function callsOf(field: Field): string[] {
  return argumentsOf(field, attempts).map(
    (list) => `${field.name}${withShortPage(field, list)} { ...everything }`,
  );
}

/** What the calls ask for: one document's worth for each type of object that may come. */
function everything(field: Field, depth: number): string[] {
  return objectTypesOf(schema, getNamedType(field.type)).map(
    (type) => `fragment everything on ${type.name} ${everythingBelow(type, depth)}`,
  );
}

function withShortPage(field: Field, list: string): string {
  const isPage = field.args.some(({ name }) => name === "first") && !/\b(first|last):/.test(list);
  if (!isPage) return list;
  // `before` goes with `last`.
  const size = /[( ]before:/.test(list) ? "last: 2" : "first: 2";
  return list === "" ? `(${size})` : list.replace("(", `(${size}, `);
}

const AT_ONCE = 4;

async function answersTo(key: string, field: Field): Promise<string[]> {
  const calls = callsOf(field);
  const answers: string[] = [];
  for (const fragment of everything(field, 3)) {
    for (let at = 0; at < calls.length; at += AT_ONCE) {
      const part = calls.slice(at, at + AT_ONCE).map((call, n) => `a${n}: ${call}`);
      answers.push(await answerTo(key, `{ ${part.join(" ")} } ${fragment}`));
    }
  }
  return answers;
}

/** The data. No document is refused as a whole for its form. */
async function answerTo(key: string, document: string): Promise<string> {
  const { data, errors, text } = await graphql(app, document, { key });
  const refused = errors?.find(({ extensions }) => !/^(BAD_USER_INPUT|FORBIDDEN)$/.test(extensions.code));
  expect(refused ? text : "").toBe("");
  return JSON.stringify(data);
}

const fieldsOf = (type: ReturnType<typeof schema.getQueryType>) => Object.values(type?.getFields() ?? {});
/** The same for everybody. */
const PUBLIC = new Set(["jobStatuses", "failureReasons", "organizations"]);

describe("reading", () => {
  const fields = fieldsOf(schema.getQueryType()).filter(({ name }) => !PUBLIC.has(name));

  it.each(fields.map((field) => [field.name, field] as const))(
    "%s shows a stranger nothing of the victim's, whatever it is asked",
    async (_name, field) => {
      for (const answer of await answersTo(stranger.key, field)) {
        for (const secret of secrets) expect(answer).not.toContain(secret);
        // Of one's own there is one; of the victim's there are three.
        const counts = [...answer.matchAll(/"(?:totalCount|total|count)":(\d+)/g)].map(([, count]) =>
          Number(count),
        );
        expect(Math.max(0, ...counts)).toBeLessThanOrEqual(1);
      }
      // The same questions do find it where it may be seen.
      const found = (await answersTo(victim.key, field)).join("");
      expect(secrets.some((secret) => found.includes(secret))).toBe(true);
    },
    60_000,
  );

  it("organizations is for operators", async () => {
    const { errors, data } = await graphql(app, "{ organizations { name } }", { key: stranger.key });
    expect(errors?.map(({ extensions }) => extensions.code)).toEqual(["FORBIDDEN"]);
    expect(data?.organizations ?? null).toBeNull();
  });
});

/** Subscribes in each of these ways, and resolves once all stand. */
async function followAll(key: string, calls: readonly string[]): Promise<Following[]> {
  const before = await standing(app);
  const all = chunksOf(calls, 15).flatMap((part) => {
    const client = liveClient(app, { "x-api-key": key });
    return part.map((call) =>
      subscribe(client, {}, `subscription { ${call} { id type sequence cursor job { markingNumber } } }`),
    );
  });
  await vi.waitFor(async () => expect(await standing(app)).toBe(before + all.length), { timeout: 20_000 });
  return all;
}

function changeJob(key: string, markingNumber: string): Promise<unknown> {
  const input = `{ markingNumber: "${markingNumber}", patch: { instructions: "${newUuid()}" } }`;
  return ask(app, `mutation { updateJob(input: ${input}) { userErrors { code } } }`, { key });
}

/** Different filters of one organisation, of which there may be 50. */
const FILTERS = 40;

describe("watching", () => {
  it("shows a stranger no change of the victim's, whatever it is filtered by", async () => {
    const [field] = fieldsOf(schema.getSubscriptionType());
    if (!field) throw new Error("There is a subscription");
    const ways = callsOf(field)
      .map((call) => call.replace(" { ...everything }", ""))
      // A code that is no status is refused for that.
      .filter((call) => !/normalizedStatus: \{ (eq|in):/.test(call));
    const step = Math.ceil(ways.length / FILTERS);
    // The last is looked at last: once it has told, all the others have.
    const calls = [
      ...ways.filter((_, at) => at % step === 0),
      'jobChanged(filter: { recipientName: { eq: "own" } })',
    ];
    const own = await followAll(stranger.key, calls);
    const victims = await followAll(victim.key, calls);
    await changeJob(victim.key, `${MARK}-2`);
    // The same subscriptions do tell those who may see it.
    await vi.waitFor(() => expect(victims.flatMap(({ events }) => events).length).toBeGreaterThan(3));
    await changeJob(stranger.key, "own-1");
    await vi.waitFor(() => expect(own.at(-1)?.events).toHaveLength(1));
    const seen = JSON.stringify(own.map(({ events }) => events));
    for (const secret of secrets) expect(seen).not.toContain(secret);
  }, 60_000);
});

/** All that is the victim's, as text. */
async function victimsRows(): Promise<string> {
  const rows = await Promise.all(
    [
      sql`select to_jsonb(job) from job where agent_id = ${victim.id} order by id`,
      sql`select to_jsonb(endpoint) from webhook_endpoint endpoint where organization_id = ${victim.id} order by id`,
      // When a key was last used is no change of it.
      sql`select to_jsonb(key) - 'last_used_at' from api_key key where organization_id = ${victim.id} order by id`,
      sql`select to_jsonb(delivery) from webhook_delivery delivery where endpoint_id in (
        select id from webhook_endpoint where organization_id = ${victim.id}) order by id`,
    ].map((statement) => app.database.query(statement)),
  );
  return JSON.stringify(rows);
}

/** Which a partner could be tempted to try on another's, and which the victim's own key can do. */
const OPERATORS = new Set(["createJobs", "assignJobs", "setProviderStatus", "upsertJobStatus"]);
const mutations = fieldsOf(schema.getMutationType());
const changing = (field: Field, call: string) => `mutation { ${call} } ${everything(field, 2).join(" ")}`;

describe("changing", () => {
  it.each(mutations.map((field) => [field.name, field] as const))(
    "%s changes nothing of the victim's for a stranger, and tells nothing of it",
    async (_name, field) => {
      const before = await victimsRows();
      for (const call of callsOf(field)) {
        const { data } = await graphql(app, changing(field, call), { key: stranger.key });
        const answer = JSON.stringify(data ?? null);
        // A bulk result tells the Marking Number back that was asked for.
        const told = answer.replaceAll(/"markingNumber":"[^"]*"/g, "");
        for (const secret of secrets.filter((text) => !call.includes(text)))
          expect(told).not.toContain(secret);
      }
      expect(await victimsRows()).toBe(before);
    },
    60_000,
  );

  it("the same calls do change it for those who may, so that none of them was refused for its form", async () => {
    const silent: string[] = [];
    // What ends or removes goes last.
    const last = ["deleteWebhookEndpoint", "rotateApiKey", "revokeApiKey"];
    const inOrder = mutations.toSorted((one, other) => last.indexOf(one.name) - last.indexOf(other.name));
    for (const field of inOrder) {
      const key = OPERATORS.has(field.name) ? operator : victim.key;
      const answers = await Promise.all(
        callsOf(field).map((call) => graphql(app, changing(field, call), { key })),
      );
      const worked = answers.some(({ text }) => text.includes('"userErrors":[]'));
      if (!worked) silent.push(`${field.name}: ${answers.at(-1)?.text}`);
    }
    expect(silent).toEqual([]);
  }, 60_000);
});

function chunksOf<Item>(items: readonly Item[], size: number): Item[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, at) =>
    items.slice(at * size, (at + 1) * size),
  );
}
