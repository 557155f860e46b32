import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { newUuid } from "../../../src/platform/ids.ts";
import { newSecret, sign } from "../../../src/webhooks/signing/signature.ts";
import { useCliWebhooksFixture } from "../../support/processes/cli-webhooks.fixture.ts";
import { freePort } from "../../support/free-port.ts";
import { eventually } from "../../support/eventually.ts";

const { start, begin, run, services, agent, org } = useCliWebhooksFixture();

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

  it("creates an endpoint, prints its events, and deletes it at Ctrl-C", async () => {
    await services().createJob(agent());
    const child = start(["listen", "--org", org(), "--events", "job.created,job.status_changed"]);
    let [out, err] = ["", ""];
    child.stdout?.setEncoding("utf8").on("data", (text: string) => (out += text));
    child.stderr?.setEncoding("utf8").on("data", (text: string) => (err += text));
    await eventually(() => expect(err).toContain("Waiting for events"));
    const [, id = "", url = ""] = /Endpoint (whe_\w+) of .* sends to (\S+)/.exec(err) ?? [];
    expect(await services().endpoints.get(agent(), id)).toMatchObject({
      url,
      eventTypes: ["job.created", "job.status_changed"],
    });
    expect(err).toMatch(/curl -X PATCH http:\/\/127\.0\.0\.1:4000\/v1\/jobs\/by-marking\/MN-/);

    await services().deliveries.sendTest(agent(), id);
    const { secrets } = await services().endpoints.reveal(agent(), id);
    expect((await post(url, secrets[0] ?? "", changed)).status).toBe(204);
    const lastLine = '    instructions: null -> "a\\u001b[2J"\n';
    await eventually(() => expect(out).toContain(lastLine));
    expect(out).toMatch(/^\d\d:\d\d:\d\d {2}webhook\.test {2}verified\n {4}This is a test/);
    expect(out).toContain("job.status_changed  MN-1  #4  verified\n");
    expect(out).toContain('    normalized_status: "pending" -> "failed"\n');
    expect(out).not.toContain("\u001b");

    child.kill("SIGINT");
    expect(await once(child, "close")).toEqual([0, null]);
    expect(err).toContain(`Endpoint ${id} deleted.`);
    expect(await services().endpoints.find(agent(), id)).toBeNull();
  });

  it.each(["SIGTERM", "SIGHUP"] as const)("deletes its endpoint at %s", async (signal) => {
    const listening = begin(["listen", "--org", org()]);
    await eventually(() => expect(listening.stderr()).toContain("Waiting for events"));
    const [, id = ""] = /Endpoint (whe_\w+) of/.exec(listening.stderr()) ?? [];
    expect(await services().endpoints.find(agent(), id)).not.toBeNull();
    listening.signal(signal);
    expect(await listening.ended).toMatchObject({ code: 0 });
    expect(listening.stderr()).toContain(`Endpoint ${id} deleted.`);
    expect(await services().endpoints.find(agent(), id)).toBeNull();
  });

  it("receives without creating an endpoint with --secret, and marks unverified and duplicate webhooks in NDJSON", async () => {
    const secret = newSecret();
    const port = String(await freePort());
    const listening = begin(["listen", "--secret", secret, "--port", port, "--ndjson"], {
      DATABASE_URL: "postgresql://127.0.0.1:9/none",
    });
    const url = `http://127.0.0.1:${port}/`;
    await eventually(() => expect(listening.stderr()).toContain("Listening"));
    expect((await post(url, newSecret(), changed, "evt_1")).status).toBe(400);
    expect((await post(url, secret, changed, "evt_1")).status).toBe(204);
    expect((await post(url, secret, changed, "evt_1")).status).toBe(204);
    expect((await fetch(url)).status).toBe(405);
    const lines = listening
      .stdout()
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
    listening.signal("SIGINT");
    expect(await listening.ended).toMatchObject({ code: 0 });
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
    const { ended } = begin(["listen", "--org", org()], { WEBHOOK_ALLOW_PRIVATE: "" });
    expect(await ended).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining("WEBHOOK_ALLOW_PRIVATE is off"),
    });
  });
});
