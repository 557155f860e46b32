/** Changes made elsewhere appear without a reload. */
import type { Page, Route, WebSocketRoute } from "playwright-core";
import { beforeEach, describe, expect, it } from "vitest";
import type { TestUser } from "../support/accounts/session-client.ts";
import { createAgent } from "../support/browser/console.fixture.ts";
import { startConsole } from "../support/browser/shared-console.ts";
import { expectVisible, openTab } from "../support/browser/tabs.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";

/** After a failed refetch. */
const RETRY_DELAY_MS = 10_000;

const app = await startConsole();
let agent: TestOrganization;
let owner: TestUser;
let page: Page;
let markingNumber: string;

beforeEach(async () => {
  const created = await createAgent(app, { jobs: [{ patch: { normalized_status: "pending" } }] });
  ({ agent, user: owner } = created);
  [markingNumber = ""] = created.numbers;
  ({ page } = await openTab(app, { user: owner }));
});

/** Changes the job through REST. */
async function change(patch: object): Promise<void> {
  const path = `/v1/jobs/by-marking/${markingNumber}`;
  const { status } = await app.call(path, { method: "PATCH", key: agent.key, body: JSON.stringify(patch) });
  expect(status).toBe(200);
}

interface HeldSubscriptions {
  /** Forwards the subscription; resolves once the server has confirmed it. */
  readonly release: () => Promise<void>;
  /** Resolves once the page received an event. */
  readonly eventReceived: Promise<void>;
}

/** Delays the page's subscriptions from the nth on until `release` is called. */
async function holdSubscriptions(nth = 1): Promise<HeldSubscriptions> {
  const released = Promise.withResolvers<void>();
  const confirmed = Promise.withResolvers<void>();
  const event = Promise.withResolvers<void>();
  let times = 0;
  await page.routeWebSocket(/\/graphql$/, (socket) => {
    const server = socket.connectToServer();
    socket.onMessage(async (message) => {
      const { type } = JSON.parse(String(message)) as { type: string };
      if (type === "subscribe" && (times += 1) >= nth) await released.promise;
      server.send(message);
    });
    server.onMessage((message) => {
      socket.send(message);
      const { type } = JSON.parse(String(message)) as { type: string };
      if (type === "ping" && times >= nth) confirmed.resolve();
      if (type === "next") event.resolve();
    });
  });
  return {
    async release() {
      released.resolve();
      await confirmed.promise;
    },
    eventReceived: event.promise,
  };
}

interface HeldResponse {
  /** Resolves once the server has responded. */
  readonly received: Promise<void>;
  readonly release: () => void;
}

/** Delays the nth response to this operation until `release` is called. */
async function holdResponse(operationName: string, nth = 1): Promise<HeldResponse> {
  const received = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  await interceptNth(operationName, nth, async (route) => {
    const response = await route.fetch();
    received.resolve();
    await released.promise;
    await route.fulfill({ response });
  });
  return { received: received.promise, release: released.resolve };
}

/** Handles the nth request of this operation with `handle`. The returned function counts the requests so far. */
async function interceptNth(
  operationName: string,
  nth: number,
  handle: (route: Route) => Promise<void>,
): Promise<() => number> {
  let times = 0;
  await page.route("**/graphql", async (route) => {
    const body = route.request().postDataJSON() as { operationName?: string };
    if (body.operationName !== operationName || (times += 1) !== nth) return await route.continue();
    return await handle(route);
  });
  return () => times;
}

const tile = (name: RegExp) =>
  page.getByRole("list", { name: "Jobs by category" }).getByRole("link", { name });
const history = () => page.getByRole("region", { name: "History" });
const expectOutForDelivery = () => expectVisible(history().getByText("Status changed: Out for delivery"));
const expectAnnounced = (status: string) =>
  page.getByText(`This job has changed. Its status is ${status}.`).waitFor({ state: "attached" });

const rowOf = (number: string) => page.getByRole("row").filter({ hasText: number });

