/**
 * Isolation of organisations: no field, filter, order, aggregate, ID, cursor, mutation or subscription reveals or changes
 * another's data. The documents are generated from the schema, so new fields are covered automatically.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sql, type Sql } from "../../src/core/postgres/sql.ts";
import { startHostileIssuer } from "../support/accounts/identity-provider.ts";
import { createSignedInUser, type SignedInTestUser } from "../support/accounts/signed-in-user.ts";
import { startTestApp, type TestOrganization, type TestApp } from "../support/app/app.fixture.ts";
import { eventually } from "../support/eventually.ts";
import { queryData } from "../support/graphql/client.ts";
import type { ArgumentLiterals } from "../support/graphql/document-generator.ts";
import {
  answersTo,
  changeJob,
  createAttempts,
  followAll,
  isReturnedTo,
  mutationFields,
  type Principal,
  queryFields,
  resultsOf,
  type RootField,
  subscriptionCallsOf,
} from "../support/graphql/known-values.ts";
import {
  createTenantCanary,
  CANARY_MARKER,
  snapshotRows,
  type TenantCanary,
} from "../support/graphql/tenant-canary.ts";

let app: TestApp;
let issuer: Awaited<ReturnType<typeof startHostileIssuer>>;
let victim: TenantCanary;
let outsider: TestOrganization;
let outsidersOwner: SignedInTestUser;
let operator: SignedInTestUser;
/** Texts that no response to the outsider may contain. */
let secrets: string[];
let attempts: ArgumentLiterals;

let outsiders: Principal[];
let testKey: Principal;
/** Principals that may see some of the victim's data. */
let entitled: Principal[];

beforeAll(async () => {
  // Without a worker, which would change deliveries and e-mails in the background.
  app = await startTestApp({ WEBHOOK_ALLOW_PRIVATE: "on", WAYMARK_ROLE: "api" }, { resolveTxt });
  issuer = await startHostileIssuer();
  operator = await createSignedInUser(app, null);
  outsider = await app.createOrganization("agent");
  outsidersOwner = await createSignedInUser(app, outsider.id);
  await app.createJobs(outsider, [{ markingNumber: "own-1", patch: { recipient_name: "own" } }]);
  victim = await createTenantCanary(app, operator);
  const { headers } = outsidersOwner;
  outsiders = [{ key: outsider.key }, { headers }];
  testKey = { key: await app.createKey(victim.id, { testSide: "agent" }) };
  entitled = [{ key: victim.key }, testKey, { headers: victim.owner.headers }, { headers: operator.headers }];
  ({ forbiddenTexts: secrets } = victim);
  attempts = createAttempts({
    ...victim,
    texts: [`${CANARY_MARKER}-1`, CANARY_MARKER],
    issuer: issuer.url,
  });
});

afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await issuer[Symbol.asyncDispose]();
});

/** Each domain has the records of all connections. */
async function resolveTxt(): Promise<string[][]> {
  const rows = await app.database.query<{ token: string }>(
    sql`select verification_token as token from sso_connection`,
  );
  return rows.map(({ token }) => [`waymark-verification=${token}`]);
}

/** Prepares the state that a mutation needs to have an effect. */
const before: Record<string, Sql> = {
  // Removes the limit on e-mails sent to the same address.
  inviteMember: sql`delete from rate_limit_bucket`,
  // An outsider may have proven the domain of the calls before.
  setSingleSignOn: sql`update sso_connection set verified_at = null`,
  approveAccountRequest: sql`update account_request set status = 'pending'`,
  rejectAccountRequest: sql`update account_request set status = 'pending', organization_id = null`,
  askAccountRequestQuestion: sql`update account_request set status = 'pending', organization_id = null`,
  resendRegistration: sql`update account_request set status = 'approved', organization_id = (
    select id from organization order by created_at desc limit 1)`,
  resendMail: sql`update mail set status = 'failed', sealed_body = coalesce(sealed_body, 'x')`,
  // Makes the job that the calls name a test job.
  runTestJob: sql`update job set agent_id = (
    select id from organization where type = 'agent' and live_organization_id = (
      select agent_id from job where marking_number = ${`${CANARY_MARKER}-2`}
    )
  ) where marking_number = ${`${CANARY_MARKER}-1`}`,
  cancelTestRun: sql`insert into test_run (job_id, agent_id, marking_number, steps, interval_ms, due_at)
    select id, agent_id, marking_number, '{delivered}', 1000, now() from job where marking_number = ${`${CANARY_MARKER}-1`}
    on conflict do nothing`,
  resetMemberTwoFactor: sql`update user_account set two_factor_enabled = true where role = 'dispatcher'`,
  restoreOrganization: sql`update organization set suspended_at = now() where type = 'contractor'`,
  // The calls name the contractor.
  allowJobImport: sql`update organization set type = 'agent' where live_organization_id is null`,
};

/** Calls the mutation as each entitled principal, operators first, until one call succeeds. Returns the results if none did. */
async function callUntilEffective(field: RootField): Promise<string[]> {
  const results: string[] = [];
  for (const principal of entitled.toReversed()) {
    const prepare = before[field.name];
    if (prepare) await app.database.query(prepare);
    for await (const { result } of resultsOf(app, principal, field, attempts)) {
      if (result.includes('"userErrors":[]')) return [];
      results.push(result);
    }
  }
  return results;
}

