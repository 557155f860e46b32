/**
 * Isolation of organisations: no field, filter, order, aggregate, ID, cursor, mutation or subscription reveals or changes
 * another's data. The documents are generated from the schema, so new fields are covered automatically.
 */
import { getNamedType, type GraphQLField } from "graphql";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
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
import { eventually } from "../support/eventually.ts";

const schema = createSchema();

let app: TestApp;
let victim: TenantCanary;
let outsider: TestOrganization;
let outsidersOwner: SignedInTestUser;
let operator: SignedInTestUser;
/** Texts that no response to the outsider may contain. */
let secrets: string[];
let attempts: ArgumentLiterals;

/** A principal with a key or a session. */
type Principal = Pick<GraphqlRequestOptions, "key" | "headers">;
let outsiders: Principal[];
/** Principals that may see some of the victim's data. */
let entitled: Principal[];

beforeAll(async () => {
  // Without a worker, which would change deliveries and e-mails in the background.
  app = await startTestApp({ WEBHOOK_ALLOW_PRIVATE: "on", WAYMARK_ROLE: "api" });
  operator = await createSignedInUser(app, null);
  outsider = await app.createOrganization("agent");
  outsidersOwner = await createSignedInUser(app, outsider.id);
  await app.createJobs(outsider, [{ markingNumber: "own-1", patch: { recipient_name: "own" } }]);
  victim = await createTenantCanary(app, operator);
  const { headers } = outsidersOwner;
  outsiders = [{ key: outsider.key }, { headers }];
  entitled = [{ key: victim.key }, { headers: victim.owner.headers }, { headers: operator.headers }];
  ({ forbiddenTexts: secrets } = victim);
  attempts = createAttempts(victim.ids, victim.cursors);
}, 60_000);

afterAll(() => app[Symbol.asyncDispose]());

const quoted = (values: readonly string[]) => values.map((value) => JSON.stringify(value));

/** Arguments that a outsider who knows all of the victim's values would use. */
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
    email: quoted(["someone@invited.example"]),
    password: quoted([VALID_PASSWORD]),
    actions: quoted(["member.invited", "session.signed_in"]),
    days: ["30"],
    // In the format of the request log.
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
      if (!literals) throw new Error(`Say what a outsider would try for ${name}: ${type}`);
      return literals;
    },
  };
}

type Field = GraphQLField<unknown, unknown>;

/** Each call of a root field with arguments from `attempts`. */
function callsOf(field: Field): string[] {
  return generateArguments(field, attempts).map(
    (list) => `${field.name}${withShortPage(field, list)} { ...everything }`,
  );
}

/** Selections of the calls, one document per possible object type. */
function everything(field: Field, depth: number): string[] {
  return possibleObjectTypes(schema, getNamedType(field.type)).map(
    (type) => `fragment everything on ${type.name} ${selectAllFields(type, depth)}`,
  );
}

