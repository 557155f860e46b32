import { once } from "node:events";
import type { ChildProcess } from "node:child_process";
import { describe, expect, it } from "vitest";
import { newUuid } from "../../../src/platform/ids.ts";
import { newSecret, sign } from "../../../src/webhooks/signing/signature.ts";
import { waitForExit } from "../../support/processes/cli-process.ts";
import { useCliWebhooksFixture } from "../../support/processes/cli-webhooks.fixture.ts";
import { eventually } from "../../support/eventually.ts";

const { start, run, services, agent, org } = useCliWebhooksFixture();

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
    until: (check) => eventually(() => expect(check(), `${out}\n${err}`).toBe(true)),
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
      await services().createJob(agent());
      const { child, out, err, until } = startListen([
        "--org",
        org(),
        "--events",
        "job.created,job.status_changed",
      ]);
      await until(() => err().includes("Waiting for events"));
      const [, id = "", url = ""] = /Endpoint (whe_\w+) of .* sends to (\S+)/.exec(err()) ?? [];
      expect(await services().endpoints.get(agent(), id)).toMatchObject({
        url,
        eventTypes: ["job.created", "job.status_changed"],
      });
      expect(err()).toMatch(/curl -X PATCH http:\/\/127\.0\.0\.1:4000\/v1\/jobs\/by-marking\/MN-/);

      await services().deliveries.sendTest(agent(), id);
      const { secrets } = await services().endpoints.reveal(agent(), id);
      expect((await post(url, secrets[0] ?? "", changed)).status).toBe(204);
      await until(() => out().includes("job.status_changed"));
      expect(out()).toMatch(/^\d\d:\d\d:\d\d {2}webhook\.test {2}verified\n {4}This is a test/);
      expect(out()).toContain("job.status_changed  MN-1  #4  verified\n");
      expect(out()).toContain('    normalized_status: "pending" -> "failed"\n');
      expect(out()).not.toContain("\u001b");

      child.kill(signal);
      expect(await once(child, "close")).toEqual([0, null]);
      expect(err()).toContain(`Endpoint ${id} deleted.`);
      expect(await services().endpoints.find(agent(), id)).toBeNull();
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
    const ended = await waitForExit(start(["listen", "--org", org()], { WEBHOOK_ALLOW_PRIVATE: "" }));
    expect(ended).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining("WEBHOOK_ALLOW_PRIVATE is off"),
    });
  });
});
