/**
 * An organisation reaches nothing of another's: not by a field, a filter, an order, an aggregate, an id, a cursor, a
 * mutation or a subscription. The documents are made from the schema, so that whatever is added is tried from its first
 * day on.
 */
import { getNamedType, type GraphQLField } from "graphql";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { createSchema } from "../../src/graphql/schema.ts";
import { newUuid } from "../../src/platform/ids.ts";
import { sql, type Sql } from "../../src/platform/postgres/sql.ts";
import { VALID_PASSWORD } from "../support/accounts/session-client.ts";
import {
  generateArguments,
  selectAllFields,
  possibleObjectTypes,
  type ArgumentLiterals,
} from "../support/graphql/document-generator.ts";
import {
  createSubscriptionClient,
  countSubscriptions,
  subscribe,
  type JobSubscription,
} from "../support/graphql/subscription-client.ts";
import { createSignedInUser, type SignedInTestUser } from "../support/accounts/signed-in-user.ts";
import {
  createTenantCanary,
  CANARY_MARKER,
  snapshotRows,
  type TenantCanary,
} from "../support/graphql/tenant-canary.ts";
import {
  queryData,
  graphql,
  type GraphqlResponse,
  type GraphqlRequestOptions,
} from "../support/graphql/client.ts";
import { startTestApp, type TestOrganization, type TestApp } from "../support/app/app.fixture.ts";

const schema = createSchema();

let app: TestApp;
let victim: TenantCanary;
let stranger: TestOrganization;
let strangersOwner: SignedInTestUser;
let operator: SignedInTestUser;
/** What no answer to the stranger may hold. */
let secrets: string[];
let attempts: ArgumentLiterals;

/** Whoever asks: by a key, or by a session. */
type Question = Pick<GraphqlRequestOptions, "key" | "headers">;
let strangers: Question[];
/** Those who may see what is the victim's, one thing or another. */
let entitled: Question[];

beforeAll(async () => {
  // Without a worker, which would change deliveries and mails by itself.
  app = await startTestApp({ WEBHOOK_ALLOW_PRIVATE: "on", WAYMARK_ROLE: "api" });
  operator = await createSignedInUser(app, null);
  stranger = await app.createOrganization("agent");
  strangersOwner = await createSignedInUser(app, stranger.id);
  await app.createJobs(stranger, [{ markingNumber: "own-1", patch: { recipient_name: "own" } }]);
  victim = await createTenantCanary(app, operator);
  const { headers } = strangersOwner;
  strangers = [{ key: stranger.key }, { headers }];
  entitled = [{ key: victim.key }, { headers: victim.owner.headers }, { headers: operator.headers }];
  ({ forbiddenTexts: secrets } = victim);
  attempts = createAttempts(victim.ids, victim.cursors);
}, 60_000);

afterAll(() => app[Symbol.asyncDispose]());

const quoted = (values: readonly string[]) => values.map((value) => JSON.stringify(value));

