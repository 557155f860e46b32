/** Runs the starter kit `clients/examples/webhook-receiver`, with the client that the app serves. */
import { appendFile, rm, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { once } from "node:events";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { startTestApp, type TestApp, type TestOrganization } from "../../support/app/app.fixture.ts";
import { expectData } from "../../support/app/assertions.ts";
import { patchJob } from "../../support/app/job-client.ts";
import { installKit, runNpm, type RunningKit } from "../../support/clients/starter-kit.ts";
import { eventually } from "../../support/eventually.ts";
import { freePort } from "../../support/free-port.ts";
import { queryData } from "../../support/graphql/client.ts";
import { BUILD_TIMEOUT_MS, buildSite } from "../../support/site.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: BUILD_TIMEOUT_MS });

const SECRET = `whsec_${Buffer.alloc(24, 1).toString("base64")}`;

/** Handles events as the files in its folder say: it throws while `fail-<job>` exists, and never returns while `hang` exists. */
const TEST_HANDLER = `
import { existsSync } from "node:fs";
export async function handleEvent({ data: { job, sequence } }) {
  console.log("Begun", job.id, sequence);
  if (existsSync("hang")) await new Promise(() => undefined);
  if (existsSync("fail-" + job.id)) throw new Error("The test wants it");
  console.log("Handled", job.id, sequence);
}`;

const opened = new AsyncDisposableStack();
let app: TestApp;
/** The kit as it is. */
let folder: string;
/** The kit with the handler of this test. */
let testFolder: string;
let count = 0;

beforeAll(async () => {
  await buildSite();
  app = opened.use(await startTestApp({ WEBHOOK_ALLOW_PRIVATE: "on" }));
  folder = opened.use(await installKit("webhook-receiver", app)).path;
  testFolder = opened.use(await installKit("webhook-receiver", app)).path;
  await writeFile(join(testFolder, "src/handle-event.ts"), TEST_HANDLER);
});
afterAll(() => opened.disposeAsync());

interface Receiver extends RunningKit {
  url: string;
  /** Starts another process on the same queue. */
  restart: () => Promise<Receiver>;
}

interface ReceiverOptions {
  secrets?: string;
  path?: string;
  port?: number;
  database?: string;
}

/** Starts the kit as its README says, with a new queue. */
async function startReceiver({
  secrets = SECRET,
  path = testFolder,
  ...options
}: ReceiverOptions = {}): Promise<Receiver> {
  const { port = await freePort(), database = `queue-${(count += 1)}.sqlite` } = options;
  const settings = { WEBHOOK_SECRETS: secrets, PORT: String(port), DATABASE: database };
  const kit = runNpm(path, ["start"], settings);
  await kit.waitFor("Listening on port");
  const restart = (): Promise<Receiver> => startReceiver({ secrets, path, port, database });
  return { ...kit, url: `http://127.0.0.1:${port}/webhooks`, restart };
}

interface SentEvent {
  job: string;
  sequence: number;
  id?: string;
  secret?: string;
}

function signed({ job, sequence, id = `evt_${job}_${sequence}`, secret = SECRET }: SentEvent): {
  headers: Record<string, string>;
  body: string;
} {
  const now = new Date();
  const body = JSON.stringify({ type: "job.updated", data: { job: { id: job }, sequence } });
  const headers = {
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(now.getTime() / 1_000)),
    "webhook-signature": new Webhook(secret).sign(id, now, body),
  };
  return { headers, body };
}

/** Returns the status of the answer. */
async function send({ url }: Receiver, event: SentEvent): Promise<number> {
  return (await fetch(url, { method: "POST", ...signed(event) })).status;
}

const linesOf = (kit: RunningKit, word: string): string[] =>
  kit
    .output()
    .split("\n")
    .filter((line) => line.startsWith(`${word} `));

const expectHandled = (kit: RunningKit, ...events: string[]): Promise<void> =>
  eventually(() => expect(linesOf(kit, "Handled")).toEqual(events.map((event) => `Handled ${event}`)));

describe("with Waymark", () => {
  it("handles the changes of a job in order, before, during and after a rotation of the secret", async () => {
    const agent: TestOrganization = await app.createOrganization("agent");
    const [number = ""] = await app.createJobs(agent, [{}]);
    const change = async (status: string): Promise<void> =>
      void expectData(await patchJob(app, agent, number, { normalized_status: status }));
    const port = await freePort();
    const create = `mutation ($input: CreateWebhookEndpointInput!) {
      createWebhookEndpoint(input: $input) { endpoint { id } secret } }`;
    const input = { url: `http://127.0.0.1:${port}/webhooks` };
    const { createWebhookEndpoint: created } = await queryData(app, create, {
      key: agent.key,
      variables: { input },
    });

    const first = await startReceiver({ secrets: created.secret, path: folder, port });
    await change("in_transit");
    await first.waitFor(`Handled job.status_changed ${number} in_transit version 2`);
    const rotate = `mutation ($id: ID!) { rotateWebhookSecret(id: $id) { secret } }`;
    const { rotateWebhookSecret: rotated } = await queryData(app, rotate, {
      key: agent.key,
      variables: { id: created.endpoint.id },
    });
    await change("arrived");
    await first.waitFor(`Handled job.status_changed ${number} arrived version 3`);
    await first.stop();
    const second = await startReceiver({
      secrets: `${rotated.secret},${created.secret}`,
      path: folder,
      port,
    });
    await change("completed");
    await second.waitFor(`Handled job.status_changed ${number} completed version 4`);
  });
});

