/** An organisation with data of every kind that contains a marker, to detect leaks to other organisations. */
import { expect } from "vitest";
import { toTypedId, type IdPrefix } from "../../../src/core/ids.ts";
import { raw, sql } from "../../../src/core/postgres/sql.ts";
import { VALID_PASSWORD } from "../accounts/session-client.ts";
import { signInUser, type SignedInTestUser } from "../accounts/signed-in-user.ts";
import { queryData } from "./client.ts";
import type { TestOrganization, TestApp } from "../app/app.fixture.ts";
import { eventually } from "../eventually.ts";

export const CANARY_MARKER = "zq-victim";

export interface TenantCanary extends TestOrganization {
  contractor: TestOrganization;
  owner: SignedInTestUser;
  member: SignedInTestUser;
  /** Typed IDs of all its objects. */
  ids: string[];
  cursors: string[];
  /** Texts that no response to another organisation may contain. */
  forbiddenTexts: string[];
}

export async function createTenantCanary(app: TestApp, operator: SignedInTestUser): Promise<TenantCanary> {
  const canary = await app.createOrganization("agent", { name: `${CANARY_MARKER} key` });
  const contractor = await app.createOrganization("contractor");
  const owner = await createMarkedUser(app, canary.id, "owner");
  const member = await createMarkedUser(app, canary.id, "member");
  await makeJobs(app, canary, contractor);
  await makeWebhooks(app, canary);
  await makeAccounts(app, owner);
  await logRequests(app, canary);
  const ids = await collectIds(app, canary, contractor);
  const cursors = await collectCursors(app, { canary, owner, operator });
  const forbiddenTexts = [CANARY_MARKER, canary.name, contractor.name, ...ids];
  return { ...canary, contractor, owner, member, ids, cursors, forbiddenTexts };
}

async function createMarkedUser(
  app: TestApp,
  organizationId: string,
  role: "owner" | "member",
): Promise<SignedInTestUser> {
  const user = {
    email: `${CANARY_MARKER}-${role}@test.example`,
    name: `${CANARY_MARKER} ${role}`,
    password: VALID_PASSWORD,
  };
  const id = await app.database.transaction((tx) =>
    app.accounts.users.createUser(tx, { ...user, organizationId, role }),
  );
  return await signInUser(app, { ...user, id });
}

async function makeJobs(app: TestApp, canary: TestOrganization, contractor: TestOrganization): Promise<void> {
  await app.createJobs(
    canary,
    [1, 2, 3].map((n) => ({
      markingNumber: `${CANARY_MARKER}-${n}`,
      contractor,
      patch: {
        batch_number: `${CANARY_MARKER} batch`,
        group_code: `${CANARY_MARKER} group`,
        recipient_name: `${CANARY_MARKER} recipient ${n}`,
        recipient_contact: `${CANARY_MARKER} contact`,
        delivery_address: `${CANARY_MARKER} address`,
        postal_code: `${CANARY_MARKER} code`,
        instructions: `${CANARY_MARKER} instructions`,
        labels: `${CANARY_MARKER} labels`,
        failure_reason: `${CANARY_MARKER} reason`,
        scheduled_date: "2031-05-06",
        weight: 31.5,
        piece_quantity: 77,
      },
      providerStatus: `${CANARY_MARKER} carrier`,
    })),
  );
}

async function makeWebhooks(app: TestApp, { key }: TestOrganization): Promise<void> {
  const { createWebhookEndpoint } = await queryData(
    app,
    `mutation { createWebhookEndpoint(input: { url: "http://127.0.0.1:9/${CANARY_MARKER}", description: "${CANARY_MARKER}" }) {
      endpoint { id } userErrors { message } } }`,
    { key },
  );
  const id: string = createWebhookEndpoint.endpoint.id;
  // Creates a delivery with an attempt, even though the connection is refused.
  await queryData(app, `mutation { sendTestEvent(endpointId: "${id}") { delivery { id } } }`, { key });
  await queryData(
    app,
    `mutation { updateJob(input: { markingNumber: "${CANARY_MARKER}-1", patch: { labels: "${CANARY_MARKER} new" } }) { job { id } } }`,
    { key },
  );
  await app.database.query(sql`update webhook_endpoint set failing_since = now() - interval '1 hour'`);
}

/** Creates invitations with their mails and audit entries, saved views and account requests. */
async function makeAccounts(app: TestApp, owner: SignedInTestUser): Promise<void> {
  for (const n of [1, 2])
    await owner.queryData(
      `mutation { inviteMember(input: { email: "${CANARY_MARKER}-${n}@invited.example" }) { userErrors { code } } }`,
    );
  await owner.queryData(
    `mutation { saveView(name: "${CANARY_MARKER} view", query: "?q=${CANARY_MARKER}") { userErrors { code } } }`,
  );
  for (const n of [1, 2]) {
    const body = JSON.stringify({
      email: `${CANARY_MARKER}-${n}@request.example`,
      organization_name: `${CANARY_MARKER} organisation ${n}`,
      organization_type: "agent",
      message: CANARY_MARKER,
    });
    const response = await app.request("/auth/account-requests", {
      method: "POST",
      body,
      headers: { origin: app.url },
    });
    expect(response.status).toBe(202);
  }
  await eventually(async () => {
    const requests = await app.database.query(sql`select 1 from account_request`);
    expect(requests).toHaveLength(2);
  });
}

