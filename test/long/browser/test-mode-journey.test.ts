/**
 * Test mode as a new partner meets it: registration, a test key, five calls with curl, a verified webhook, an endpoint that
 * fails until it is disabled, and the replay of what it missed. After the registration link, no operator acts.
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it, vi } from "vitest";
import { verifyWebhook } from "../../../clients/typescript/src/index.ts";
import { VALID_PASSWORD, createTestUser } from "../../support/accounts/session-client.ts";
import type { ApiResponse } from "../../support/app/app-instance.ts";
import * as journey from "../../support/browser/onboarding-flow.ts";
import { createMouseUser } from "../../support/browser/page-user.ts";
import { startWorkingConsole } from "../../support/browser/shared-console.ts";
import { openTab } from "../../support/browser/tabs.ts";
import { eventually } from "../../support/eventually.ts";
import { startTestReceiver } from "../../support/webhooks/receiver.ts";

vi.setConfig({ testTimeout: 480_000 });

/** Longer than the retries of a test endpoint, which take a minute. */
const RETRIES = { timeoutMs: 150_000 };

const { app, mails } = await startWorkingConsole();
const operator = await createTestUser(app, { organizationId: null, role: "operator" });

it("a partner drives a job and sees its webhooks fail, stop, resume and arrive", async () => {
  await using receiver = await startTestReceiver();
  const partner = await register("Journey Couriers", "dev@journey.example");
  const key = await journey.createKey(partner, "First steps", { test: true });

  /** Sends a request with curl and returns the data of its answer. */
  const curl = async (path: string, body?: object): Promise<ApiResponse["body"]["data"]> => {
    const args = ["-sS", `${app.url}${path}`, "-H", `x-api-key: ${key}`];
    if (body) args.push("-H", "content-type: application/json", "-d", JSON.stringify(body));
    const { stdout } = await promisify(execFile)("curl", args);
    const { data, error } = JSON.parse(stdout) as ApiResponse["body"];
    expect(error).toBeNull();
    return data;
  };
  const deliveries = async (status: string): Promise<{ id: string; event_type: string }[]> =>
    (await curl(`/v1/webhook-deliveries?status=${status}`)).items;

  expect(await curl("/v1/me")).toMatchObject({ mode: "test" });
  const { endpoint, secret } = await curl("/v1/webhook-endpoints", { url: receiver.url });
  const { items } = await curl("/v1/test/jobs", { count: 2 });
  const [first, second] = items.map((job: { marking_number: string }) => job.marking_number);
  await curl(`/v1/test/jobs/by-marking/${first}/run`, { path: "delivered" });
  await eventually(async () => {
    const { normalized_status: status } = await curl(`/v1/jobs/by-marking/${first}`);
    expect(status).toBe("completed");
  });
  const received = await eventually(() => {
    const last = receiver.received.find(({ body }) => body.includes('"to":"completed"'));
    expect(last).toBeDefined();
    return last!;
  });
  const event = await verifyWebhook(received.body, received.headers, secret);
  expect(event).toMatchObject({ data: { job: { marking_number: first } } });

  receiver.respond = () => ({ status: 500 });
  await curl(`/v1/test/jobs/by-marking/${second}/run`, { path: "cancelled" });
  await eventually(async () => {
    expect(await deliveries("failed")).not.toEqual([]);
    expect(await curl(`/v1/webhook-endpoints/${endpoint.id}`)).toMatchObject({ status: "disabled" });
  }, RETRIES);

  receiver.respond = () => ({ status: 204 });
  const missed = (await deliveries("failed")).length;
  await curl(`/v1/webhook-endpoints/${endpoint.id}/resume`, { pending: "send" });
  const replay = await curl(`/v1/webhook-endpoints/${endpoint.id}/replay`, { which: "failed" });
  expect(replay.replayed).toBeGreaterThanOrEqual(missed);
  await eventually(async () => {
    const { items: replayed } = await curl(`/v1/webhook-deliveries?cursor=${replay.cursor}`);
    expect(replayed).toHaveLength(replay.replayed);
    expect(replayed.every(({ status }: { status: string }) => status === "delivered")).toBe(true);
  });
});

async function visit(): Promise<journey.ConsoleVisitor> {
  const { page } = await openTab(app);
  return { page, user: createMouseUser(page) };
}

/** Requests an account, has it approved, and signs in with the link of the mail. */
async function register(organization: string, email: string): Promise<journey.ConsoleVisitor> {
  const [partner, reviewer] = [await visit(), await visit()];
  await journey.requestAccount(partner, email, organization);
  await reviewer.page.goto("/sign-in");
  await journey.signInByForm(reviewer, operator);
  await journey.approveRequest(reviewer, organization);
  await journey.registerAccount(partner, await journey.registrationLink(mails, email), "Developer");
  await journey.signInByForm(partner, { email, password: VALID_PASSWORD });
  return partner;
}