describe("the answer", () => {
  it("is 204 for an event, new or repeated, and it is handled once", async () => {
    const receiver = await startReceiver();
    expect(await send(receiver, { job: "a", sequence: 1 })).toBe(204);
    expect(await send(receiver, { job: "a", sequence: 1 })).toBe(204);
    expect(await send(receiver, { job: "a", sequence: 2 })).toBe(204);
    await expectHandled(receiver, "a 1", "a 2");
    expect(linesOf(receiver, "Known")).toEqual(["Known evt_a_1 job.updated"]);
  });

  it("is 204 with either of two secrets, and 400 with another or without a signature", async () => {
    const [former, other] = [2, 3].map((byte) => `whsec_${Buffer.alloc(24, byte).toString("base64")}`);
    const receiver = await startReceiver({ secrets: `${SECRET},${former}` });
    expect(await send(receiver, { job: "a", sequence: 1 })).toBe(204);
    expect(await send(receiver, { job: "a", sequence: 2, secret: former! })).toBe(204);
    expect(await send(receiver, { job: "a", sequence: 3, secret: other! })).toBe(400);
    expect((await fetch(receiver.url, { method: "POST", body: "{}" })).status).toBe(400);
    await expectHandled(receiver, "a 1", "a 2");
  });

  it("is 404 for another path, 405 for another method, and 413 for a body above 1 MiB", async () => {
    const { url } = await startReceiver();
    expect((await fetch(`${url}/other`, { method: "POST" })).status).toBe(404);
    const get = await fetch(url);
    expect([get.status, get.headers.get("allow")]).toEqual([405, "POST"]);
    expect((await fetch(url, { method: "POST", body: "x".repeat(1024 * 1024 + 1) })).status).toBe(413);
  });
});

describe("the queue", () => {
  it("retries a failed event, keeps the order of its job meanwhile, and goes on with other jobs", async () => {
    await appendFile(join(testFolder, "fail-a"), "");
    const receiver = await startReceiver();
    await send(receiver, { job: "a", sequence: 1 });
    await receiver.waitFor("Failed evt_a_1");
    await send(receiver, { job: "a", sequence: 2 });
    await send(receiver, { job: "b", sequence: 1 });
    await expectHandled(receiver, "b 1");
    await rm(join(testFolder, "fail-a"));
    await expectHandled(receiver, "b 1", "a 1", "a 2");
  });

  it("skips an event that arrives after a newer one of its job was handled", async () => {
    const receiver = await startReceiver();
    await send(receiver, { job: "a", sequence: 2 });
    await expectHandled(receiver, "a 2");
    await send(receiver, { job: "a", sequence: 1 });
    await receiver.waitFor("Outdated evt_a_1");
    await send(receiver, { job: "a", sequence: 3 });
    await expectHandled(receiver, "a 2", "a 3");
  });

  it("loses no event that was answered, if the process is killed", async () => {
    await appendFile(join(testFolder, "hang"), "");
    const receiver = await startReceiver();
    expect(await send(receiver, { job: "a", sequence: 1 })).toBe(204);
    expect(await send(receiver, { job: "b", sequence: 1 })).toBe(204);
    await receiver.waitFor("Begun a 1");
    await receiver.stop("SIGKILL");
    await rm(join(testFolder, "hang"));
    const restarted = await receiver.restart();
    await expectHandled(restarted, "a 1", "b 1");
    expect(await send(restarted, { job: "a", sequence: 1 })).toBe(204);
    await restarted.waitFor("Known evt_a_1");
  });
});

describe("the process", () => {
  it("answers a request that has begun, stores its event and stops, on SIGTERM", async () => {
    const receiver = await startReceiver();
    const { headers, body } = signed({ job: "a", sequence: 1 });
    const started = request(receiver.url, {
      method: "POST",
      headers: { ...headers, "content-length": body.length },
    });
    started.write(body.slice(0, 10));
    const answered = once(started, "response") as Promise<[{ statusCode: number }]>;
    // The server has read the headers once it answers a later request.
    expect(await send(receiver, { job: "b", sequence: 1 })).toBe(204);
    await expectHandled(receiver, "b 1");
    const stopped = receiver.stop();
    started.end(body.slice(10));
    expect((await answered)[0].statusCode).toBe(204);
    await stopped;
    expect(receiver.output()).toContain("Stored evt_a_1");
    expect(receiver.output()).toContain("Stopped");
    await expectHandled(await receiver.restart(), "a 1");
  });

  it.each(["", "secret", `${SECRET},secret`])(
    "stops if a secret is missing or invalid: %j",
    async (secrets) => {
      const kit = runNpm(folder, ["start"], { WEBHOOK_SECRETS: secrets });
      expect(await kit.exited).toBe(1);
      expect(kit.output()).toContain("Set WEBHOOK_SECRETS to the secret of the endpoint");
    },
  );
});
