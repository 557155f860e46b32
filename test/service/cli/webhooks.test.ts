import { describe, expect, it } from "vitest";
import { fromTypedId } from "../../../src/core/ids.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { parseOutput } from "../../support/processes/cli-process.ts";
import { UNUSED_URL, useCliWebhooksFixture } from "../../support/processes/cli-webhooks.fixture.ts";
import { startTestReceiver } from "../../support/webhooks/receiver.ts";

const { begin, run, runJson, services, agent, org, newEndpoint } = useCliWebhooksFixture();

const create = (url: string, ...more: string[]) =>
  run("endpoint", "create", "--org", org(), "--url", url, ...more);

describe("endpoint create", () => {
  it("prints the secret and the command that tests the endpoint", async () => {
    const { code, stdout, stderr } = await create(UNUSED_URL);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const [, secret = ""] = /^secret: (whsec_\S{44})$/m.exec(stdout) ?? [];
    const [, id = ""] = /^id: (whe_\w{26})$/m.exec(stdout) ?? [];
    expect(stdout).toContain(`waymark endpoint test ${id}`);
    expect(await services().endpoints.reveal(agent(), id)).toEqual({ secrets: [secret], headers: {} });
  });

  it("accepts every setting, and masks the header values", async () => {
    const settings = ["--description", "Office", "--max-in-flight", "3", "--per-second", "7", "--json"];
    const headers = ["--header", "X-Token: s3cr3t:1", "--header", "X-Place: 2"];
    const created = await create(
      UNUSED_URL,
      "--events",
      "job.created, job.assigned",
      ...headers,
      ...settings,
    );
    const document = parseOutput(created, 0);
    expect(document).toMatchObject({
      secret: expect.stringMatching(/^whsec_/),
      organization_name: org(),
      url: UNUSED_URL,
      event_types: ["job.created", "job.assigned"],
      description: "Office",
      headers: [
        { name: "X-Token", value: "********" },
        { name: "X-Place", value: "********" },
      ],
      max_in_flight: 3,
      per_second: 7,
      status: "active",
      pending: 0,
    });
    expect(await services().endpoints.reveal(agent(), document.id)).toMatchObject({
      headers: { "X-Token": "s3cr3t:1", "X-Place": "2" },
    });
  });

  it("lists all problems and exits with 2", async () => {
    expect(await create("ftp://x", "--events", "job.creatd", "--header", "Host: localhost")).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringMatching(/^Error: url must [^]*event_types\[0\] must [^]*host is reserved/),
    });
  });

  it("rejects a URL on this machine if private addresses are not allowed", async () => {
    const args = ["endpoint", "create", "--org", org(), "--url", "https://127.0.0.1/"];
    const { code, stderr } = await begin(args, { WEBHOOK_ALLOW_PRIVATE: "" }).ended;
    expect(code).toBe(2);
    expect(stderr).toContain("must not point to 127.0.0.1");
  });
});

describe("endpoint update", () => {
  it("changes the given settings and keeps the others", async () => {
    const id = await newEndpoint();
    const update = (...options: string[]) => runJson("endpoint", "update", id, ...options);
    const url = `${UNUSED_URL}new`;
    const moved = { id, url, max_in_flight: 16, per_second: 50, event_types: null };
    expect(await update("--url", url, "--max-in-flight", "16")).toMatchObject(moved);
    const narrowed = { ...moved, event_types: ["job.created"] };
    expect(await update("--events", "job.created")).toMatchObject(narrowed);
    expect(await update("--events", "all")).toMatchObject(moved);
  });
});

describe("endpoint list, pause, resume, delete and rotate-secret", () => {
  it("lists endpoints with status and pending deliveries", async () => {
    const id = await newEndpoint();
    await services().database.query(sql`
      update webhook_endpoint set status = 'disabled', disabled_reason = 'gone', failing_since = '2026-11-21T10:00:00Z'
      where id = ${fromTypedId("whe", id)}`);
    const { stdout } = await run("endpoint", "list", "--org", org());
    expect(stdout).toMatch(
      /^ID +STATUS +DISABLED REASON +FAILING SINCE +BLOCKED UNTIL +PENDING +MODE +ORGANIZATION NAME +URL +PROBLEM$/m,
    );
    expect(stdout).toMatch(new RegExp(`^${id} +disabled +gone +2026-11-21T10:00:00.000Z +- +0 +live +`, "m"));
  });

  it("pauses, and resumes with or without sending the pending deliveries", async () => {
    const id = await newEndpoint();
    const resume = (policy: string) => runJson("endpoint", "resume", id, "--pending-policy", policy);
    expect(await runJson("endpoint", "pause", id)).toMatchObject({ id, status: "paused" });
    await services().createJob(agent());
    expect(await resume("since:1h")).toMatchObject({ status: "active", discarded: 0, pending: 1 });
    await runJson("endpoint", "pause", id);
    expect(await resume("discard")).toMatchObject({ discarded: 1, pending: 0 });
    expect(await run("endpoint", "resume", id, "--pending-policy", "all")).toMatchObject({ code: 2 });
  });

  it("rotates the secret, and prints until when the previous one is valid", async () => {
    const id = await newEndpoint();
    const document = await runJson("endpoint", "rotate-secret", id);
    expect(document).toMatchObject({ secret: expect.stringMatching(/^whsec_/), id });
    expect(Date.parse(document.previous_secrets_expire_at[0])).toBeGreaterThan(Date.now() + 23 * 3_600_000);
    expect((await services().endpoints.reveal(agent(), id)).secrets[0]).toBe(document.secret);
  });

  it("deletes the endpoint, and deleting it again exits with 1", async () => {
    const id = await newEndpoint();
    await services().createJob(agent());
    expect(await runJson("endpoint", "delete", id)).toEqual({ id, url: UNUSED_URL, discarded: 1 });
    expect(await run("endpoint", "delete", id)).toEqual({
      code: 1,
      stdout: "",
      stderr: "Error: There is no such webhook endpoint\nRun `waymark endpoint list` to see what exists.\n",
    });
  });
});

describe("endpoint test", () => {
  it("shows the request and the response", async () => {
    await using receiver = await startTestReceiver({ respond: () => ({ status: 201, body: "ok\u0007" }) });
    const id = await newEndpoint(receiver.url);
    const { code, stdout } = await run("endpoint", "test", id);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ {4}webhook-signature: v1,/m);
    expect(stdout).toContain("  response_body: ok\\u{7}\n");
    expect(receiver.received).toHaveLength(1);
  });

  it("exits with 1 and prints the error if delivery fails", async () => {
    await using receiver = await startTestReceiver({ respond: () => ({ status: 404 }) });
    const id = await newEndpoint(receiver.url);
    const ended = await run("endpoint", "test", id, "--json");
    expect(parseOutput(ended, 1)).toMatchObject({
      endpoint_id: id,
      status: "failed",
      outcome: "http_404",
      attempts: [{ number: 1, http_status: 404, error: expect.stringContaining("Check the path") }],
    });
  });
});

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
