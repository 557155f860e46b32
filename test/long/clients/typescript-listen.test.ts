/** `waymark-client listen`: posts events like webhooks, signed with the secret that it prints. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import manifest from "../../../package.json" with { type: "json" };
import { verifyWebhook, Waymark } from "../../../clients/typescript/src/index.ts";
import { packageFiles } from "../../../src/sdk/api.ts";
import { buildTypescriptClient } from "../../../src/sdk/build-typescript.ts";
import { startTestApp, type TestApp, type TestOrganization } from "../../support/app/app.fixture.ts";
import { waitUntilFeedIsComplete } from "../../support/app/feed-client.ts";
import { patchJob } from "../../support/app/job-client.ts";
import { CLIENT_FOLDER } from "../../support/clients/typescript.ts";
import { eventually, eventuallyTruthy } from "../../support/eventually.ts";
import { freePort } from "../../support/free-port.ts";
import { waitForExit } from "../../support/processes/cli-process.ts";
import { startTestReceiver } from "../../support/webhooks/receiver.ts";

const MAIN = join(CLIENT_FOLDER, "src", "listen", "main.ts");

let app: TestApp;
let agent: TestOrganization;
let number: string;

beforeAll(async () => {
  app = await startTestApp({ WEBHOOK_ALLOW_PRIVATE: "on" });
  agent = await app.createOrganization("agent");
  [number = ""] = await app.createJobs(agent, [{}]);
  // The listener starts at the end of the feed, which lags while another transaction is open.
  await waitUntilFeedIsComplete(app.database);
});
afterAll(() => app[Symbol.asyncDispose]());

interface Listener {
  child: ChildProcess;
  /** What it printed so far. */
  output: () => string;
  /** Waits until it follows the feed. Returns the secret that it printed. */
  ready: () => Promise<string>;
}

/** Sends a signal to a process and those that it started, as a terminal does. */
function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid !== undefined) process.kill(-pid, signal);
}

/** `command` runs the program. It gets the arguments of `listen`. */
function startListener(
  args: readonly string[],
  env: Record<string, string> = {},
  [file, ...first]: readonly [string, ...string[]] = [process.execPath, MAIN],
): Listener {
  const child = spawn(file, [...first, "listen", "--base-url", app.url, ...args], {
    env: { PATH: process.env["PATH"], WAYMARK_KEY: agent.key, ...env },
    detached: true,
  });
  onTestFinished(() => {
    if (child.exitCode === null && child.signalCode === null) signalGroup(child, "SIGKILL");
  });
  let text = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => (text += chunk.toString()));
  const ready = (): Promise<string> =>
    eventuallyTruthy(() => /Signing secret: (\S+)\nPosting/.exec(text)?.[1]);
  return { child, output: () => text, ready };
}

describe("listen", () => {
  it("posts new events with the body and headers of a real webhook, prints their status, and ends with Ctrl-C", async () => {
    await using real = await startTestReceiver();
    await using local = await startTestReceiver({ respond: () => ({ status: 202 }) });
    const waymark = new Waymark({ apiKey: agent.key, baseUrl: app.url });
    await waymark.webhooks.createEndpoint({ url: real.url });
    const listener = startListener(["--forward-to", local.url]);
    const secret = await listener.ready();
    await patchJob(app, agent, number, { weight: 1 });

    const expected = await real.next();
    const { body, headers, method } = await local.next();
    expect([method, body]).toEqual(["POST", expected.body]);
    const names = (request: typeof expected): string[] =>
      Object.keys(request.headers).filter((name) => /^(webhook-|content-type|user-agent)/.test(name));
    expect(names({ ...expected, headers }).toSorted()).toEqual(names(expected).toSorted());
    expect(headers["webhook-id"]).toBe(expected.headers["webhook-id"]);
    expect(headers["content-type"]).toBe(expected.headers["content-type"]);
    expect(headers["user-agent"]).toMatch(/^Waymark-Webhooks\/1\.0/);
    expect((await verifyWebhook(body, headers, secret)).type).toBe("job.updated");
    await eventually(() => expect(listener.output()).toContain(`202  job.updated  ${number}  evt_`));

    listener.child.kill("SIGINT");
    expect(await once(listener.child, "exit")).toEqual([0, null]);
    expect(listener.output()).not.toContain(agent.key);
  });

  it("without a receiver, prints events and their changes", async () => {
    const listener = startListener([]);
    await eventually(() => expect(listener.output()).toContain("Printing new events"));
    await patchJob(app, agent, number, { weight: 3 });
    await eventually(() =>
      expect(listener.output()).toMatch(
        new RegExp(`^job\\.updated  ${number}  evt_\\S+  \\{"weight":\\{"from":\\d+,"to":3\\}\\}$`, "m"),
      ),
    );
  });

  it("keeps an event while the receiver refuses connections, and signs with a given secret", async () => {
    const port = await freePort();
    const given = `whsec_${Buffer.from("0123456789abcdef01234567").toString("base64")}`;
    const env = { WAYMARK_WEBHOOK_SECRET: given };
    const listener = startListener(["--forward-to", `http://127.0.0.1:${port}/hooks`], env);
    expect(await listener.ready()).toBe(given);
    await patchJob(app, agent, number, { weight: 2 });
    await eventually(() => expect(listener.output()).toContain("refuses connections: start your receiver"));

    await using local = await startTestReceiver({ port });
    const { body, headers } = await local.next();
    await expect(verifyWebhook(body, headers, given)).resolves.toMatchObject({
      data: { job: { weight: 2 } },
    });
  });
});

