/** What changes elsewhere is seen by who looks on, without a step of their own. */
import type { Browser, Page, Route, WebSocketRoute } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { createTestUser, type TestUser } from "../support/accounts/session-client.ts";
import { BROWSER_TIMEOUT_MS, expectVisible, startBrowser, openTab } from "../support/browser/tabs.ts";
import { startTestApp, type TestOrganization, type TestApp } from "../support/app/app.fixture.ts";

vi.setConfig({ testTimeout: BROWSER_TIMEOUT_MS, hookTimeout: BROWSER_TIMEOUT_MS });

const opened = new AsyncDisposableStack();
let browser: Browser;
let app: TestApp;
let agent: TestOrganization;
let owner: TestUser;
let page: Page;
let markingNumber: string;

beforeAll(async () => {
  browser = opened.adopt(await startBrowser(), (one) => one.close());
  app = opened.use(await startTestApp({ WAYMARK_ROLE: "api" }));
});
beforeEach(async () => {
  agent = await app.createOrganization("agent");
  owner = await createTestUser(app, { organizationId: agent.id, role: "owner" });
  [markingNumber = ""] = await app.createJobs(agent, [{ patch: { normalized_status: "pending" } }]);
  ({ page } = await openTab(browser, app, { user: owner }));
  return () => page.context().close();
});
afterAll(() => opened.disposeAsync());

/** By REST, as another program does. */
async function change(patch: object): Promise<void> {
  const path = `/v1/jobs/by-marking/${markingNumber}`;
  const { status } = await app.call(path, { method: "PATCH", key: agent.key, body: JSON.stringify(patch) });
  expect(status).toBe(200);
}

interface HeldSubscriptions {
  /** Resolves when the page has been told that it follows. */
  readonly letFollow: () => Promise<void>;
  /** Resolves once the page has been told of a change. */
  readonly told: Promise<void>;
}

/** What the page subscribes to, from the nth time on, reaches the server once it is let follow. */
async function holdSubscriptions(nth = 1): Promise<HeldSubscriptions> {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { promise: stands, resolve: stand } = Promise.withResolvers<void>();
  const { promise: told, resolve: tell } = Promise.withResolvers<void>();
  let times = 0;
  await page.routeWebSocket(/\/graphql$/, (socket) => {
    const server = socket.connectToServer();
    socket.onMessage(async (message) => {
      const { type } = JSON.parse(String(message)) as { type: string };
      if (type === "subscribe" && (times += 1) >= nth) await released;
      server.send(message);
    });
    server.onMessage((message) => {
      socket.send(message);
      const { type } = JSON.parse(String(message)) as { type: string };
      if (type === "ping" && times >= nth) stand();
      if (type === "next") tell();
    });
  });
  return {
    async letFollow() {
      release();
      await stands;
    },
    told,
  };
}

interface HeldAnswer {
  /** Resolves once the server has answered. */
  readonly isRead: Promise<void>;
  readonly letArrive: () => void;
}

/** The nth answer to this operation stays on its way until it may arrive. */
async function holdAnswer(operationName: string, nth = 1): Promise<HeldAnswer> {
  const { promise: isRead, resolve: read } = Promise.withResolvers<void>();
  const { promise: released, resolve: letArrive } = Promise.withResolvers<void>();
  await atNth(operationName, nth, async (route) => {
    const response = await route.fetch();
    read();
    await released;
    await route.fulfill({ response });
  });
  return { isRead, letArrive };
}

/** Has the nth request of this operation answered by `act`; the call that comes back tells how many there were. */
async function atNth(
  operationName: string,
  nth: number,
  act: (route: Route) => Promise<void>,
): Promise<() => number> {
  let times = 0;
  await page.route("**/graphql", async (route) => {
    const asked = route.request().postDataJSON() as { operationName?: string };
    if (asked.operationName !== operationName || (times += 1) !== nth) return await route.continue();
    return await act(route);
  });
  return () => times;
}

it("a job's page shows the new status, and the step in its history", async () => {
  const { letFollow } = await holdSubscriptions();
  await page.goto(`/jobs/${markingNumber}`);
  await letFollow();

  await change({ normalized_status: "out_for_delivery" });
  await expectVisible(
    page.getByRole("region", { name: "History" }).getByText("Status changed: Out for delivery"),
  );
  await page.getByText("This job has changed. It is Out for delivery now.").waitFor({ state: "attached" });
});

