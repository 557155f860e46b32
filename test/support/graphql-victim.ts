/** An organisation with something of everything, marked so that a trace of it in a stranger's answer is known at once. */
import { vi, expect } from "vitest";
import { toTypedId, type IdPrefix } from "../../src/platform/ids.ts";
import { raw, sql } from "../../src/platform/sql.ts";
import { GOOD_PASSWORD } from "./account.ts";
import { signedIn, type SignedIn } from "./graphql-person.ts";
import { ask } from "./graphql.ts";
import type { Partner, TestApp } from "./start-app.ts";

export const MARK = "zq-victim";

export interface Victim extends Partner {
  contractor: Partner;
  owner: SignedIn;
  member: SignedIn;
  /** Every id that belongs to it, typed. */
  ids: string[];
  cursors: string[];
  /** What no answer to a stranger may hold. */
  secrets: string[];
}

export async function createVictim(app: TestApp, operator: SignedIn): Promise<Victim> {
  const victim = await app.partner("agent", { name: `${MARK} key` });
  const contractor = await app.partner("contractor");
  const owner = await markedPerson(app, victim.id, "owner");
  const member = await markedPerson(app, victim.id, "member");
  await makeJobs(app, victim, contractor);
  await makeWebhooks(app, victim);
  await makeAccounts(app, owner);
  await logRequests(app, victim);
  const ids = await idsOf(app, victim, contractor);
  const cursors = await cursorsOf(app, { victim, owner, operator });
  const secrets = [MARK, victim.name, contractor.name, ...ids];
  return { ...victim, contractor, owner, member, ids, cursors, secrets };
}

async function markedPerson(
  app: TestApp,
  organizationId: string,
  role: "owner" | "member",
): Promise<SignedIn> {
  const person = { email: `${MARK}-${role}@test.example`, name: `${MARK} ${role}`, password: GOOD_PASSWORD };
  const id = await app.database.transaction((tx) =>
    app.accounts.createUser(tx, { ...person, organizationId, role }),
  );
  return await signedIn(app, { ...person, id });
}

async function makeJobs(app: TestApp, victim: Partner, contractor: Partner): Promise<void> {
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
}

async function makeWebhooks(app: TestApp, { key }: Partner): Promise<void> {
  const made = await ask(
    app,
    `mutation { createWebhookEndpoint(input: { url: "http://127.0.0.1:9/${MARK}", description: "${MARK}" }) {
      endpoint { id } userErrors { message } } }`,
    { key },
  );
  const id: string = made.createWebhookEndpoint.endpoint.id;
  // A delivery with an attempt, whether or not anybody listens there.
  await ask(app, `mutation { sendTestEvent(endpointId: "${id}") { delivery { id } } }`, { key });
  await ask(
    app,
    `mutation { updateJob(input: { markingNumber: "${MARK}-1", patch: { labels: "${MARK} new" } }) { job { id } } }`,
    { key },
  );
  await app.database.query(sql`update webhook_endpoint set failing_since = now() - interval '1 hour'`);
}

/** Invitations with their mails and the log of it, kept views, and a request for an account. */
async function makeAccounts(app: TestApp, owner: SignedIn): Promise<void> {
  for (const n of [1, 2])
    await owner.ask(
      `mutation { inviteMember(input: { email: "${MARK}-${n}@invited.example" }) { userErrors { code } } }`,
    );
  await owner.ask(`mutation { saveView(name: "${MARK} view", query: "?q=${MARK}") { userErrors { code } } }`);
  for (const n of [1, 2]) {
    const body = JSON.stringify({
      email: `${MARK}-${n}@request.example`,
      organization_name: `${MARK} organisation ${n}`,
      organization_type: "agent",
      message: MARK,
    });
    const response = await app.request("/auth/account-requests", {
      method: "POST",
      body,
      headers: { origin: app.url },
    });
    expect(response.status).toBe(202);
  }
  await vi.waitFor(async () => {
    const requests = await app.database.query(sql`select 1 from account_request`);
    expect(requests).toHaveLength(2);
  });
}

/** A request that failed, with its bodies. */
async function logRequests(app: TestApp, { key }: Partner): Promise<void> {
  const patch = { method: "PATCH", body: JSON.stringify({ weight: MARK }), key };
  await app.request(`/v1/jobs/by-marking/${MARK}-1`, patch);
  await app.request(`/v1/jobs/by-marking/${MARK}-2`, patch);
  await vi.waitFor(async () => {
    const { requestLog } = await ask(app, "{ requestLog(status: REFUSED) { nodes { path } } }", { key });
    expect(requestLog.nodes.length).toBeGreaterThan(1);
  }, 10_000);
}