describe("listen, if the receiver closes the connection without an answer", () => {
  it("posts the event again with the same ID", async () => {
    let requests = 0;
    await using local = await startTestReceiver({
      respond: (_received, response) => {
        requests += 1;
        if (requests > 1) return {};
        response.destroy();
        return undefined;
      },
    });
    const listener = startListener(["--forward-to", local.url]);
    await listener.ready();
    await patchJob(app, agent, number, { weight: 3 });
    const [first, second] = [await local.next(), await local.next()];
    expect(second.headers["webhook-id"]).toBe(first.headers["webhook-id"]);
    await eventually(() => expect(listener.output()).toContain("200  job.updated"));
  });
});

describe("the packed command line", () => {
  it("runs with npx from the URL of the package, needs no registry, and posts an event", async () => {
    const tarball = await buildTypescriptClient(manifest.version);
    await using site = await startTestReceiver({ respond: () => ({ body: tarball }) });
    await using local = await startTestReceiver();
    await using home = await mkdtempDisposable(join(tmpdir(), "waymark-npx-"));
    const env = {
      HOME: home.path,
      npm_config_cache: join(home.path, "cache"),
      npm_config_registry: "http://127.0.0.1:9/",
      npm_config_update_notifier: "false",
    };
    const url = `${new URL(site.url).origin}/sdk/${packageFiles(manifest.version).typescript}`;
    const listener = startListener(["--forward-to", local.url], env, ["npx", "--yes", url]);
    const secret = await listener.ready();
    await patchJob(app, agent, number, { weight: 4 });
    const { body, headers } = await local.next();
    await expect(verifyWebhook(body, headers, secret)).resolves.toMatchObject({ type: "job.updated" });

    signalGroup(listener.child, "SIGINT");
    await once(listener.child, "close");
  });
});

describe("an invocation that can't work", () => {
  const badSecret = { WAYMARK_WEBHOOK_SECRET: "whsec_s3cret" };
  it.each([
    [["--forward-to", "http://127.0.0.1:1"], { WAYMARK_KEY: "" }, 2, "Set WAYMARK_KEY or pass --key"],
    [["--forward-to", "localhost:3000"], {}, 2, "--forward-to must be a URL with http or https"],
    [["--forward-to", "http://127.0.0.1:1", "--secret", "s3cret"], {}, 2, "--secret must be whsec_ and"],
    [["--forward-to", "http://127.0.0.1:1"], badSecret, 2, "WAYMARK_WEBHOOK_SECRET must be whsec_ and"],
    [["--forward"], {}, 2, "Unknown option '--forward'"],
    [["now", "--forward-to", "http://127.0.0.1:1"], {}, 2, "listen takes only options, got now"],
    [["--forward-to", "http://127.0.0.1:1"], { WAYMARK_KEY: "wm_unknown" }, 1, "API key"],
    [["--forward-to", "http://127.0.0.1:1", "--types", "job.exploded"], {}, 1, "job.exploded"],
  ])("explains the problem: %j", async (args, env, code, message) => {
    const { child } = startListener(args, env);
    const result = await waitForExit(child);
    expect([result.code, result.stderr]).toEqual([code, expect.stringContaining(message)]);
    expect(result.stderr.includes("Usage:")).toBe(code === 2);
    expect(result.stderr).not.toContain("s3cret");
  });
});