describe("what changes between the page's reading and its following", () => {
  it("is on a job's page all the same, and said", async () => {
    const { letFollow } = await holdSubscriptions();
    await page.goto(`/jobs/${markingNumber}`);
    await expectVisible(page.getByRole("region", { name: "History" }).getByText("Created"));

    await change({ normalized_status: "out_for_delivery" });
    expect(await page.getByText("Out for delivery").count(), "nobody has told the page").toBe(0);
    await letFollow();
    await expectVisible(
      page.getByRole("region", { name: "History" }).getByText("Status changed: Out for delivery"),
    );
    await page.getByText("This job has changed. It is Out for delivery now.").waitFor({ state: "attached" });
  });

  it("is on a job's page also where it is told of while an older reading is still under way", async () => {
    const { letFollow, told } = await holdSubscriptions();
    const second = await holdAnswer("JobPage", 2);
    await page.goto(`/jobs/${markingNumber}`);
    await letFollow();
    await second.isRead;
    await change({ normalized_status: "out_for_delivery" });
    await told;

    second.letArrive();
    await expectVisible(
      page.getByRole("region", { name: "History" }).getByText("Status changed: Out for delivery"),
    );
    await page.getByText("This job has changed. It is Out for delivery now.").waitFor({ state: "attached" });
  });

  it("is on a job's page also where reading it anew fails at first", async () => {
    const { letFollow } = await holdSubscriptions();
    const times = await atNth("JobPage", 2, (route) => route.abort());
    await page.goto(`/jobs/${markingNumber}`);
    await expectVisible(page.getByRole("region", { name: "History" }).getByText("Created"));
    await change({ normalized_status: "out_for_delivery" });
    await letFollow();
    await expectVisible(
      page.getByRole("region", { name: "History" }).getByText("Status changed: Out for delivery"),
    );
    expect(times()).toBeGreaterThan(2);
  });

  it("is in the job's history also where its first reading is still under way then", async () => {
    const { letFollow } = await holdSubscriptions();
    const first = await holdAnswer("JobHistory");
    await page.goto(`/jobs/${markingNumber}`);
    await first.isRead;
    await change({ normalized_status: "out_for_delivery" });

    await letFollow();
    await expectVisible(page.getByRole("main").getByText("Out for delivery").first());
    first.letArrive();
    await expectVisible(
      page.getByRole("region", { name: "History" }).getByText("Status changed: Out for delivery"),
    );
  });

  it("is in the dashboard's numbers all the same", async () => {
    const { letFollow } = await holdSubscriptions();
    await page.goto("/");
    const tiles = page.getByRole("list", { name: "Jobs by category" });
    await expectVisible(tiles.getByRole("link", { name: /^Open\s*1$/ }));
    await expectVisible(page.getByRole("status").getByText("Connecting", { exact: true }));

    await change({ normalized_status: "failed", failure_reason: "recipient_unavailable" });
    await letFollow();
    await expectVisible(tiles.getByRole("link", { name: /^Attention\s*1$/ }));
    await expectVisible(page.getByRole("status").getByText("Live", { exact: true }));
  });

  it("is in the dashboard's numbers also where the first reading is still under way then", async () => {
    const { letFollow } = await holdSubscriptions();
    const first = await holdAnswer("Dashboard");
    await page.goto("/");
    await first.isRead;
    await change({ normalized_status: "failed", failure_reason: "recipient_unavailable" });

    await letFollow();
    first.letArrive();
    const tiles = page.getByRole("list", { name: "Jobs by category" });
    await expectVisible(tiles.getByRole("link", { name: /^Attention\s*1$/ }));
  });
});

it("a page says that it is live once what it follows itself stands, not what the page before it followed", async () => {
  const { letFollow } = await holdSubscriptions(2);
  await page.goto(`/jobs/${markingNumber}`);
  await expectVisible(page.getByRole("region", { name: "History" }).getByText("Created"));
  await change({ instructions: "Ring the bell" });
  await expectVisible(page.getByText("Ring the bell").first());

  await page.getByRole("link", { name: "Dashboard", exact: true }).click();
  const state = page.getByRole("status");
  await expectVisible(state.getByText("Connecting", { exact: true }));
  await letFollow();
  await expectVisible(state.getByText("Live", { exact: true }));
});

it("what changes while the connection is lost is in the dashboard's numbers once it is back", async () => {
  const { promise: isBack, resolve: comeBack } = Promise.withResolvers<void>();
  const sockets: WebSocketRoute[] = [];
  await page.routeWebSocket(/\/graphql$/, async (socket) => {
    sockets.push(socket);
    if (sockets.length > 1) await isBack;
    socket.connectToServer();
  });
  await page.goto("/");
  const state = page.getByRole("status");
  await expectVisible(state.getByText("Live", { exact: true }));
  await sockets[0]?.close({ code: 1012 });
  await expectVisible(state.getByText("Reconnecting", { exact: true }));

  await change({ normalized_status: "failed", failure_reason: "recipient_unavailable" });
  comeBack();
  const tiles = page.getByRole("list", { name: "Jobs by category" });
  await expectVisible(tiles.getByRole("link", { name: /^Attention\s*1$/ }));
  await expectVisible(state.getByText("Live", { exact: true }));
});

it("the form of a job keeps what was typed, and says what somebody else has changed meanwhile", async () => {
  const { letFollow } = await holdSubscriptions();
  await page.goto(`/jobs/${markingNumber}`);
  await letFollow();
  await page.getByRole("button", { name: "Edit" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("textbox", { name: "Recipient", exact: true }).fill("Harbour Pharmacy");

  await change({ recipient_name: "Mill Lane Bakery", postal_code: "1234" });
  await expectVisible(dialog.getByText("Somebody changed this job meanwhile"));
  await expect.poll(() => dialog.getByLabel("Postal code").inputValue()).toBe("1234");
  expect(await dialog.getByRole("textbox", { name: "Recipient", exact: true }).inputValue()).toBe(
    "Harbour Pharmacy",
  );
  expect(await dialog.getByRole("button", { name: "Save" }).isDisabled(), "first one chooses").toBe(true);
});

it("the dashboard counts anew, and tells what has happened", async () => {
  await page.goto("/");
  await expectVisible(page.getByRole("status").getByText("Live", { exact: true }));
  const tiles = page.getByRole("list", { name: "Jobs by category" });
  await expectVisible(tiles.getByRole("link", { name: /^Open\s*1$/ }));

  await change({ normalized_status: "failed", failure_reason: "recipient_unavailable" });
  await expectVisible(page.getByText("Pending → Delivery failed"));
  await expectVisible(tiles.getByRole("link", { name: /^Open\s*0$/ }));
  await expectVisible(tiles.getByRole("link", { name: /^Attention\s*1$/ }));
});