async function idsOf(app: TestApp, victim: Partner, contractor: Partner): Promise<string[]> {
  const typed = async (prefix: IdPrefix, table: string, where = "organization_id = $1") => {
    const [before = "", after = ""] = where.split("$1");
    const condition = where.includes("$1") ? sql`${raw(before)}${victim.id}::uuid${raw(after)}` : raw(where);
    const rows = await app.database.query<{ id: string }>(
      sql`select id from ${raw(table)} where ${condition} order by id`,
    );
    if (rows.length === 0) throw new Error(`The victim has nothing in ${table}`);
    return rows.map(({ id }) => toTypedId(prefix, id));
  };
  const ofVictim = "in (select id from webhook_endpoint where organization_id = $1)";
  return [
    toTypedId("org", victim.id),
    toTypedId("org", contractor.id),
    ...(await typed("job", "job", "agent_id = $1")),
    ...(await typed("evt", "job_event", "agent_id = $1")),
    ...(await typed("whe", "webhook_endpoint")),
    ...(await typed("key", "api_key")),
    ...(await typed("dlv", "webhook_delivery", `endpoint_id ${ofVictim}`)),
    ...(await typed(
      "att",
      "webhook_attempt",
      `delivery_id in (select id from webhook_delivery where endpoint_id ${ofVictim})`,
    )),
    // Its owner before its member.
    ...(await typed("usr", "user_account")),
    ...(await typed("inv", "invitation")),
    ...(await typed("aud", "audit_entry")),
    ...(await typed(
      "viw",
      "saved_view",
      "user_id in (select id from user_account where organization_id = $1)",
    )),
    // These are operators' alone.
    ...(await typed("arq", "account_request", "true")),
    ...(await typed("eml", "mail", "true")),
  ];
}

interface Askers {
  victim: Partner;
  owner: SignedIn;
  operator: SignedIn;
}

async function cursorsOf(app: TestApp, { victim, owner, operator }: Askers): Promise<string[]> {
  const page = "{ pageInfo { endCursor } }";
  const byKey = await ask(
    app,
    `{ byCreation: jobs(first: 1) ${page}
       byNumber: jobs(first: 1, orderBy: { field: MARKING_NUMBER, direction: ASC }) ${page}
       events(first: 1) ${page} webhookDeliveries(first: 1) ${page} requestLog(first: 1) ${page} }`,
    { key: victim.key },
  );
  const byOwner = await owner.ask(`{ auditLog(first: 1) ${page} }`);
  const byOperator = await operator.ask(
    `{ organizations(first: 1) ${page} accountRequests(first: 1) ${page} mailOutbox(first: 1) ${page} }`,
  );
  return Object.values({ ...byKey, ...byOwner, ...byOperator } as Record<
    string,
    { pageInfo: { endCursor: string } }
  >).map(({ pageInfo }) => pageInfo.endCursor);
}

/** All that it has and that somebody could change. */
export async function rowsOf(app: TestApp, { id, contractor }: Victim): Promise<unknown[]> {
  const people = sql`(select id from user_account where organization_id = ${id}::uuid)`;
  return await Promise.all(
    [
      sql`select to_jsonb(job) from job where agent_id = ${id} order by id`,
      sql`select to_jsonb(endpoint) from webhook_endpoint endpoint where organization_id = ${id} order by id`,
      // When a key was last used, or a person was seen, is no change of theirs.
      sql`select to_jsonb(key) - 'last_used_at' from api_key key where organization_id = ${id} order by id`,
      sql`select to_jsonb(delivery) from webhook_delivery delivery where endpoint_id in (
        select id from webhook_endpoint where organization_id = ${id}) order by id`,
      sql`select to_jsonb(organization) from organization where id in (${id}, ${contractor.id}) order by id`,
      sql`select to_jsonb(person) - 'last_seen_at' from user_account person where organization_id = ${id} order by id`,
      sql`select to_jsonb(session) - 'last_seen_at' - 'address' from user_session session where user_id in ${people} order by id`,
      sql`select to_jsonb(view) from saved_view view where user_id in ${people} order by id`,
      sql`select to_jsonb(invitation) from invitation where organization_id = ${id} order by id`,
      sql`select to_jsonb(entry) from audit_entry entry where organization_id = ${id} order by id`,
      sql`select to_jsonb(link) from account_link link where position(${MARK} in email) > 0 order by token_hash`,
      sql`select to_jsonb(request) from account_request request order by id`,
      sql`select to_jsonb(note) from account_request_note note order by id`,
      sql`select to_jsonb(mail) from mail where position(${MARK} in recipient) > 0 order by id`,
    ].map((statement) => app.database.query(statement)),
  );
}
