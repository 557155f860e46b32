/** An organisation with data of every kind that contains a marker, to detect leaks to other organisations. */
import { expect } from "vitest";
import { toTypedId } from "../../../src/core/ids.ts";
import { raw, sql } from "../../../src/core/postgres/sql.ts";
import { VALID_PASSWORD } from "../accounts/session-client.ts";
import { signInUser, type SignedInTestUser } from "../accounts/signed-in-user.ts";
import { queryData } from "./client.ts";
import type { TestOrganization, TestApp } from "../app/app.fixture.ts";
import { ownRowsOf, typedIdsOf } from "../app/organization-snapshot.ts";
import { eventually } from "../eventually.ts";

export const CANARY_MARKER = "zq-victim";

export type TenantCanary = Awaited<ReturnType<typeof createTenantCanary>>;

export async function createTenantCanary(app: TestApp, operator: SignedInTestUser) {
  const canary = await app.createOrganization("agent", { name: `${CANARY_MARKER} key` });
  const contractor = await app.createOrganization("contractor");
  const owner = await createMarkedUser(app, canary.id, "owner");
  const member = await createMarkedUser(app, canary.id, "dispatcher");
  await createMarkedJobs(app, canary, { marker: CANARY_MARKER, contractor });
  await makeWebhooks(app, canary);
  await makeAccounts(app, owner);
  await logRequests(app, canary);
  const ids = await collectIds(app, canary, contractor);
  const cursors = await collectCursors(app, { canary, owner, operator });
  /** Texts that no response to another organisation may contain. */
  const forbiddenTexts = [CANARY_MARKER, canary.name, contractor.name, ...ids];
  return { ...canary, contractor, owner, member, ids, cursors, forbiddenTexts };
}

async function createMarkedUser(
  app: TestApp,
  organizationId: string,
  role: "owner" | "dispatcher",
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

/** Creates three jobs whose texts contain the marker. Returns their Marking Numbers. */
export function createMarkedJobs(
  app: TestApp,
  agent: TestOrganization,
  { marker, contractor }: { marker: string; contractor?: TestOrganization },
): Promise<string[]> {
  const patch = {
    batch_number: `${marker} batch`,
    group_code: `${marker} group`,
    recipient_name: `${marker} recipient`,
    recipient_contact: `${marker} contact`,
    delivery_address: `${marker} address`,
    postal_code: `${marker} code`,
    instructions: `${marker} instructions`,
    labels: `${marker} labels`,
    failure_reason: `${marker} reason`,
    scheduled_date: "2021-05-06",
    weight: 31.5,
    piece_quantity: 77,
  };
  const job = { ...(contractor && { contractor }), patch, providerStatus: `${marker} carrier` };
  return app.createJobs(
    agent,
    [1, 2, 3].map((n) => ({ ...job, markingNumber: `${marker}-${n}` })),
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

/** Creates invitations with their mails and audit entries, saved views, notifications and account requests. */
async function makeAccounts(app: TestApp, owner: SignedInTestUser): Promise<void> {
  for (const n of [1, 2])
    await owner.queryData(
      `mutation { inviteMember(input: { email: "${CANARY_MARKER}-${n}@invited.example" }) { userErrors { code } } }`,
    );
  await owner.queryData(
    `mutation { saveView(name: "${CANARY_MARKER} view", query: "?q=${CANARY_MARKER}") { userErrors { code } } }`,
  );
  await app.database.query(sql`
    insert into sso_connection (organization_id, issuer, client_id, client_secret, domain, verification_token)
    select organization_id, 'https://login.example', ${CANARY_MARKER}, 'sealed', 'canary.example', 'token'
    from user_account where id = ${owner.id}::uuid`);
  await app.database.query(sql`
    insert into notification_settings (user_id, webhook_failure) values (${owner.id}::uuid, ${CANARY_MARKER})`);
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
  const own = await typedIdsOf(app.database, canary.id, {
    job: "job",
    evt: "job_event",
    whe: "webhook_endpoint",
    key: "api_key",
    dlv: "webhook_delivery",
    att: "webhook_attempt",
    // The owner comes before the member.
    usr: "user_account",
    inv: "invitation",
    aud: "audit_entry",
    viw: "saved_view",
  });
  // Only operators can see these.
  const [requests, mails] = await Promise.all(
    ["account_request", "mail"].map((table) =>
      app.database.query<{ id: string }>(sql`select id from ${raw(table)} order by id`),
    ),
  );
  if (!requests?.length || !mails?.length) throw new Error("There are no account requests, or no mails");
  return [
    toTypedId("org", canary.id),
    toTypedId("org", contractor.id),
    ...own,
    ...requests.map(({ id }) => toTypedId("arq", id)),
    ...mails.map(({ id }) => toTypedId("eml", id)),
  ];
}

async function collectCursors(
  app: TestApp,
  { canary, owner, operator }: Record<"owner" | "operator", SignedInTestUser> & { canary: TestOrganization },
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
  const own = await ownRowsOf(app.database, id);
  const others = [
    sql`select to_jsonb(organization) from organization where id = ${contractor.id}`,
    sql`select to_jsonb(session) - 'last_seen_at' - 'ip_address' from user_session session
      where user_id in (select id from user_account where organization_id = ${id}::uuid) order by id`,
    sql`select to_jsonb(link) from email_token link where position(${CANARY_MARKER} in email) > 0 order by token_hash`,
    sql`select to_jsonb(request) from account_request request order by id`,
    sql`select to_jsonb(note) from account_request_note note order by id`,
    sql`select to_jsonb(mail) from mail where position(${CANARY_MARKER} in recipient) > 0 order by id`,
  ];
  const rows = await Promise.all(others.map((statement) => app.database.query(statement)));
  return [own.map((row) => JSON.stringify(row)).toSorted(), ...rows];
}