/** Logs failed requests with their bodies. */
async function logRequests(app: TestApp, { key }: TestOrganization): Promise<void> {
  const patch = { method: "PATCH", body: JSON.stringify({ weight: CANARY_MARKER }), key };
  await app.request(`/v1/jobs/by-marking/${CANARY_MARKER}-1`, patch);
  await app.request(`/v1/jobs/by-marking/${CANARY_MARKER}-2`, patch);
  await eventually(async () => {
    const { requestLog } = await queryData(app, "{ requestLog(status: REFUSED) { nodes { path } } }", {
      key,
    });
    expect(requestLog.nodes.length).toBeGreaterThan(1);
  });
}

async function collectIds(
  app: TestApp,
  canary: TestOrganization,
  contractor: TestOrganization,
): Promise<string[]> {
  const typed = async (prefix: IdPrefix, table: string, where = "organization_id = $1") => {
    const [before = "", after = ""] = where.split("$1");
    const condition = where.includes("$1") ? sql`${raw(before)}${canary.id}::uuid${raw(after)}` : raw(where);
    const rows = await app.database.query<{ id: string }>(
      sql`select id from ${raw(table)} where ${condition} order by id`,
    );
    if (rows.length === 0) throw new Error(`The canary has no rows in ${table}`);
    return rows.map(({ id }) => toTypedId(prefix, id));
  };
  const ofCanary = "in (select id from webhook_endpoint where organization_id = $1)";
  return [
    toTypedId("org", canary.id),
    toTypedId("org", contractor.id),
    ...(await typed("job", "job", "agent_id = $1")),
    ...(await typed("evt", "job_event", "agent_id = $1")),
    ...(await typed("whe", "webhook_endpoint")),
    ...(await typed("key", "api_key")),
    ...(await typed("dlv", "webhook_delivery", `endpoint_id ${ofCanary}`)),
    ...(await typed(
      "att",
      "webhook_attempt",
      `delivery_id in (select id from webhook_delivery where endpoint_id ${ofCanary})`,
    )),
    // The owner comes before the member.
    ...(await typed("usr", "user_account")),
    ...(await typed("inv", "invitation")),
    ...(await typed("aud", "audit_entry")),
    ...(await typed(
      "viw",
      "saved_view",
      "user_id in (select id from user_account where organization_id = $1)",
    )),
    // Only operators can see these.
    ...(await typed("arq", "account_request", "true")),
    ...(await typed("eml", "mail", "true")),
  ];
}

interface CanaryPrincipals {
  canary: TestOrganization;
  owner: SignedInTestUser;
  operator: SignedInTestUser;
}

async function collectCursors(
  app: TestApp,
  { canary, owner, operator }: CanaryPrincipals,
): Promise<string[]> {
  const pageSelection = "{ pageInfo { endCursor } }";
  const byKey = await queryData(
    app,
    `{ byCreation: jobs(first: 1) ${pageSelection}
       byNumber: jobs(first: 1, orderBy: { field: MARKING_NUMBER, direction: ASC }) ${pageSelection}
       events(first: 1) ${pageSelection} webhookDeliveries(first: 1) ${pageSelection} requestLog(first: 1) ${pageSelection} }`,
    { key: canary.key },
  );
  const byOwner = await owner.queryData(`{ auditLog(first: 1) ${pageSelection} }`);
  const byOperator = await operator.queryData(
    `{ organizations(first: 1) ${pageSelection} accountRequests(first: 1) ${pageSelection} mailOutbox(first: 1) ${pageSelection} }`,
  );
  return Object.values({ ...byKey, ...byOwner, ...byOperator } as Record<
    string,
    { pageInfo: { endCursor: string } }
  >).map(({ pageInfo }) => pageInfo.endCursor);
}

/** Returns all rows of the canary that a principal could change, to compare before and after. */
export async function snapshotRows(app: TestApp, { id, contractor }: TenantCanary): Promise<unknown[]> {
  const userIds = sql`(select id from user_account where organization_id = ${id}::uuid)`;
  return await Promise.all(
    [
      sql`select to_jsonb(job) from job where agent_id = ${id} order by id`,
      sql`select to_jsonb(endpoint) from webhook_endpoint endpoint where organization_id = ${id} order by id`,
      // Reads also update the time of last use.
      sql`select to_jsonb(key) - 'last_used_at' from api_key key where organization_id = ${id} order by id`,
      sql`select to_jsonb(delivery) from webhook_delivery delivery where endpoint_id in (
        select id from webhook_endpoint where organization_id = ${id}) order by id`,
      sql`select to_jsonb(organization) from organization where id in (${id}, ${contractor.id}) order by id`,
      sql`select to_jsonb(person) - 'last_seen_at' from user_account person where organization_id = ${id} order by id`,
      sql`select to_jsonb(session) - 'last_seen_at' - 'ip_address' from user_session session where user_id in ${userIds} order by id`,
      sql`select to_jsonb(view) from saved_view view where user_id in ${userIds} order by id`,
      sql`select to_jsonb(invitation) from invitation where organization_id = ${id} order by id`,
      sql`select to_jsonb(entry) from audit_entry entry where organization_id = ${id} order by id`,
      sql`select to_jsonb(link) from email_token link where position(${CANARY_MARKER} in email) > 0 order by token_hash`,
      sql`select to_jsonb(request) from account_request request order by id`,
      sql`select to_jsonb(note) from account_request_note note order by id`,
      sql`select to_jsonb(mail) from mail where position(${CANARY_MARKER} in recipient) > 0 order by id`,
    ].map((statement) => app.database.query(statement)),
  );
}