describe("the list of jobs", () => {
  it("shows a change in its row, and new jobs on request", async () => {
    const { release } = await holdSubscriptions();
    await page.goto("/jobs");
    await expectVisible(rowOf(markingNumber).getByText("Pending"));
    await release();

    await change({ normalized_status: "out_for_delivery" });
    await expectVisible(rowOf(markingNumber).getByText("Out for delivery"));
    const [added = ""] = await app.createJobs(agent, [{}]);
    await expectVisible(page.getByRole("status").getByText("1 new job"));
    expect(await rowOf(added).count(), "no row moves by itself").toBe(0);
    await page.getByRole("button", { name: "1 new job · Show" }).click();
    await expectVisible(rowOf(added));
    await page.getByRole("button", { name: "1 new job · Show" }).waitFor({ state: "hidden" });
  });

  it("keeps a row that no longer matches until the user asks", async () => {
    const { release } = await holdSubscriptions();
    await page.goto("/jobs?status=pending");
    await expectVisible(rowOf(markingNumber).getByText("Pending"));
    await release();

    await change({ normalized_status: "out_for_delivery" });
    await page.getByRole("button", { name: "The list has changed · Show" }).click();
    await expectVisible(page.getByText("No matching jobs"));
  });

  it("stands still while the user edits, and catches up then", async () => {
    await page.goto("/jobs");
    await rowOf(markingNumber).getByRole("checkbox").check();
    await page.getByRole("button", { name: "Reschedule" }).click();
    const drawer = page.getByRole("dialog");
    await expectVisible(drawer);
    let reads = 0;
    await page.route("**/graphql", async (route) => {
      if (route.request().postData()?.includes("JobsPage") === true) reads += 1;
      await route.continue();
    });
    await change({ normalized_status: "out_for_delivery" });
    // Longer than the list waits after a change.
    await page.waitForTimeout(3_000);
    expect(reads).toBe(0);
    await drawer.getByRole("button", { name: "Cancel" }).click();
    await expectVisible(rowOf(markingNumber).getByText("Out for delivery"));
  });
});

describe("a change between loading the page and its subscription", () => {
  it("appears on the job's page and is announced, as do later ones", async () => {
    const { release } = await holdSubscriptions();
    await page.goto(`/jobs/${markingNumber}`);
    await expectVisible(history().getByText("Created"));

    await change({ normalized_status: "out_for_delivery" });
    expect(await page.getByText("Out for delivery").count(), "the page is not subscribed yet").toBe(0);
    await release();
    await expectOutForDelivery();
    await expectAnnounced("Out for delivery");
    await change({ normalized_status: "arrived" });
    await expectVisible(history().getByText("Status changed: Arrived"));
    await expectAnnounced("Arrived");
  });

  it(
    "appears on the job's page even if its event arrives during an older query",
    { tags: "long" },
    async () => {
      const { release, eventReceived } = await holdSubscriptions();
      const second = await holdResponse("JobPage", 2);
      await page.goto(`/jobs/${markingNumber}`);
      await release();
      await second.received;
      await change({ normalized_status: "out_for_delivery" });
      await eventReceived;

      second.release();
      await expectOutForDelivery();
      await expectAnnounced("Out for delivery");
    },
  );

  it("appears on the job's page even if the first refetch fails", { tags: "long" }, async () => {
    ({ page } = await openTab(app, { user: owner, hasOwnClock: true }));
    await page.clock.install();
    const { release } = await holdSubscriptions();
    const times = await interceptNth("JobPage", 2, (route) => route.abort());
    const failed = page.waitForEvent("requestfailed", (request) => request.url().endsWith("/graphql"));
    await page.goto(`/jobs/${markingNumber}`);
    await expectVisible(history().getByText("Created"));
    await change({ normalized_status: "out_for_delivery" });
    await release();
    await failed;
    await page.clock.fastForward(RETRY_DELAY_MS);
    await expectOutForDelivery();
    expect(times()).toBeGreaterThan(2);
  });

  it(
    "appears in the job's history even if the first query is still in flight",
    { tags: "long" },
    async () => {
      const { release } = await holdSubscriptions();
      const first = await holdResponse("JobHistory");
      await page.goto(`/jobs/${markingNumber}`);
      await first.received;
      await change({ normalized_status: "out_for_delivery" });

      await release();
      await expectVisible(page.getByRole("main").getByText("Out for delivery").first());
      first.release();
      await expectOutForDelivery();
    },
  );

  it("appears in the dashboard's numbers, as do later ones, with what changed", async () => {
    const { release } = await holdSubscriptions();
    await page.goto("/");
    await expectVisible(tile(/^Open\s*1$/));
    await expectVisible(page.getByRole("status").getByText("Connecting", { exact: true }));

    await change({ normalized_status: "failed", failure_reason: "recipient_unavailable" });
    await release();
    await expectVisible(tile(/^Attention\s*1$/));
    await expectVisible(page.getByRole("status").getByText("Live", { exact: true }));
    await change({ normalized_status: "pending", failure_reason: null });
    await expectVisible(page.getByText("Delivery failed → Pending"));
    await expectVisible(tile(/^Open\s*1$/));
    await expectVisible(tile(/^Attention\s*0$/));
  });

  it(
    "appears in the dashboard's numbers even if the first query is still in flight",
    { tags: "long" },
    async () => {
      const { release } = await holdSubscriptions();
      const first = await holdResponse("Dashboard");
      await page.goto("/");
      await first.received;
      await change({ normalized_status: "failed", failure_reason: "recipient_unavailable" });

      await release();
      first.release();
      await expectVisible(tile(/^Attention\s*1$/));
    },
  );
});

