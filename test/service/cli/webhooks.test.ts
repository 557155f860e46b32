import { once } from "node:events";
import type { ChildProcess } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { fromTypedId, newUuid, toTypedId } from "../../../src/platform/ids.ts";
import type { OrganizationPrincipal } from "../../../src/platform/principal.ts";
import { sql } from "../../../src/platform/postgres/sql.ts";
import { newSecret, sign } from "../../../src/webhooks/signing/signature.ts";
import { createCliRunner, waitForExit } from "../../support/processes/cli-process.ts";
import { TEST_SECRET } from "../../support/test-secret.ts";
import { startTestReceiver } from "../../support/webhooks/receiver.ts";
import {
  openWebhookServiceFixture,
  type WebhookServiceFixture,
} from "../../support/webhooks/service.fixture.ts";

let services: WebhookServiceFixture;
let folder: string;
let agent: OrganizationPrincipal;
let org: string;

const { start, run, runJson } = createCliRunner(() => ({
  DATABASE_URL: services.databaseUrl,
  WAYMARK_SECRET: TEST_SECRET,
  WAYMARK_DATA_DIR: join(folder, "data"),
  WEBHOOK_ALLOW_PRIVATE: "on",
}));

beforeAll(async () => {
  services = await openWebhookServiceFixture();
  folder = await mkdtemp(join(tmpdir(), "waymark-cli-"));
  agent = await services.createOrganization("agent");
  const [row] = await services.database.query<{ name: string }>(
    sql`select name from organization where id = ${agent.organizationId}`,
  );
  org = row?.name ?? "";
});

afterAll(async () => {
  await services[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const URL = "http://127.0.0.1:9/webhooks";

async function newEndpoint(url = URL): Promise<string> {
  return (await services.endpoints.create(agent, { url })).endpoint.id;
}

const createArgs = (url: string, ...more: string[]): string[] => [
  "endpoint",
  "create",
  "--org",
  org,
  "--url",
  url,
  ...more,
];
const headerArgs = (...headers: string[]): string[] => headers.flatMap((header) => ["--header", header]);

describe("endpoint create", () => {
  it("prints the secret and the command that tests the endpoint", async () => {
    const { code, stdout, stderr } = await run("endpoint", "create", "--org", org, "--url", URL);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const [, secret = ""] = /^Secret: +(whsec_\S{44})$/m.exec(stdout) ?? [];
    const [, id = ""] = /^ID: +(whe_\w{26})$/m.exec(stdout) ?? [];
    expect(stdout).toMatch(/^Events: +all$/m);
    expect(stdout).toContain(`waymark endpoint test ${id}`);
    expect(await services.endpoints.reveal(agent, id)).toEqual({ secrets: [secret], headers: {} });
  });

  it("accepts events, a description and headers, and masks the header values", async () => {
    const document = await runJson(
      ...createArgs(URL, "--events", "job.created, job.assigned"),
      ...headerArgs("X-Token: s3cr3t:1", "X-Place: 2"),
      "--description",
      "Office",
    );
    expect(document).toMatchObject({
      secret: expect.stringMatching(/^whsec_/),
      organization_name: org,
      url: URL,
      event_types: ["job.created", "job.assigned"],
      description: "Office",
      headers: { "X-Token": "********", "X-Place": "********" },
      status: "active",
      pending: 0,
    });
    const { headers } = await services.endpoints.reveal(agent, document.id);
    expect(headers).toEqual({ "X-Token": "s3cr3t:1", "X-Place": "2" });
  });

  it("accepts the same limits as update, and prints them", async () => {
    const args = createArgs(URL, "--max-in-flight", "3", "--per-second", "7");
    expect(await runJson(...args)).toMatchObject({ max_in_flight: 3, per_second: 7 });
    expect((await run(...args)).stdout).toMatch(/^Limits: +3 in flight, 7 per second$/m);
  });

  it("lists all problems and exits with 2", async () => {
    const { code, stdout, stderr } = await run(
      ...createArgs("ftp://x", "--events", "job.creatd"),
      ...headerArgs("Host: x"),
    );
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/^Error: url must begin with https:/);
    expect(stderr).toContain('eventTypes[0] must be "job.created"');
    expect(stderr).toContain("host is reserved");
  });

  it("rejects a URL on this machine if private addresses are not allowed", async () => {
    const args = ["endpoint", "create", "--org", org, "--url", "https://127.0.0.1/"];
    const { code, stderr } = await waitForExit(start(args, { WEBHOOK_ALLOW_PRIVATE: "" }));
    expect(code).toBe(2);
    expect(stderr).toContain("must not point to 127.0.0.1");
  });
});

describe("endpoint update", () => {
  it("changes the given settings and keeps the others", async () => {
    const id = await newEndpoint();
    const moved = await runJson("endpoint", "update", id, "--url", `${URL}new`, "--max-in-flight", "16");
    expect(moved).toMatchObject({
      id,
      url: `${URL}new`,
      max_in_flight: 16,
      per_second: 50,
      event_types: null,
    });
    const narrowed = await runJson("endpoint", "update", id, "--events", "job.created");
    expect(narrowed).toMatchObject({ url: `${URL}new`, max_in_flight: 16, event_types: ["job.created"] });
    expect(await runJson("endpoint", "update", id, "--events", "all")).toMatchObject({
      event_types: null,
    });
  });

  it("names the limit that is out of range", async () => {
    const { code, stderr } = await run("endpoint", "update", await newEndpoint(), "--per-second", "5000");
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining("perSecond must be") });
  });
});

