/**
 * Isolation of organisations: no field, filter, order, aggregate, ID, cursor, mutation or subscription reveals or changes
 * another's data. The documents are generated from the schema, so new fields are covered automatically.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sql, type Sql } from "../../src/platform/postgres/sql.ts";
import { createSignedInUser, type SignedInTestUser } from "../support/accounts/signed-in-user.ts";
import { startTestApp, type TestOrganization, type TestApp } from "../support/app/app.fixture.ts";
import { eventually } from "../support/eventually.ts";
import { graphql, type GraphqlResponse } from "../support/graphql/client.ts";
import type { ArgumentLiterals } from "../support/graphql/document-generator.ts";
import {
  answersTo,
  changeJob,
  createAttempts,
  followAll,
  mutationFields,
  mutationsOf,
  type Principal,
  queryFields,
  subscriptionCallsOf,
} from "../support/graphql/known-values.ts";
import {
  canaryDeprecation,
  createTenantCanary,
  CANARY_MARKER,
  snapshotRows,
  type TenantCanary,
} from "../support/graphql/tenant-canary.ts";

let app: TestApp;
let victim: TenantCanary;
let outsider: TestOrganization;
let outsidersOwner: SignedInTestUser;
let operator: SignedInTestUser;
/** Texts that no response to the outsider may contain. */
let secrets: string[];
let attempts: ArgumentLiterals;

let outsiders: Principal[];
/** Principals that may see some of the victim's data. */
let entitled: Principal[];

beforeAll(async () => {
  // Without a worker, which would change deliveries and e-mails in the background.
  const overrides = { deprecations: [canaryDeprecation] };
  app = await startTestApp({ WEBHOOK_ALLOW_PRIVATE: "on", WAYMARK_ROLE: "api" }, overrides);
  operator = await createSignedInUser(app, null);
  outsider = await app.createOrganization("agent");
  outsidersOwner = await createSignedInUser(app, outsider.id);
  await app.createJobs(outsider, [{ markingNumber: "own-1", patch: { recipient_name: "own" } }]);
  victim = await createTenantCanary(app, operator);
  const { headers } = outsidersOwner;
  outsiders = [{ key: outsider.key }, { headers }];
  const testSide = { name: "test", createdBy: "test", testSide: "agent" } as const;
  const { text: testKey } = await app.keys.create({ organizationId: victim.id, ...testSide });
  entitled = [
    { key: victim.key },
    { key: testKey },
    { headers: victim.owner.headers },
    { headers: operator.headers },
  ];
  ({ forbiddenTexts: secrets } = victim);
  attempts = createAttempts({ ...victim, texts: [`${CANARY_MARKER}-1`, CANARY_MARKER] });
}, 60_000);

afterAll(() => app[Symbol.asyncDispose]());

describe("reading", () => {
  it.each(queryFields.map((field) => [field.name, field] as const))(
    "%s returns nothing of the victim's data to a outsider, with any arguments",
    async (_name, field) => {
      const responses = await Promise.all(
        outsiders.map((principal) => answersTo(app, principal, field, attempts)),
      );
      for (const response of responses.flat()) {
        for (const secret of secrets) expect(response).not.toContain(secret);
        // One organisation is visible: the caller's own. The victim's principals see three.
        const counts = [...response.matchAll(/"(?:totalCount|total|count)":(\d+)/g)].map(([, count]) =>
          Number(count),
        );
        expect(Math.max(0, ...counts)).toBeLessThanOrEqual(1);
      }
      // Control: the same documents return the values to principals that may see them.
      const visible = await Promise.all(
        entitled.map((principal) => answersTo(app, principal, field, attempts)),
      );
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

describe("subscribing", () => {
  // evidence: graphql-isolation-subscriptions
  it("sends a outsider no change of the victim's jobs, with any filter", async () => {
    // When the last subscription has received its event, all others have too.
    const calls = [...subscriptionCallsOf(attempts), 'jobChanged(filter: { recipientName: { eq: "own" } })'];
    const own = await followAll(app, outsider.key, calls);
    const victims = await followAll(app, victim.key, calls);
    await changeJob(app, victim.key, `${CANARY_MARKER}-2`);
    // Control: the same subscriptions send the events to principals that may see them.
    const eventCount = () => victims.flatMap(({ events }) => events).length;
    await eventually(() => expect(eventCount()).toBeGreaterThan(3));
    await changeJob(app, outsider.key, "own-1");
    await eventually(() => expect(own.at(-1)?.events).toHaveLength(1));
    const seen = JSON.stringify(own.map(({ events }) => events));
    for (const secret of secrets) expect(seen).not.toContain(secret);
  }, 60_000);
});

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
  // Makes the job that the calls name a test job.
  runTestJob: sql`update job set agent_id = (
    select id from organization where type = 'agent' and live_organization_id = (
      select agent_id from job where marking_number = ${`${CANARY_MARKER}-2`}
    )
  ) where marking_number = ${`${CANARY_MARKER}-1`}`,
  cancelTestRun: sql`insert into test_run (job_id, agent_id, marking_number, steps, interval_ms, due_at)
    select id, agent_id, marking_number, '{delivered}', 1000, now() from job where marking_number = ${`${CANARY_MARKER}-1`}
    on conflict do nothing`,
  restoreOrganization: sql`update organization set suspended_at = now() where type = 'contractor'`,
};

describe("changing", () => {
  it.each(mutationFields.map((field) => [field.name, field] as const))(
    "%s neither changes nor returns the victim's data for a outsider",
    async (_name, field) => {
      const rows = await snapshotRows(app, victim);
      for (const call of mutationsOf(field, attempts)) {
        for (const principal of outsiders) {
          const { data } = await graphql(app, call, principal);
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
    // Mutations that end or remove something run last. A run prevents a reset.
    const last = [
      "resetTestData",
      "runTestJob",
      "cancelTestRun",
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
    const inOrder = mutationFields.toSorted(
      (one, other) => last.indexOf(one.name) - last.indexOf(other.name),
    );
    for (const field of inOrder) {
      const responses: GraphqlResponse[] = [];
      for (const principal of entitled) {
        const prepare = before[field.name];
        if (prepare) await app.database.query(prepare);
        responses.push(
          ...(await Promise.all(mutationsOf(field, attempts).map((call) => graphql(app, call, principal)))),
        );
      }
      const worked = responses.some(({ text }) => text.includes('"userErrors":[]'));
      if (!worked) ineffective.push(`${field.name}: ${responses.map(({ text }) => text).join("\n")}`);
    }
    expect(ineffective).toEqual([]);
  }, 60_000);
});
