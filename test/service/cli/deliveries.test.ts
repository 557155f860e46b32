import { describe, expect, it } from "vitest";
import { fromTypedId } from "../../../src/core/ids.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { useCliWebhooksFixture } from "../../support/processes/cli-webhooks.fixture.ts";

const { run, runJson, services, agent, org, newEndpoint } = useCliWebhooksFixture();

describe("deliveries", () => {
  it("lists deliveries in pages, and shows one with its body", async () => {
    const id = await newEndpoint();
    const markingNumber = await services().createJob(agent());
    await services().createJob(agent());
    const first = await runJson("deliveries", "list", "--endpoint", id, "--limit", "1");
    expect(first).toMatchObject({
      items: [{ endpoint_id: id, status: "pending", mode: "live" }],
      next_cursor: expect.any(String),
    });
    const second = await runJson("deliveries", "list", "--endpoint", id, "--cursor", first.next_cursor);
    expect(second).toMatchObject({ items: [{ marking_number: markingNumber }], next_cursor: null });
    const { stdout } = await run("deliveries", "list", "--org", org(), "--status", "pending", "--limit", "1");
    expect(stdout).toMatch(
      /^ID +CREATED AT +EVENT TYPE +MARKING NUMBER +STATUS +ATTEMPT COUNT +OUTCOME +MODE +NEXT ATTEMPT AT +/m,
    );
    expect(stdout).toMatch(/^Next page: --cursor \S+$/m);
    const shown = await runJson("deliveries", "show", second.items[0].id);
    expect(JSON.parse(shown.request_body)).toMatchObject({
      type: "job.created",
      data: { job: { marking_number: markingNumber } },
    });
    expect(shown.attempts).toEqual([]);
  });

  it("shows until when a pending delivery's endpoint is blocked", async () => {
    const id = await newEndpoint();
    await services().createJob(agent());
    await services().database.query(sql`
      update webhook_endpoint set blocked_until = '2099-01-01', circuit_step = 1 where id = ${fromTypedId("whe", id)}`);
    expect(await runJson("deliveries", "list", "--endpoint", id)).toMatchObject({
      items: [
        { status: "pending", next_attempt_at: null, endpoint_blocked_until: "2099-01-01T00:00:00.000Z" },
      ],
    });
  });

  it("replays one delivery, and all failed ones", async () => {
    const id = await newEndpoint();
    await services().createJob(agent());
    await services().database.query(sql`
      update webhook_delivery set status = 'failed', finished_at = now() where endpoint_id = ${fromTypedId("whe", id)}`);
    const { items } = await services().deliveries.list(agent(), { filter: { endpointId: id }, limit: 1 });
    expect(await run("deliveries", "replay", "--endpoint", id, "--failed-since", "1h")).toMatchObject({
      code: 0,
      stdout: `endpoint_id: ${id}\nreplayed: 1\n`,
    });
    expect(await runJson("deliveries", "replay", items[0]!.id)).toMatchObject({
      event_id: items[0]!.eventId,
      origin: "replay",
      status: "pending",
    });
  });

  it("replays events that the endpoint has no delivery for", async () => {
    await services().createJob(agent());
    const id = await newEndpoint();
    const replayMissing = (...range: string[]) =>
      runJson("deliveries", "replay", "--endpoint", id, "--missing", ...range);
    expect(await replayMissing("30m", "--until", "20m")).toMatchObject({ replayed: 0 });
    const { replayed } = await replayMissing("30m");
    expect(replayed).toBeGreaterThan(0);
    expect(await runJson("deliveries", "replay", "--endpoint", id, "--missing")).toEqual({
      endpoint_id: id,
      replayed: 0,
    });
  });

  it.each([
    [["replay"]],
    [["replay", "dlv_x", "--endpoint", "whe_x"]],
    [["replay", "--endpoint", "whe_x", "--missing", "--failed-since", "1h"]],
    [["replay", "--endpoint", "whe_x", "--failed-since", "soon"]],
    [["list", "--limit", "201"]],
  ])("exits with 2 for a missing, ambiguous or invalid option: %j", async (args) => {
    expect(await run("deliveries", ...args)).toMatchObject({ code: 2, stdout: "" });
  });

  it("exits with 1 for a delivery that does not exist", async () => {
    expect(await run("deliveries", "show", "dlv_x")).toMatchObject({
      code: 1,
      stderr: "Error: There is no such delivery\nRun `waymark deliveries list` to see what exists.\n",
    });
  });
});
