/** Fan-out: each endpoint gets the events that its organisation sees in the feed. */
import { expect, it } from "vitest";
import { sql } from "../../../src/core/postgres/sql.ts";
import { useDispatcherFixture } from "../../support/webhooks/dispatcher.fixture.ts";

const URL = "http://127.0.0.1:9/";
const rig = useDispatcherFixture();
async function typesOf(endpointId: string): Promise<string[]> {
  const rows = await rig.app.database.query<{ event_type: string }>(
    sql`select event_type from webhook_delivery where endpoint_id = ${endpointId} order by event_type`,
  );
  return rows.map((row) => row.event_type);
}

function patch(markingNumber: string, body: object): Promise<unknown> {
  const path = `/v1/jobs/by-marking/${markingNumber}`;
  return rig.app.call(path, { method: "PATCH", key: rig.agent.key, body: JSON.stringify(body) });
}

it("agents get every event of their jobs, contractors those from the assignment on", async () => {
  const forAgent = await rig.createEndpoint({ url: URL });
  const alsoForAgent = await rig.createEndpoint({ url: URL });
  const forContractor = await rig.createEndpoint({ url: URL }, rig.contractor);
  const outsider = await rig.app.createOrganization("agent");
  const forOutsider = await rig.createEndpoint({ url: URL }, outsider);

  const [mine] = await rig.app.createJobs(rig.agent, [{ contractor: rig.contractor }]);
  await patch(mine as string, { weight: 3 });
  await patch(mine as string, { normalized_status: "in_transit", weight: 4 });
  // Nothing changes, so there is no event.
  await patch(mine as string, { weight: 4 });

  const all = ["job.assigned", "job.created", "job.status_changed", "job.updated"];
  expect(await typesOf(forAgent)).toEqual(all);
  expect(await typesOf(alsoForAgent)).toEqual(all);
  expect(await typesOf(forContractor)).toEqual(["job.assigned", "job.status_changed", "job.updated"]);
  expect(await typesOf(forOutsider)).toEqual([]);
});

it("endpoints get only their event types; paused ones get deliveries on hold, deleted ones none", async () => {
  const created = await rig.createEndpoint({ url: URL, eventTypes: ["job.created"] });
  const paused = await rig.createEndpoint({ url: URL });
  const deleted = await rig.createEndpoint({ url: URL });
  await rig.app.database.query(sql`update webhook_endpoint set status = 'paused' where id = ${paused}`);
  await rig.app.database.query(sql`update webhook_endpoint set deleted_at = now() where id = ${deleted}`);
  const [number] = await rig.app.createJobs(rig.agent, [{}]);
  await patch(number as string, { weight: 3 });
  expect(await typesOf(created)).toEqual(["job.created"]);
  expect(await typesOf(paused)).toEqual(["job.created", "job.updated"]);
  expect(await typesOf(deleted)).toEqual([]);
});
