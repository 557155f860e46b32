/** The receivers of the guide on webhooks, in each language, run and accept only genuine requests. */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it, type TestContext } from "vitest";
import { newSecret, sign } from "../../../src/webhooks/signing/signature.ts";
import { onlyBlock, readPage, testVectorOf } from "../../support/docs/guide-pages.ts";
import {
  documentedReceivers,
  findSkipReason,
  startDocumentedReceiver,
  type DocumentedReceiver,
} from "../../support/webhooks/documented-receivers.ts";

const verify = readPage("guide/webhooks/verify.md");
const vector = testVectorOf(verify);

const secret = newSecret();
const eventBody = '{"id": "evt_1", "type": "job.updated",  "town": "Tromsø 🚚"}';

const MAX_BYTES = 1024 * 1024;

interface Sent {
  path?: string;
  method?: string;
  secrets?: string[];
  id?: string;
  /** In seconds from now. */
  madeS?: number;
  /** The signed text. */
  body?: string;
  /** The sent text, if it is not `body`. */
  sentBody?: string;
  headers?: Record<string, string | null>;
  signature?: (own: string) => string;
}

/** Sends a request like our sender, with changes. Returns the status, or 413 if the receiver closed the connection. */
async function post(url: string, changes: Sent = {}): Promise<number> {
  const { secrets = [secret], id = "evt_1", madeS = 0, body = eventBody, headers = {} } = changes;
  const { path = "/webhooks", method = "POST", sentBody = body, signature = (own) => own } = changes;
  const timestampS = Math.floor(Date.now() / 1000) + madeS;
  const all = {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": String(timestampS),
    "webhook-signature": signature(sign(secrets, { id, timestampS, body })),
    ...headers,
  };
  const present = Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== null);
  const sent = { method, headers: present, ...(method !== "GET" && { body: sentBody }) };
  try {
    const response = await fetch(url + path, sent);
    return response.status;
  } catch (error) {
    // The receiver may close the connection before it has read a body that is too large.
    if (sentBody.length > MAX_BYTES) return 413;
    throw error;
  }
}

/** An event of this many bytes. */
function eventOf(bytes: number): string {
  const start = '{"type":"job.updated","text":"';
  return `${start}${"x".repeat(bytes - start.length - 2)}"}`;
}

const [accepted, rejected] = [204, 400];
/** Requests to a receiver, and the status that it must return. */
const cases: Record<string, [Sent, number]> = {
  "a good signature": [{}, accepted],
  "the same request again": [{}, accepted],
  "the second of two signatures": [{ secrets: [newSecret(), secret] }, accepted],
  "one among others that it does not know": [{ signature: (own) => `v1a,AAAA v1,AAAA ${own}` }, accepted],
  "a timestamp of four minutes ago": [{ madeS: -240 }, accepted],
  "a query in the URL": [{ path: "/webhooks?token=1" }, accepted],
  "another secret's signature": [{ secrets: [newSecret()] }, rejected],
  "a signature cut short": [{ signature: (own) => own.slice(0, -4) }, rejected],
  "a signature of another version": [{ signature: (own) => own.replace("v1,", "v2,") }, rejected],
  "no signature": [{ headers: { "webhook-signature": null } }, rejected],
  "no id": [{ headers: { "webhook-id": null } }, rejected],
  "another id": [{ headers: { "webhook-id": "evt_2" } }, rejected],
  "a timestamp of six minutes ago": [{ madeS: -360 }, rejected],
  "a timestamp six minutes ahead": [{ madeS: 360 }, rejected],
  "a timestamp in words": [{ headers: { "webhook-timestamp": "yesterday" } }, rejected],
  "a changed body": [{ sentBody: eventBody.replace("evt_1", "evt_3") }, rejected],
  "a body written again": [{ sentBody: JSON.stringify(JSON.parse(eventBody)) }, rejected],
  "another path": [{ path: "/" }, 404],
  "a path below": [{ path: "/webhooks/jobs" }, 404],
  "a path that begins alike": [{ path: "/webhooks2" }, 404],
  "another path and method": [{ path: "/jobs", method: "GET" }, 404],
  "another method": [{ method: "GET" }, 405],
  "another method with a body": [{ method: "PUT" }, 405],
  "a body of 1 MiB": [{ id: "evt_4", body: eventOf(MAX_BYTES) }, accepted],
  "a body larger than 1 MiB": [{ id: "evt_5", body: eventOf(MAX_BYTES + 1) }, 413],
  "another event": [{ id: "evt_6" }, accepted],
};
/** The events in `cases` that a receiver must print: each once. */
const printedIds = ["evt_1", "evt_4", "evt_6"];