function withShortPage(field: Field, list: string): string {
  const isPage = field.args.some(({ name }) => name === "first") && !/\b(first|last):/.test(list);
  if (!isPage) return list;
  // `before` requires `last`.
  const size = /[( ]before:/.test(list) ? "last: 2" : "first: 2";
  return list === "" ? `(${size})` : list.replace("(", `(${size}, `);
}

const AT_ONCE = 4;

async function answersTo(principal: Principal, field: Field): Promise<string[]> {
  const calls = callsOf(field);
  const responses: string[] = [];
  for (const fragment of everything(field, 3)) {
    for (let index = 0; index < calls.length; index += AT_ONCE) {
      const part = calls.slice(index, index + AT_ONCE).map((call, n) => `a${n}: ${call}`);
      responses.push(await answerTo(principal, `{ ${part.join(" ")} } ${fragment}`));
    }
  }
  return responses;
}

/** Returns the data. Every document is valid. */
async function answerTo(principal: Principal, document: string): Promise<string> {
  const { data, errors, text } = await graphql(app, document, principal);
  const rejected = errors?.find(({ extensions }) => !/^(BAD_USER_INPUT|FORBIDDEN)$/.test(extensions.code));
  expect(rejected ? text : "").toBe("");
  return JSON.stringify(data);
}

const fieldsOf = (type: ReturnType<typeof schema.getQueryType>) => Object.values(type?.getFields() ?? {});
/** Fields with the same data for everyone. */
const PUBLIC = new Set(["jobStatuses", "failureReasons"]);

describe("reading", () => {
  const fields = fieldsOf(schema.getQueryType()).filter(({ name }) => !PUBLIC.has(name));

  it.each(fields.map((field) => [field.name, field] as const))(
    "%s returns nothing of the victim's data to a outsider, with any arguments",
    async (_name, field) => {
      const responses = await Promise.all(outsiders.map((principal) => answersTo(principal, field)));
      for (const response of responses.flat()) {
        for (const secret of secrets) expect(response).not.toContain(secret);
        // One organisation is visible: the caller's own. The victim's principals see three.
        const counts = [...response.matchAll(/"(?:totalCount|total|count)":(\d+)/g)].map(([, count]) =>
          Number(count),
        );
        expect(Math.max(0, ...counts)).toBeLessThanOrEqual(1);
      }
      // Control: the same documents return the values to principals that may see them.
      const visible = await Promise.all(entitled.map((principal) => answersTo(principal, field)));
      expect(secrets.some((secret) => visible.flat().join("").includes(secret))).toBe(true);
    },
    120_000,
  );

  it.each(["organizations { totalCount }", "accountRequests { totalCount }", "mailOutbox { nodes { id } }"])(
    "%s is only for operators",
    async (field) => {
      for (const principal of outsiders) {
        const { errors } = await graphql(app, `{ ${field} }`, principal);
        expect(errors?.map(({ extensions }) => extensions.code)).toEqual(["FORBIDDEN"]);
      }
    },
  );
});

/** Starts all subscriptions and resolves when all are active. */
async function followAll(key: string, calls: readonly string[]): Promise<JobSubscription[]> {
  const before = await countSubscriptions(app);
  const all = chunksOf(calls, 15).flatMap((part) => {
    const client = createSubscriptionClient(app, { "x-api-key": key });
    return part.map((call) =>
      subscribe(client, {}, `subscription { ${call} { id type sequence cursor job { markingNumber } } }`),
    );
  });
  await eventually(async () => expect(await countSubscriptions(app)).toBe(before + all.length));
  return all;
}

function changeJob(key: string, markingNumber: string): Promise<unknown> {
  const input = `{ markingNumber: "${markingNumber}", patch: { instructions: "${newUuid()}" } }`;
  return queryData(app, `mutation { updateJob(input: ${input}) { userErrors { code } } }`, { key });
}

/** Different filters of one organisation, of which 50 are allowed. */
const FILTERS = 40;

describe("subscribing", () => {
  // evidence: graphql-isolation-subscriptions
  it("sends a outsider no change of the victim's jobs, with any filter", async () => {
    const [field] = fieldsOf(schema.getSubscriptionType());
    if (!field) throw new Error("There is a subscription");
    const filteredCalls = callsOf(field)
      .map((call) => call.replace(" { ...everything }", ""))
      // An unknown status code would be rejected.
      .filter((call) => !/normalizedStatus: \{ (eq|in):/.test(call));
    const step = Math.ceil(filteredCalls.length / FILTERS);
    // When the last subscription has received its event, all others have too.
    const calls = [
      ...filteredCalls.filter((_, index) => index % step === 0),
      'jobChanged(filter: { recipientName: { eq: "own" } })',
    ];
    const own = await followAll(outsider.key, calls);
    const victims = await followAll(victim.key, calls);
    await changeJob(victim.key, `${CANARY_MARKER}-2`);
    // Control: the same subscriptions send the events to principals that may see them.
    const eventCount = () => victims.flatMap(({ events }) => events).length;
    await eventually(() => expect(eventCount()).toBeGreaterThan(3));
    await changeJob(outsider.key, "own-1");
    await eventually(() => expect(own.at(-1)?.events).toHaveLength(1));
    const seen = JSON.stringify(own.map(({ events }) => events));
    for (const secret of secrets) expect(seen).not.toContain(secret);
  }, 60_000);
});

const mutations = fieldsOf(schema.getMutationType());
const changing = (field: Field, call: string) => `mutation { ${call} } ${everything(field, 2).join(" ")}`;

/** Prepares the state that a mutation needs to have an effect. */
const before: Record<string, Sql> = {
  // Removes the limit on e-mails sent to the same address.
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
    "%s neither changes nor returns the victim's data for a outsider",
    async (_name, field) => {
      const rows = await snapshotRows(app, victim);
      for (const call of callsOf(field)) {
        for (const principal of outsiders) {
          const { data } = await graphql(app, changing(field, call), principal);
          const response = JSON.stringify(data ?? null);
          // A bulk result repeats the requested Marking Number.
          const returned = response.replaceAll(/"markingNumber":"[^"]*"/g, "");
          for (const secret of secrets.filter((text) => !call.includes(text)))
            expect(returned).not.toContain(secret);
        }
      }
      expect(await snapshotRows(app, victim)).toEqual(rows);
    },
    120_000,
  );

  // evidence: graphql-isolation-control-calls-succeed
  it("changes the data for principals that may change it, so the calls are valid", async () => {
    const ineffective: string[] = [];
    // Mutations that end or remove something run last.
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
      const responses: GraphqlResponse[] = [];
      for (const principal of entitled) {
        const prepare = before[field.name];
        if (prepare) await app.database.query(prepare);
        responses.push(
          ...(await Promise.all(
            callsOf(field).map((call) => graphql(app, changing(field, call), principal)),
          )),
        );
      }
      const worked = responses.some(({ text }) => text.includes('"userErrors":[]'));
      if (!worked) ineffective.push(`${field.name}: ${responses.map(({ text }) => text).join("\n")}`);
    }
    expect(ineffective).toEqual([]);
  }, 60_000);
});

function chunksOf<Item>(items: readonly Item[], size: number): Item[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );
}
