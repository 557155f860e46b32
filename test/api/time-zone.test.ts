/** An owner sets the organisation's time zone: who may, which names are valid, and when keys and sessions use it. */
import { expect, it } from "vitest";
import { addDays, today } from "../../src/console/pages/jobs/job.due.ts";
import { toTypedId } from "../../src/core/ids.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import { createSignedInUser, type SignedInTestUser } from "../support/accounts/signed-in-user.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import { sharedApp } from "../support/app/shared-app.ts";
import { eventually } from "../support/eventually.ts";
import { graphql } from "../support/graphql/client.ts";

const SET = `mutation ($timeZone: String!) { setTimeZone(timeZone: $timeZone) {
  organization { id timeZone } userErrors { code field message } } }`;
const LATE = "{ jobs(filter: { isLate: true }) { totalCount } }";

// At any moment it is another day in one of them than in UTC.
const AHEAD = "Pacific/Kiritimati";
const BEHIND = "Etc/GMT+12";
const isAhead = today(AHEAD) !== today();
const zone = isAhead ? AHEAD : BEHIND;
/** Late in UTC or in the zone, but not in both. */
const dueDate = isAhead ? today() : addDays(today(), -1);

const app = await sharedApp("api");
const [agent, other] = [await app.createOrganization("agent"), await app.createOrganization("agent")];
const owner = await createSignedInUser(app, agent.id);
for (const each of [agent, other]) await app.createJobs(each, [{ patch: { scheduled_date: dueDate } }]);

const set = async (user: SignedInTestUser, timeZone: string) =>
  (await user.queryData(SET, { timeZone })).setTimeZone;

const isLateFor = async ({ key }: TestOrganization) =>
  (await graphql(app, LATE, { key })).data.jobs.totalCount === 1;

it("decides which jobs are late: for sessions at once, for keys within seconds, for other organisations never", async () => {
  const former = { agent: await isLateFor(agent), other: await isLateFor(other) };
  expect(former).toEqual({ agent: !isAhead, other: !isAhead });
  const { organization, userErrors } = await set(owner, zone);
  expect(userErrors).toEqual([]);
  expect(organization).toEqual({ id: toTypedId("org", agent.id), timeZone: zone });
  expect((await owner.queryData(LATE)).jobs.totalCount).toBe(isAhead ? 1 : 0);
  await eventually(async () => expect(await isLateFor(agent)).toBe(isAhead));
  expect(await isLateFor(other)).toBe(!isAhead);
});

it("is recorded once, and is that of the test organisations, also of those created later", async () => {
  const { id } = await app.createOrganization("agent");
  const user = await createSignedInUser(app, id);
  await user.client.post("/auth/test-mode");
  await set(user, "Europe/London");
  await set(user, "Europe/London");
  const { auditLog } = await user.queryData(
    '{ auditLog(actions: ["organization.time_zone_changed"]) { nodes { details } } }',
  );
  expect(auditLog.nodes).toEqual([{ details: { from: "UTC", to: "Europe/London" } }]);
  await createSignedInUser(app, agent.id).then(({ client }) => client.post("/auth/test-mode"));
  const rows = await app.database.query<{ zone: string }>(
    sql`select time_zone as zone from organization where live_organization_id = any(${[id, agent.id]}::uuid[])`,
  );
  expect(new Set(rows.map((row) => row.zone))).toEqual(new Set(["Europe/London", zone]));
});

it.each(["Mars/Olympus", "+05:00", "UTC+3", "", "EST5EDT", "Europe/London'; --"])(
  "setTimeZone rejects %j",
  async (name) => {
    const { organization, userErrors } = await set(owner, name);
    expect({ organization, userErrors }).toMatchObject({
      organization: null,
      userErrors: [{ code: "INVALID", field: "timeZone" }],
    });
  },
);