describe("the receiver in", { timeout: 240_000 }, () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "waymark-docs-"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  /** Edits the page's example with `edit` and writes it to a new folder. Skips the test if it cannot run here. */
  async function prepare(
    receiver: DocumentedReceiver,
    skip: TestContext["skip"],
    edit: (code: string) => string = (code) => code,
  ): Promise<string> {
    const own = await mkdtemp(join(folder, "receiver-"));
    const { language, usesPackage } = receiver;
    const block = onlyBlock(verify, language, (text) => text.includes("standardwebhooks") === usesPackage);
    await writeFile(join(own, receiver.file), edit(block));
    const obstacle = await findSkipReason(receiver, own);
    skip(obstacle !== null, `skipped: ${obstacle}`);
    return own;
  }

  it.for(documentedReceivers)("$name accepts only our recent requests", async (receiver, { skip }) => {
    const own = await prepare(receiver, skip);
    const { url, output } = await startDocumentedReceiver(receiver, { folder: own, secret });
    const responses: Record<string, number> = {};
    for (const [name, [sent]] of Object.entries(cases)) responses[name] = await post(url, sent);
    const wanted = Object.entries(cases).map(([name, [, status]]) => [name, status]);
    expect(responses).toEqual(Object.fromEntries(wanted));
    await expect.poll(() => output().match(/evt_\d/g)).toEqual(printedIds);
  });

  it.for(documentedReceivers)("$name needs a secret", async (receiver, { skip }) => {
    const own = await prepare(receiver, skip);
    const started = startDocumentedReceiver(receiver, { folder: own, secret: "" });
    const outcome = await started.then(({ url }) => post(url), String);
    expect(String(outcome)).toMatch(receiver.startsWithoutSecret ? /^500$/ : /exited with (?!0:)/);
  });

  // The package has no setting for its tolerance.
  const withTolerance = documentedReceivers.filter(({ usesPackage }) => !usesPackage);
  it.for(withTolerance)("$name accepts the test vector if its age is allowed", async (receiver, { skip }) => {
    const own = await prepare(receiver, skip, allowAge);
    const started = { folder: own, secret: String(vector["secret"]) };
    const { url } = await startDocumentedReceiver(receiver, started);
    const command = onlyBlock(verify, "sh", (text) =>
      text.startsWith("curl -i http://127.0.0.1:9000/webhooks "),
    );
    expect(await statusOf(command, url)).toBe(accepted);
    expect(await statusOf(command.replace("Tromsø", "Tromso"), url)).toBe(rejected);
  });
});

/** Returns the example with a tolerance of 50 years. */
function allowAge(code: string): string {
  const changed = code
    .replace("5 * 60;", "50 * 365 * 24 * 60 * 60;")
    .replace(/5 \* 60$/m, "50 * 365 * 24 * 60 * 60")
    .replace("5 * time.Minute", "50 * 365 * 24 * time.Hour");
  expect(changed).not.toBe(code);
  return changed;
}

/** Runs the `curl -i` command of the page against another receiver. */
async function statusOf(command: string, url: string): Promise<number> {
  const script = command.replace("http://127.0.0.1:9000", url).replace("curl ", "curl --no-progress-meter ");
  const { stdout } = await promisify(execFile)("bash", ["-c", script]);
  return Number(/^HTTP\/1\.[01] (\d+)/.exec(stdout)?.[1]);
}