describe("endpoint list, pause, resume, delete and rotate-secret", () => {
  it("lists endpoints with status and pending deliveries", async () => {
    const id = await newEndpoint();
    await services.database.query(sql`
      update webhook_endpoint set status = 'disabled', disabled_reason = 'gone', failing_since = '2026-11-21T10:00:00Z'
      where id = ${fromTypedId("whe", id)}`);
    const { stdout } = await run("endpoint", "list", "--org", org);
    expect(stdout).toMatch(/^ID +STATUS +FAILING SINCE +PENDING +ORGANISATION +URL$/m);
    expect(stdout).toMatch(
      new RegExp(`^${id} +disabled: receiver returned 410 +2026-11-21T10:00:00.000Z +0 +`, "m"),
    );
    const other = await services.createOrganization("contractor");
    expect(await runJson("endpoint", "list", "--org", toTypedId("org", other.organizationId))).toEqual({
      items: [],
    });
  });

  it("pauses, and resumes with or without sending the pending deliveries", async () => {
    const id = await newEndpoint();
    expect(await runJson("endpoint", "pause", id)).toMatchObject({ id, status: "paused" });
    await services.createJob(agent);
    expect(await runJson("endpoint", "resume", id, "--pending-policy", "since:1h")).toMatchObject({
      status: "active",
      discarded: 0,
      pending: 1,
    });
    await runJson("endpoint", "pause", id);
    const { stdout } = await run("endpoint", "resume", id, "--pending-policy", "discard");
    expect(stdout).toBe(`${URL} is active: 0 pending, 1 discarded.\n`);
    expect(await run("endpoint", "resume", id, "--pending-policy", "all")).toMatchObject({ code: 2 });
  });

  it("rotates the secret, and prints until when the previous one is valid", async () => {
    const id = await newEndpoint();
    const document = await runJson("endpoint", "rotate-secret", id);
    expect(document).toMatchObject({ secret: expect.stringMatching(/^whsec_/), id });
    expect(Date.parse(document.previous_valid_until)).toBeGreaterThan(Date.now() + 23 * 3_600_000);
    expect((await services.endpoints.reveal(agent, id)).secrets[0]).toBe(document.secret);
  });

  it("deletes the endpoint, and deleting it again exits with 1", async () => {
    const id = await newEndpoint();
    await services.createJob(agent);
    expect(await runJson("endpoint", "delete", id)).toEqual({ id, url: URL, discarded: 1 });
    expect(await run("endpoint", "delete", id)).toEqual({
      code: 1,
      stdout: "",
      stderr:
        "Error: There is no such webhook endpoint\nRun `waymark endpoint list` to see the existing endpoints.\n",
    });
  });
});

describe("endpoint test", () => {
  it("shows the request and the response", async () => {
    await using receiver = await startTestReceiver({ respond: () => ({ status: 201, body: "ok\u0007" }) });
    const id = await newEndpoint(receiver.url);
    const { code, stdout } = await run("endpoint", "test", id);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Attempt 1: HTTP 201 in \d+ ms, /m);
    expect(stdout).toMatch(/^ {2}> webhook-signature: v1,/m);
    expect(stdout).toContain("  < ok\\u{7}");
    expect(stdout).toContain('"type":"webhook.test"');
    expect(receiver.received).toHaveLength(1);
  });

  it("exits with 1 and prints the error if delivery fails", async () => {
    await using receiver = await startTestReceiver({ respond: () => ({ status: 404 }) });
    const id = await newEndpoint(receiver.url);
    const ended = await run("endpoint", "test", id, "--json");
    expect(ended.code).toBe(1);
    expect(JSON.parse(ended.stdout)).toMatchObject({
      endpoint_id: id,
      status: "failed",
      outcome: "http_404",
      attempt_log: [{ number: 1, http_status: 404, error: expect.stringContaining("Check the path") }],
    });
  });
});

