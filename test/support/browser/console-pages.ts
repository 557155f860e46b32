/** Every page of the console, and who visits it. */
import { onTestFinished } from "vitest";
import { startAppInstance } from "../app/app-instance.ts";
import type { ConsoleFixture } from "./console.fixture.ts";
import { openTab, type Tab } from "./tabs.ts";

/** `newcomer`: a user who must set up two-factor authentication first. */
export type Visitor = "anonymous" | "owner" | "operator" | "newcomer";
type PageUrl = string | ((fixture: ConsoleFixture) => string);

/** By route path: the visitor, the expected heading, and the URL if it differs from the path. */
const PAGES: Record<string, [Visitor, string | RegExp, PageUrl?][]> = {
  "/sign-in": [["anonymous", "Sign in"]],
  "/two-factor-required": [
    ["newcomer", "Set up two-factor authentication"],
    ["newcomer", "Set up two-factor authentication", "/jobs"],
  ],
  "/request-account": [["anonymous", "Request an account"]],
  "/account-request": [["anonymous", "A question about your request", linkTo("account-request")]],
  "/register": [
    ["anonymous", "Register", linkTo("register")],
    ["anonymous", "This link is no longer valid", "/register"],
  ],
  "/invitation": [["anonymous", /^Join agent /, linkTo("invitation")]],
  "/forgotten-password": [["anonymous", "Reset your password"]],
  "/reset-password": [["anonymous", "Choose a new password", linkTo("reset-password")]],
  "/": [
    ["owner", "Dashboard"],
    ["operator", "Dashboard"],
  ],
  "/jobs": [
    ["owner", "Jobs"],
    ["operator", "Jobs"],
    ["owner", "Jobs", "/jobs?q=nothing-like-it"],
  ],
  "/jobs/$markingNumber": [
    ["owner", /^MN-/, ({ markingNumber }) => `/jobs/${markingNumber}`],
    ["owner", "Job not found", "/jobs/NOWHERE"],
  ],
  "/integrations/keys": [["owner", "API keys"]],
  "/integrations/endpoints": [["owner", "Webhook endpoints"]],
  "/integrations/endpoints/$id": [["owner", /^http/, ({ ids }) => `/integrations/endpoints/${ids.endpoint}`]],
  "/integrations/deliveries": [["owner", "Deliveries"]],
  "/integrations/deliveries/$id": [
    ["owner", "webhook.test", ({ ids }) => `/integrations/deliveries/${ids.delivery}`],
    ["owner", "webhook.test", ({ ids }) => `/integrations/deliveries/${ids.failedDelivery}`],
  ],
  "/integrations/requests": [["owner", "Request log"]],
  "/integrations/usage": [["owner", "Usage"]],
  "/simulator": [["owner", "This page belongs to test mode"]],
  "/members": [
    ["owner", "Members"],
    ["operator", "Operators"],
  ],
  "/audit": [["owner", "Audit log"]],
  "/security": [["owner", "Security"]],
  "/notifications": [["owner", "Notifications"]],
  "/$": [["owner", "Page not found", "/nowhere/at/all"]],
  "/operator/requests": [["operator", "Account requests"]],
  "/operator/requests/$id": [
    ["operator", "Mill Lane Couriers", ({ ids }) => `/operator/requests/${ids.request}`],
  ],
  "/operator/organizations": [["operator", "Organisations"]],
  "/operator/organizations/$id": [
    ["operator", /^agent /, ({ ids }) => `/operator/organizations/${ids.organization}`],
  ],
  "/import": [["operator", "Import jobs"]],
  "/operator/statuses": [["operator", "Statuses"]],
  "/operator/endpoints": [["operator", "Failing endpoints"]],
  "/operator/mail": [["operator", "Mail"]],
  "/operator/audit": [["operator", "Audit log"]],
  "/operator/tasks": [["operator", "Tasks"]],
};

/** Paths that redirect to the first page of their section. */
const REDIRECTS = ["/integrations", "/operator", "/operator/import"];

export interface ConsoleVisit {
  /** The path of the route. */
  readonly path: string;
  readonly visitor: Visitor;
  readonly heading: string | RegExp;
  readonly urlOf: (fixture: ConsoleFixture) => string;
  /** False for other states of a page that the visitor sees in an earlier visit. */
  readonly isFirst: boolean;
}

export const routePaths: readonly string[] = [...Object.keys(PAGES), ...REDIRECTS].toSorted();

export const visits: readonly ConsoleVisit[] = Object.entries(PAGES).flatMap(([path, pageVisits]) =>
  pageVisits.map(([visitor, heading, url = path], index) => ({
    path,
    visitor,
    heading,
    urlOf: typeof url === "string" ? () => url : url,
    isFirst: pageVisits.findIndex(([each]) => each === visitor) === index,
  })),
);

/** Opens a tab for the visitor. */
export async function openAs(
  visitor: Visitor,
  { app, owner, operator, member }: ConsoleFixture,
): Promise<Tab> {
  if (visitor !== "newcomer") {
    const users = { anonymous: undefined, owner, operator };
    const user = users[visitor];
    return await openTab(app, user && { user });
  }
  const env = { WAYMARK_ROLE: "api", REQUIRE_TWO_FACTOR: "all" };
  const strict = await startAppInstance(app.databaseUrl, env);
  onTestFinished(() => strict[Symbol.asyncDispose]());
  return await openTab(strict, { user: member });
}

function linkTo(page: keyof ConsoleFixture["tokens"]): PageUrl {
  return ({ tokens }) => `/${page}#token=${tokens[page]}`;
}