/** What a stranger who knows all of the victim's values would try. */
function createAttempts(ids: readonly string[], cursors: readonly string[]): ArgumentLiterals {
  const byName: Record<string, readonly string[]> = {
    after: quoted(cursors),
    before: quoted(cursors),
    first: ["2"],
    last: ["2"],
    graceHours: ["0"],
    url: quoted(["http://127.0.0.1:9/elsewhere"]),
    code: quoted(["stolen"]),
    cidrs: quoted(["10.0.0.0/8"]),
    email: quoted(["somebody@invited.example"]),
    password: quoted([VALID_PASSWORD]),
    actions: quoted(["member.invited", "session.signed_in"]),
    days: ["30"],
    // As the request log has it.
    requestId: quoted(["req_01JD0000000000000000000000"]),
  };
  const organizations = ids.filter((id) => id.startsWith("org_"));
  const byType: Record<string, readonly string[]> = {
    ID: quoted([...new Map(ids.map((id) => [id.slice(0, 3), id])).values()]),
    String: quoted([`${CANARY_MARKER}-1`, CANARY_MARKER]),
    Int: ["77"],
    Float: ["31.5"],
    Boolean: ["true", "false"],
    DateTime: quoted(["2020-01-01T00:00:00Z", "2040-01-01T00:00:00Z"]),
    LocalDate: quoted(["2031-05-06"]),
  };
  return {
    literalsFor(name, type) {
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
  return generateArguments(field, attempts).map(
    (list) => `${field.name}${withShortPage(field, list)} { ...everything }`,
  );
}

/** What the calls ask for: one document's worth for each type of object that may come. */
function everything(field: Field, depth: number): string[] {
  return possibleObjectTypes(schema, getNamedType(field.type)).map(
    (type) => `fragment everything on ${type.name} ${selectAllFields(type, depth)}`,
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

async function answersTo(asker: Question, field: Field): Promise<string[]> {
  const calls = callsOf(field);
  const answers: string[] = [];
  for (const fragment of everything(field, 3)) {
    for (let at = 0; at < calls.length; at += AT_ONCE) {
      const part = calls.slice(at, at + AT_ONCE).map((call, n) => `a${n}: ${call}`);
      answers.push(await answerTo(asker, `{ ${part.join(" ")} } ${fragment}`));
    }
  }
  return answers;
}

/** The data. No document is refused as a whole for its form. */
async function answerTo(asker: Question, document: string): Promise<string> {
  const { data, errors, text } = await graphql(app, document, asker);
  const refused = errors?.find(({ extensions }) => !/^(BAD_USER_INPUT|FORBIDDEN)$/.test(extensions.code));
  expect(refused ? text : "").toBe("");
  return JSON.stringify(data);
}

const fieldsOf = (type: ReturnType<typeof schema.getQueryType>) => Object.values(type?.getFields() ?? {});
/** The same for everybody. */
const PUBLIC = new Set(["jobStatuses", "failureReasons"]);

describe("reading", () => {
  const fields = fieldsOf(schema.getQueryType()).filter(({ name }) => !PUBLIC.has(name));

  it.each(fields.map((field) => [field.name, field] as const))(
    "%s shows a stranger nothing of the victim's, whatever it is asked",
    async (_name, field) => {
      const answers = await Promise.all(strangers.map((asker) => answersTo(asker, field)));
      for (const answer of answers.flat()) {
        for (const secret of secrets) expect(answer).not.toContain(secret);
        // Of one's own there is one; of the victim's there are three.
        const counts = [...answer.matchAll(/"(?:totalCount|total|count)":(\d+)/g)].map(([, count]) =>
          Number(count),
        );
        expect(Math.max(0, ...counts)).toBeLessThanOrEqual(1);
      }
      // The same questions do find it where it may be seen.
      const found = await Promise.all(entitled.map((asker) => answersTo(asker, field)));
      expect(secrets.some((secret) => found.flat().join("").includes(secret))).toBe(true);
    },
    60_000,
  );

  it.each(["organizations { totalCount }", "accountRequests { totalCount }", "mailOutbox { nodes { id } }"])(
    "%s is for operators",
    async (field) => {
      for (const asker of strangers) {
        const { errors } = await graphql(app, `{ ${field} }`, asker);
        expect(errors?.map(({ extensions }) => extensions.code)).toEqual(["FORBIDDEN"]);
      }
    },
  );
});

/** Subscribes in each of these ways, and resolves once all stand. */
async function followAll(key: string, calls: readonly string[]): Promise<JobSubscription[]> {
  const before = await countSubscriptions(app);
  const all = chunksOf(calls, 15).flatMap((part) => {
    const client = createSubscriptionClient(app, { "x-api-key": key });
    return part.map((call) =>
      subscribe(client, {}, `subscription { ${call} { id type sequence cursor job { markingNumber } } }`),
    );
  });
  await vi.waitFor(async () => expect(await countSubscriptions(app)).toBe(before + all.length), {
    timeout: 20_000,
  });
  return all;
}

function changeJob(key: string, markingNumber: string): Promise<unknown> {
  const input = `{ markingNumber: "${markingNumber}", patch: { instructions: "${newUuid()}" } }`;
  return queryData(app, `mutation { updateJob(input: ${input}) { userErrors { code } } }`, { key });
}

/** Different filters of one organisation, of which there may be 50. */
const FILTERS = 40;

describe("watching", () => {
  // evidence: graphql-isolation-subscriptions
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
    await changeJob(victim.key, `${CANARY_MARKER}-2`);
    // The same subscriptions do tell those who may see it.
    const told = () => victims.flatMap(({ events }) => events).length;
    await vi.waitFor(() => expect(told()).toBeGreaterThan(3), 20_000);
    await changeJob(stranger.key, "own-1");
    await vi.waitFor(() => expect(own.at(-1)?.events).toHaveLength(1), 20_000);
    const seen = JSON.stringify(own.map(({ events }) => events));
    for (const secret of secrets) expect(seen).not.toContain(secret);
  }, 60_000);
});

const mutations = fieldsOf(schema.getMutationType());
const changing = (field: Field, call: string) => `mutation { ${call} } ${everything(field, 2).join(" ")}`;

/** What must be so before a mutation can do anything to it. */
const before: Record<string, Sql> = {
  // As if the stranger had not just had mails sent to the same address.
  inviteMember: sql`delete from rate_limit_bucket`,
  approveAccountRequest: sql`update account_request set status = 'pending'`,
  rejectAccountRequest: sql`update account_request set status = 'pending', organization_id = null`,
  askAccountRequestQuestion: sql`update account_request set status = 'pending', organization_id = null`,
  resendRegistration: sql`update account_request set status = 'approved', organization_id = (
    select id from organization order by created_at desc limit 1)`,
  resendMail: sql`update mail set status = 'failed', sealed_body = coalesce(sealed_body, 'x')`,
  restoreOrganization: sql`update organization set suspended_at = now() where type = 'contractor'`,
};

describe("changing", () => {
  it.each(mutations.map((field) => [field.name, field] as const))(
    "%s changes nothing of the victim's for a stranger, and tells nothing of it",
    async (_name, field) => {
      const rows = await snapshotRows(app, victim);
      for (const call of callsOf(field)) {
        for (const asker of strangers) {
          const { data } = await graphql(app, changing(field, call), asker);
          const answer = JSON.stringify(data ?? null);
          // A bulk result tells the Marking Number back that was asked for.
          const told = answer.replaceAll(/"markingNumber":"[^"]*"/g, "");
          for (const secret of secrets.filter((text) => !call.includes(text)))
            expect(told).not.toContain(secret);
        }
      }
      expect(await snapshotRows(app, victim)).toEqual(rows);
    },
    60_000,
  );

  // evidence: graphql-isolation-control-calls-succeed
  it("the same calls do change it for those who may, so that none of them was refused for its form", async () => {
    const silent: string[] = [];
    // What ends or removes goes last.
    const last = [
      "revokeInvitation",
      "deleteView",
      "setMemberRole",
      "removeMember",
      "suspendOrganization",
      "restoreOrganization",
      "deleteWebhookEndpoint",
      "rotateApiKey",
      "revokeApiKey",
    ];
    const inOrder = mutations.toSorted((one, other) => last.indexOf(one.name) - last.indexOf(other.name));
    for (const field of inOrder) {
      const answers: GraphqlResponse[] = [];
      for (const asker of entitled) {
        const prepare = before[field.name];
        if (prepare) await app.database.query(prepare);
        answers.push(
          ...(await Promise.all(callsOf(field).map((call) => graphql(app, changing(field, call), asker)))),
        );
      }
      const worked = answers.some(({ text }) => text.includes('"userErrors":[]'));
      if (!worked) silent.push(`${field.name}: ${answers.map(({ text }) => text).join("\n")}`);
    }
    expect(silent).toEqual([]);
  }, 60_000);
});

function chunksOf<Item>(items: readonly Item[], size: number): Item[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, at) =>
    items.slice(at * size, (at + 1) * size),
  );
}
