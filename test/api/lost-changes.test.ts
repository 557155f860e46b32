/** Operations that read a row, decide in Node and write it back: two at the same time lose no change. */
import { randomBytes } from "node:crypto";
import { beforeAll, expect, it } from "vitest";
import { AppError, type ErrorCode } from "../../src/core/errors.ts";
import { fromTypedId, toTypedId } from "../../src/core/ids.ts";
import { type OrganizationPrincipal, systemActor } from "../../src/core/principal.ts";
import { raw, sql, type Sql } from "../../src/core/postgres/sql.ts";
import {
  newAccountRequest,
  openAccountRequestFixture,
  type AccountRequestFixture,
} from "../support/accounts/account-request.fixture.ts";
import { createSignedInUser, type SignedInTestUser } from "../support/accounts/signed-in-user.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import { expectData } from "../support/app/assertions.ts";
import { patchJob } from "../support/app/job-client.ts";
import { openTransaction, waitForBlockedSessions } from "../support/database/blocked-sessions.ts";
import { createEndpointFor, endpointUuid } from "../support/webhooks/endpoint.fixture.ts";

let rig: AccountRequestFixture;
let app: AccountRequestFixture["app"];
let operator: SignedInTestUser;
let agent: TestOrganization;

beforeAll(async () => {
  rig = await openAccountRequestFixture();
  ({ app, operator, agent } = rig);
});

interface Conflict {
  table: string;
  /** Of a row that both changes write or lock. */
  id: string;
  changes: readonly [() => Promise<unknown>, () => Promise<unknown>];
  /** One row, whose members are `expected`. */
  state: Sql;
  expected: object;
}

/** If the other change came first. */
const allowing = (code: ErrorCode) => (error: unknown) => {
  if (!(error instanceof AppError) || error.code !== code) throw error;
};

const source = { actor: systemActor, ipAddress: null, requestId: null };

const ofEndpoint = async (
  change: (id: string, owner: OrganizationPrincipal) => Pick<Conflict, "changes" | "expected">,
): Promise<Conflict> => {
  const owner = { organizationId: agent.id, organizationType: "agent", actor: systemActor } as const;
  const id = await createEndpointFor(app.webhooks, owner);
  const uuid = endpointUuid(id);
  const state = sql`select description, status, version, max_in_flight, json_array_length(secrets::json) as secrets,
    retried_at is not null as retried from webhook_endpoint where id = ${uuid}`;
  return { table: "webhook_endpoint", id: uuid, state, ...change(id, owner) };
};

const ofKey = async (
  change: (id: string) => Pick<Conflict, "changes" | "expected"> & Partial<Conflict>,
): Promise<Conflict> => {
  const { key } = await app.keys.create({ organizationId: agent.id, name: "k", createdBy: "test" });
  const state = sql`select rate_limits, revoked_at is not null as revoked from api_key where id = ${key.id}`;
  return { table: "api_key", id: key.id, state, ...change(key.id) };
};

const invite = async () => {
  const owner = await createSignedInUser(app, agent.id);
  const email = `${randomBytes(6).toString("hex")}@test.example`;
  const admin = { organizationId: agent.id, ...source, actor: { type: "user", id: owner.id } } as const;
  const { id } = await app.membership.invitations.invite(admin, { email, role: "viewer" });
  return { id, email, admin };
};