it(
  "shows Live once the page's own subscription is active, not the previous page's",
  { tags: "long" },
  async () => {
    const { release } = await holdSubscriptions(2);
    await page.goto(`/jobs/${markingNumber}`);
    await expectVisible(history().getByText("Created"));
    await change({ instructions: "Ring the bell" });
    await expectVisible(page.getByText("Ring the bell").first());

    await page.getByRole("link", { name: "Dashboard", exact: true }).click();
    const state = page.getByRole("status");
    await expectVisible(state.getByText("Connecting", { exact: true }));
    await release();
    await expectVisible(state.getByText("Live", { exact: true }));
  },
);

it("shows changes that happened while the connection was lost on the dashboard", async () => {
  const { promise: reconnected, resolve: reconnect } = Promise.withResolvers<void>();
  const sockets: WebSocketRoute[] = [];
  await page.routeWebSocket(/\/graphql$/, async (socket) => {
    sockets.push(socket);
    if (sockets.length > 1) await reconnected;
    socket.connectToServer();
  });
  await page.goto("/");
  const state = page.getByRole("status");
  await expectVisible(state.getByText("Live", { exact: true }));
  await sockets[0]?.close({ code: 1012 });
  await expectVisible(state.getByText("Reconnecting", { exact: true }));

  await change({ normalized_status: "failed", failure_reason: "recipient_unavailable" });
  reconnect();
  await expectVisible(tile(/^Attention\s*1$/));
  await expectVisible(state.getByText("Live", { exact: true }));
});

it("keeps input in a job's form and shows what someone else changed meanwhile", async () => {
  const { release } = await holdSubscriptions();
  await page.goto(`/jobs/${markingNumber}`);
  await release();
  await page.getByRole("button", { name: "Edit" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("textbox", { name: "Recipient", exact: true }).fill("Harbour Pharmacy");

  await change({ recipient_name: "Mill Lane Bakery", postal_code: "1234" });
  await expectVisible(dialog.getByText("This job has changed"));
  await expect.poll(() => dialog.getByLabel("Postal code").inputValue()).toBe("1234");
  await expect
    .poll(() => dialog.getByRole("textbox", { name: "Recipient", exact: true }).inputValue())
    .toBe("Harbour Pharmacy");
  expect(await dialog.getByRole("button", { name: "Save" }).isDisabled(), "the conflict is unresolved").toBe(
    true,
  );
});