describe("deliveries", () => {
  it("lists deliveries in pages, and shows one with its body", async () => {
    const id = await newEndpoint();
    const markingNumber = await services.createJob(agent);
    await services.createJob(agent);
    const first = await runJson("deliveries", "list", "--endpoint", id, "--limit", "1");
    expect(first).toMatchObject({
      items: [{ endpoint_id: id, status: "pending" }],
      next_cursor: expect.any(String),
    });
    const second = await runJson("deliveries", "list", "--endpoint", id, "--cursor", first.next_cursor);
    expect(second).toMatchObject({ items: [{ marking_number: markingNumber }], next_cursor: null });
    const { stdout } = await run("deliveries", "list", "--org", org, "--status", "pending", "--limit", "2");
    expect(stdout).toMatch(/^ID +CREATED +EVENT +MARKING NUMBER +STATUS +ATTEMPTS +OUTCOME +NEXT$/m);
    expect(stdout).toMatch(/^Next page: --cursor \S+$/m);
    const shown = await runJson("deliveries", "show", second.items[0].id);
    expect(JSON.parse(shown.request_body)).toMatchObject({
      type: "job.created",
      data: { job: { marking_number: markingNumber } },
    });
    expect(shown.attempt_log).toEqual([]);
  });

  it("shows when a pending delivery's endpoint is probed or unblocked", async () => {
    const id = await newEndpoint();
    await services.createJob(agent);
    const listBlocked = async (circuitStep: number | null, until: string): Promise<string> => {
      await services.database.query(sql`
        update webhook_endpoint set blocked_until = ${until}::timestamptz, circuit_step = ${circuitStep}
        where id = ${fromTypedId("whe", id)}`);
      return (await run("deliveries", "list", "--endpoint", id)).stdout;
    };
    expect(await listBlocked(1, "2099-01-01T00:00:00Z")).toMatch(
      / after probe at 2099-01-01T00:00:00.000Z$/m,
    );
    expect(await runJson("deliveries", "list", "--endpoint", id)).toMatchObject({
      items: [
        { status: "pending", next_attempt_at: null, endpoint_blocked_until: "2099-01-01T00:00:00.000Z" },
      ],
    });
    expect(await listBlocked(null, "2099-01-01T00:00:00Z")).toMatch(
      / blocked until 2099-01-01T00:00:00.000Z$/m,
    );
    expect(await listBlocked(null, "2026-01-01T00:00:00Z")).toMatch(/ -$/m);
  });

  it("replays one delivery, and all failed ones", async () => {
    const id = await newEndpoint();
    await services.createJob(agent);
    await services.database.query(sql`
      update webhook_delivery set status = 'failed', finished_at = now() where endpoint_id = ${fromTypedId("whe", id)}`);
    const { items } = await services.deliveries.list(agent, { filter: { endpointId: id }, limit: 1 });
    expect(await run("deliveries", "replay", "--endpoint", id, "--failed-since", "1h")).toMatchObject({
      code: 0,
      stdout: "1 event queued for replay.\n",
    });
    expect(await runJson("deliveries", "replay", items[0]!.id)).toMatchObject({
      event_id: items[0]!.eventId,
      origin: "replay",
      status: "pending",
    });
  });

  it("replays events that the endpoint has no delivery for", async () => {
    await services.createJob(agent);
    const id = await newEndpoint();
    const { replayed } = await runJson("deliveries", "replay", "--endpoint", id, "--missing", "30m");
    expect(replayed).toBeGreaterThan(0);
    expect(await runJson("deliveries", "replay", "--endpoint", id, "--missing")).toEqual({
      endpoint_id: id,
      replayed: 0,
    });
  });

  it.each([
    [["replay"]],
    [["replay", "dlv_x", "--missing"]],
    [["replay", "dlv_x", "--endpoint", "whe_x"]],
    [["replay", "--endpoint", "whe_x"]],
    [["replay", "--missing"]],
    [["replay", "--endpoint", "whe_x", "--missing", "--failed-since", "1h"]],
    [["replay", "--endpoint", "whe_x", "--failed-since", "soon"]],
    [["list", "--limit", "0"]],
    [["list", "--limit", "201"]],
    [["list", "--status", "lost"]],
  ])("exits with 2 for a missing, ambiguous or invalid option: %j", async (args) => {
    expect(await run("deliveries", ...args)).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining("Error: "),
    });
  });

  it("exits with 1 for a delivery that does not exist", async () => {
    expect(await run("deliveries", "show", "dlv_x")).toMatchObject({
      code: 1,
      stderr:
        "Error: There is no such delivery\nRun `waymark deliveries list` to see the existing deliveries.\n",
    });
  });
});

interface ListenProcess {
  child: ChildProcess;
  out: () => string;
  err: () => string;
  until: (check: () => boolean) => Promise<void>;
}