const conflicts: Record<string, () => Promise<Conflict>> = {
  "fields of a job": async () => {
    const [number = ""] = await app.createJobs(agent, [{}]);
    const [job] = await app.database.query<{ id: string }>(
      sql`select id from job where marking_number = ${number}`,
    );
    return {
      table: "job",
      id: job?.id ?? "",
      changes: [
        () => patchJob(app, agent, number, { weight: 5 }),
        () => patchJob(app, agent, number, { labels: "x" }),
      ],
      state: sql`select weight, labels, version from job where marking_number = ${number}`,
      expected: { weight: 5, labels: "x", version: 3 },
    };
  },
  "settings of an endpoint": () =>
    ofEndpoint((id, owner) => ({
      changes: [
        () => app.webhooks.endpoints.update(owner, id, { description: "new" }),
        () => app.webhooks.endpoints.update(owner, id, { maxInFlight: 3 }),
      ],
      expected: { description: "new", max_in_flight: 3 },
    })),
  "a pause of an endpoint and its settings": () =>
    ofEndpoint((id, owner) => ({
      changes: [
        () => app.webhooks.endpoints.pause(owner, id),
        () => app.webhooks.endpoints.update(owner, id, { maxInFlight: 3 }),
      ],
      expected: { status: "paused", max_in_flight: 3 },
    })),
  "two secrets of an endpoint": () =>
    ofEndpoint((id, owner) => ({
      changes: [
        () => app.webhooks.endpoints.rotateSecret(owner, id),
        () => app.webhooks.endpoints.rotateSecret(owner, id),
      ],
      expected: { secrets: 3, version: 3 },
    })),
  "a retry of an endpoint with an Idempotency-Key and its settings": () =>
    ofEndpoint((id, owner) => ({
      changes: [
        () => app.webhooks.endpoints.update(owner, id, { maxInFlight: 3 }),
        async () => {
          const request = { key: agent.key, method: "POST", headers: { "idempotency-key": id } };
          return expectData(await app.call(`/v1/webhook-endpoints/${id}/retry`, request));
        },
      ],
      // Workers read the endpoint again only at another version.
      expected: { max_in_flight: 3, retried: true, version: 3 },
    })),
  "two rate limits of a key": () =>
    ofKey((id) => ({
      changes: [
        () => app.keys.setRateLimits(id, { read: null }),
        () => app.keys.setRateLimits(id, { write: null }),
      ],
      expected: { rate_limits: { read: null, write: null } },
    })),
  "a rotation and a revocation of a key": () =>
    ofKey((id) => ({
      changes: [
        () => app.keys.rotate(id, 24, "test").catch(allowing("ConflictException")),
        () => app.keys.revoke(id),
      ],
      expected: { revoked: true },
    })),
  "a suspension and a rate limit of a key": async () => {
    const { id: organizationId } = await app.createOrganization("agent");
    const { key } = await app.keys.create({ organizationId, name: "k", createdBy: "test" });
    return {
      table: "access_revision",
      id: "true",
      changes: [
        () => app.membership.organizationChanges.suspend(source, toTypedId("org", organizationId), null),
        () => app.keys.setRateLimits(key.id, { read: null }),
      ],
      state: sql`select suspended_at is not null as suspended, rate_limits from api_key
        join organization on organization.id = organization_id where api_key.id = ${key.id}`,
      expected: { suspended: true, rate_limits: { read: null } },
    };
  },
  "the name and the role of a user": async () => {
    const owner = await createSignedInUser(app, agent.id);
    const member = await createSignedInUser(app, agent.id, "viewer");
    const id = toTypedId("usr", member.id);
    return {
      table: "user_account",
      id: member.id,
      changes: [
        () => member.client.send("PATCH", "/auth/profile", { name: "New Name" }),
        () => owner.queryData(`mutation { setMemberRole(id: "${id}", role: OWNER) { userErrors { code } } }`),
      ],
      state: sql`select name, role from user_account where id = ${member.id}`,
      expected: { name: "New Name", role: "owner" },
    };
  },
  "two new views of a user": async () => {
    const user = await createSignedInUser(app, agent.id);
    const save = (name: string) => () =>
      user.queryData(`mutation { saveView(name: "${name}", query: "q") { userErrors { code } } }`);
    return {
      table: "user_account",
      id: user.id,
      changes: [save("one"), save("two")],
      state: sql`select array_agg(name order by name) as names from saved_view where user_id = ${user.id}`,
      expected: { names: ["one", "two"] },
    };
  },
  "an approval and a rejection of an account request": async () => {
    const { id } = await rig.submitAndWait(newAccountRequest());
    const decide = (field: string, args: object) => () => rig.decide(field, { id, ...args });
    return {
      table: "account_request",
      id: fromTypedId("arq", id) ?? "",
      changes: [decide("approveAccountRequest", {}), decide("rejectAccountRequest", { reason: "No" })],
      state: sql`select count(*)::int as decisions from audit_entry where subject = ${id}
        and action in ('account_request.approved', 'account_request.rejected')`,
      expected: { decisions: 1 },
    };
  },
  "a resent and a revoked invitation": async () => {
    const { id, admin } = await invite();
    return {
      table: "invitation",
      id,
      changes: [
        () =>
          app.membership.invitations.resend(admin, toTypedId("inv", id)).catch(allowing("NotFoundException")),
        () => app.membership.invitations.revoke(admin, toTypedId("inv", id)),
      ],
      state: sql`select (select count(*)::int from invitation where id = ${id}) as invitations,
        (select count(*)::int from email_token where subject_id = ${id}) as links`,
      expected: { invitations: 0, links: 0 },
    };
  },
  "two orders to send a mail again": async () => {
    const { email } = await invite();
    const [{ id } = { id: "" }] = await app.database.query<{ id: string }>(
      sql`update mail set status = 'failed' where recipient = ${email} returning id`,
    );
    const resend = () =>
      operator.queryData(`mutation { resendMail(id: "${toTypedId("eml", id)}") { userErrors { code } } }`);
    return {
      table: "mail",
      id,
      changes: [resend, resend],
      state: sql`select count(*)::int as sent from audit_entry where subject = ${toTypedId("eml", id)}`,
      expected: { sent: 1 },
    };
  },
};

it.each(Object.keys(conflicts))("%s", async (kind) => {
  const { table, id, changes, state, expected } = await (conflicts[kind] as () => Promise<Conflict>)();
  // Both changes have read what they read without a lock, and wait to write.
  const held = await openTransaction(
    app.database,
    sql`select from ${raw(table)} where id = ${id} for update`,
  );
  const running = changes.map((change) => change());
  try {
    await waitForBlockedSessions(app.database, 2);
  } finally {
    await held.commit();
  }
  await Promise.all(running);
  expect(await app.database.query(state)).toMatchObject([expected]);
});