/** The types of nodes by the prefixes of their IDs. */
const nodeTypes = {
  job: "Job",
  evt: "JobEvent",
  org: "Organization",
  whe: "WebhookEndpoint",
  dlv: "WebhookDelivery",
  att: "WebhookAttempt",
  key: "ApiKey",
  usr: "User",
  arq: "AccountRequest",
  aud: "AuditEntry",
  eml: "Mail",
  inv: "Invitation",
  viw: "SavedView",
};
/** The readers of a node, unless they are its organization's key and every operator. */
const readers: Record<string, readonly ("key" | "owner" | "operator")[]> = {
  arq: ["operator"],
  aud: ["owner", "operator"],
  eml: ["operator"],
  inv: ["owner"],
  viw: ["owner"],
};

// The last test ends what the others need.
describe("isolation", { shuffle: false }, () => {
  describe("reading", () => {
    it.each(queryFields.map((field) => [field.name, field] as const))(
      "%s returns nothing of the victim's data to an outsider, with any arguments",
      async (_name, field) => {
        for (const principal of outsiders)
          for await (const response of answersTo(app, principal, field, attempts)) {
            expect(secrets.filter((secret) => response.includes(secret))).toEqual([]);
            // One organisation is visible: the caller's own. The victim's principals see three.
            const counts = [...response.matchAll(/"(?:totalCount|total|count)":(\d+)/g)].map(([, count]) =>
              Number(count),
            );
            expect(Math.max(0, ...counts)).toBeLessThanOrEqual(1);
          }
        // Control: the same documents return the values to principals that may see them.
        expect(await isReturnedTo(app, entitled, field, { attempts, texts: secrets })).toBe(true);
      },
      120_000,
    );
  });

  it.each(Object.entries(nodeTypes))(
    "node returns the object for an ID with the prefix %s_ to those who may see it, and null to others",
    async (prefix, type) => {
      const query = "query ($id: ID!) { node(id: $id) { id __typename } }";
      const id = victim.ids.find((other) => other.startsWith(`${prefix}_`)) ?? "";
      const may = readers[prefix] ?? ["key", "owner", "operator"];
      const seenBy = (reader: (typeof may)[number]) => ({
        node: may.includes(reader) ? { id, __typename: type } : null,
      });
      expect(await operator.queryData(query, { id })).toEqual(seenBy("operator"));
      expect(await victim.owner.queryData(query, { id })).toEqual(seenBy("owner"));
      expect(await queryData(app, query, { key: victim.key, variables: { id } })).toEqual(seenBy("key"));
      expect(await outsidersOwner.queryData(query, { id })).toEqual({ node: null });
    },
  );

  describe("subscribing", () => {
    // evidence: graphql-isolation-subscriptions
    it("sends an outsider no change of the victim's jobs, with any filter", async () => {
      // When the last subscription has received its event, all others have too.
      const calls = [
        ...subscriptionCallsOf(attempts),
        'jobChanged(filter: { recipientName: { eq: "own" } })',
      ];
      const own = await followAll(app, outsider.key, calls);
      const victims = await followAll(app, victim.key, calls);
      await changeJob(app, victim.key, `${CANARY_MARKER}-2`);
      // Control: the same subscriptions send the events to principals that may see them.
      const eventCount = () => victims.flatMap(({ events }) => events).length;
      await eventually(() => expect(eventCount()).toBeGreaterThan(3));
      await changeJob(app, outsider.key, "own-1");
      await eventually(() => expect(own.at(-1)?.events).toHaveLength(1));
      const seen = own.flatMap(({ events }) => events);
      expect(seen.filter(({ job }) => job?.markingNumber !== "own-1")).toEqual([]);
    });
  });

  describe("changing", () => {
    it.each(mutationFields.map((field) => [field.name, field] as const))(
      "%s neither changes nor returns the victim's data for an outsider",
      async (_name, field) => {
        const rows = await snapshotRows(app, victim);
        for (const principal of outsiders)
          for await (const { call, result } of resultsOf(app, principal, field, attempts)) {
            // A bulk result repeats the requested Marking Number.
            const returned = result.replaceAll(/"markingNumber":"[^"]*"/g, "");
            const revealed = secrets.filter((text) => returned.includes(text) && !call.includes(text));
            expect(revealed).toEqual([]);
          }
        expect(await snapshotRows(app, victim)).toEqual(rows);
      },
      120_000,
    );

    // evidence: graphql-isolation-control-calls-succeed
    it("changes the data for principals that may change it, so the calls are valid", async () => {
      // A sample event needs an endpoint.
      const input = '{ url: "http://127.0.0.1:9/" }';
      await queryData(
        app,
        `mutation { createWebhookEndpoint(input: ${input}) { userErrors { code } } }`,
        testKey,
      );
      const ineffective: string[] = [];
      // Mutations that end or remove something run last. A run prevents a reset.
      const last = [
        "removeSingleSignOn",
        "resetTestData",
        "runTestJob",
        "reassignTestJob",
        "cancelTestRun",
        "revokeInvitation",
        "deleteView",
        "resetMemberTwoFactor",
        "setMemberRole",
        "removeMember",
        "suspendOrganization",
        "restoreOrganization",
        "deleteWebhookEndpoint",
        "rotateApiKey",
        "revokeApiKey",
        "allowJobImport",
      ];
      const inOrder = mutationFields.toSorted(
        (one, other) => last.indexOf(one.name) - last.indexOf(other.name),
      );
      for (const field of inOrder) {
        const results = await callUntilEffective(field);
        if (results.length > 0) ineffective.push(`${field.name}: ${results.join("\n")}`);
      }
      expect(ineffective).toEqual([]);
    });
  });
});