function startListen(args: readonly string[], environment: Record<string, string> = {}): ListenProcess {
  const child = start(["listen", ...args], environment);
  let [out, err] = ["", ""];
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (out += text));
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (err += text));
  return {
    child,
    out: () => out,
    err: () => err,
    until: (check) =>
      vi.waitFor(() => expect(check(), `${out}\n${err}`).toBe(true), { timeout: 20_000, interval: 20 }),
  };
}

function post(url: string, secret: string, event: object, id = `evt_${newUuid()}`): Promise<Response> {
  const body = JSON.stringify(event);
  const timestampS = Math.floor(Date.now() / 1000);
  return fetch(url, {
    method: "POST",
    body,
    headers: {
      "webhook-id": id,
      "webhook-timestamp": String(timestampS),
      "webhook-signature": sign([secret], { id, timestampS, body }),
    },
  });
}

describe("listen", () => {
  const changed = {
    type: "job.status_changed",
    data: {
      job: { marking_number: "MN-1" },
      sequence: 4,
      changes: {
        normalized_status: { from: "pending", to: "failed" },
        instructions: { from: null, to: "a\u001b[2J" },
      },
    },
  };

  it.each(["SIGINT", "SIGTERM"] as const)(
    "creates an endpoint, prints its events, and deletes it at %s",
    async (signal) => {
      await services.createJob(agent);
      const { child, out, err, until } = startListen([
        "--org",
        org,
        "--events",
        "job.created,job.status_changed",
      ]);
      await until(() => err().includes("Waiting for events"));
      const [, id = "", url = ""] = /Endpoint (whe_\w+) of .* sends to (\S+)/.exec(err()) ?? [];
      expect(await services.endpoints.get(agent, id)).toMatchObject({
        url,
        eventTypes: ["job.created", "job.status_changed"],
      });
      expect(err()).toMatch(/curl -X PATCH http:\/\/127\.0\.0\.1:4000\/v1\/jobs\/by-marking\/MN-/);

      await services.deliveries.sendTest(agent, id);
      const { secrets } = await services.endpoints.reveal(agent, id);
      expect((await post(url, secrets[0] ?? "", changed)).status).toBe(204);
      await until(() => out().includes("job.status_changed"));
      expect(out()).toMatch(/^\d\d:\d\d:\d\d {2}webhook\.test {2}verified\n {4}This is a test/);
      expect(out()).toContain("job.status_changed  MN-1  #4  verified\n");
      expect(out()).toContain('    normalized_status: "pending" -> "failed"\n');
      expect(out()).not.toContain("\u001b");

      child.kill(signal);
      expect(await once(child, "close")).toEqual([0, null]);
      expect(err()).toContain(`Endpoint ${id} deleted.`);
      expect(await services.endpoints.find(agent, id)).toBeNull();
    },
  );

  it("receives without creating an endpoint with --secret, and marks unverified and duplicate webhooks in NDJSON", async () => {
    const secret = newSecret();
    const port = String(20_000 + Math.floor(Math.random() * 20_000));
    const { child, out, err, until } = startListen(["--secret", secret, "--port", port, "--ndjson"], {
      DATABASE_URL: "postgresql://127.0.0.1:9/none",
    });
    const url = `http://127.0.0.1:${port}/`;
    await until(() => err().includes("Listening"));
    expect((await post(url, newSecret(), changed, "evt_1")).status).toBe(400);
    expect((await post(url, secret, changed, "evt_1")).status).toBe(204);
    expect((await post(url, secret, changed, "evt_1")).status).toBe(204);
    expect((await fetch(url)).status).toBe(405);
    const lines = out()
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines).toMatchObject([
      {
        verified: false,
        problem: expect.stringContaining("No signature matches"),
        repeat: false,
        event: changed,
      },
      { verified: true, problem: null, repeat: false, webhook_id: "evt_1" },
      { verified: true, repeat: true },
    ]);
    child.kill("SIGINT");
    expect(await once(child, "close")).toEqual([0, null]);
  });

  it.each([
    [["--json"], 2, "--ndjson"],
    [["--secret", "whsec_x"], 2, "requires --port"],
    [["--port", "70000"], 2, "must be a port"],
    [["--org", "Unknown Ltd"], 1, "no organisation"],
  ])("reports invalid options: %j", async (args, code, message) => {
    const ended = await run("listen", ...args);
    expect(ended.code).toBe(code);
    expect(ended.stdout + ended.stderr).toContain(message);
  });

  it("fails with a hint if private addresses are not allowed", async () => {
    const ended = await waitForExit(start(["listen", "--org", org], { WEBHOOK_ALLOW_PRIVATE: "" }));
    expect(ended).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining("WEBHOOK_ALLOW_PRIVATE is off"),
    });
  });
});
