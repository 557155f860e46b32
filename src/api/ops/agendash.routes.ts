/**
 * Agenda's dashboard (Agendash) for signed-in operators, read-only: saving a running task through Agendash would release
 * its lock, so that it would run twice.
 */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { Agenda } from "agenda";
import { AgendashController } from "agendash";
import express, { Router, type Request, type RequestHandler } from "express";
import type { SessionVerifier } from "../../accounts/api.ts";
import { AppError, unavailable } from "../../core/errors.ts";
import type { Mongo } from "../../core/mongo.ts";
import { TaskRepository, withMongoTimeout } from "../../scheduling/api.ts";
import { requireOperator } from "../console/guards.ts";
import { contextOf, tagRoute } from "../context.ts";
import { pagePolicy } from "../default-headers.ts";

export interface AgendashDeps {
  mongo: Mongo;
  sessions: Pick<SessionVerifier, "verify">;
}

const AGENDASH_PATH = "/operator/agenda";
const PUBLIC_DIR = fileURLToPath(new URL("../public/", import.meta.resolve("agendash")));
const STYLESHEET_FILE = fileURLToPath(new URL("./agendash.css", import.meta.url));
const MAX_TASKS = 200;

/** The page has no inline scripts or styles. */
const PAGE_POLICY = pagePolicy({ "font-src": "'self' data:" });
const allowPage: RequestHandler = (_request, response, next) => {
  response.setHeader("Content-Security-Policy", PAGE_POLICY);
  next();
};

export function createAgendashRoutes({ mongo, sessions }: AgendashDeps): RequestHandler {
  const getController = createAgendashControllerSource(mongo);
  const router = Router({ caseSensitive: true });
  router.use(tagRoute(AGENDASH_PATH), allowReadsOnly, requireSession(sessions), requireOperator, allowPage);
  router.get("/", showPage(getController));
  router.use("/api", apiRoutes(getController));
  router.get("/read-only.css", (_request, response) => {
    response.sendFile(STYLESHEET_FILE, { cacheControl: false });
  });
  router.get("/no-events.js", (_request, response) => {
    response.type("js").send(EVENT_SOURCE_STUB);
  });
  router.use(express.static(PUBLIC_DIR, { index: false, redirect: false }));
  return Router({ caseSensitive: true }).use(AGENDASH_PATH, router);
}

function apiRoutes(getController: GetAgendashController): RequestHandler {
  const router = Router({ caseSensitive: true });
  router.get("/", async ({ url }, response) => {
    const controller = await getController();
    response.json(await withTimeout(controller.getJobs(parseTaskQuery(url))));
  });
  router.get("/stats", async (_request, response) => {
    response.json(await readStats(await getController()));
  });
  // Agenda's log and events are off; the page polls instead.
  router.get("/logs", (_request, response) => {
    response.json({ entries: [], total: 0, loggingEnabled: false });
  });
  router.get("/events", (_request, response) => {
    // After 204 a browser's EventSource does not reconnect and reports no error.
    response.status(204).end();
  });
  return router;
}

const allowReadsOnly: RequestHandler = ({ method }, _response, next) => {
  if (method === "GET" || method === "HEAD") next();
  else
    throw new AppError("MethodNotAllowedException", "Scheduled tasks cannot be changed here", {
      headers: { Allow: "GET, HEAD" },
    });
};

/** Requires a session. Browsers without a valid session are redirected to the sign-in page and back. */
function requireSession(sessions: AgendashDeps["sessions"]): RequestHandler {
  return async (request, response, next) => {
    const principal = await sessions.verify(request.headers, request.ip ?? "").catch((error: unknown) => {
      const isAuthError = error instanceof AppError && (error.status === 401 || error.status === 403);
      if (isAuthError && wantsPage(request)) return null;
      throw error;
    });
    if (principal === null) {
      response.redirect(`${relativeRoot(request)}sign-in?next=${encodeURIComponent(`${AGENDASH_PATH}/`)}`);
      return;
    }
    contextOf(response).principal = principal;
    next();
  };
}

/** No event is sent, and the page logs an error if its event stream fails or ends. */
const EVENT_SOURCE_STUB = "window.EventSource = class { addEventListener() {} close() {} };";

/** Returns Agendash's page with our script and style sheet added. */
async function readPage(): Promise<string> {
  const page = await readFile(`${PUBLIC_DIR}index.html`, "utf8");
  return page
    .replace("<head>", '<head><script src="./no-events.js"></script>')
    .replace("</head>", '<link rel="stylesheet" href="./read-only.css"></head>');
}

/** Redirects to the path with a trailing slash, because the page's URLs are relative. */
function showPage(getController: GetAgendashController): RequestHandler {
  return async (request, response) => {
    if (!pathOf(request).endsWith("/")) {
      response.redirect(308, `${relativeRoot(request)}${AGENDASH_PATH.slice(1)}/`);
      return;
    }
    try {
      await getController();
      response.type("html").send(await readPage());
    } catch (error) {
      if (!(error instanceof AppError) || !wantsPage(request)) throw error;
      response.status(error.status).set(error.headers).type("html").send(unavailablePage(error.message));
    }
  };
}

function unavailablePage(message: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><meta name="color-scheme" content="light dark"><title>Scheduled tasks</title><h1>Scheduled tasks</h1><p>${message}</p><p><a href="./">Try again</a> · <a href="../../">Back to the console</a></p></html>`;
}

/** Parses the query of a task list; invalid values get defaults and numbers are limited. */
function parseTaskQuery(url: string): Parameters<AgendashController["getJobs"]>[0] {
  const query = new URL(url, "http://localhost").searchParams;
  const number = (name: string, max: number, defaultValue: number): number => {
    const value = Number(query.get(name) ?? defaultValue);
    return Number.isInteger(value) ? Math.min(Math.max(value, 0), max) : defaultValue;
  };
  const text = (name: string): string => (query.get(name) ?? "").slice(0, 200);
  return {
    name: text("job"),
    state: text("state"),
    search: text("q"),
    skip: number("skip", 1_000_000, 0),
    limit: number("limit", MAX_TASKS, 50) || MAX_TASKS,
  };
}

/** Statistics of all processes together. */
async function readStats(controller: AgendashController): Promise<object> {
  const { overview } = await withTimeout(controller.getJobs({ limit: 1 }));
  const [all] = overview;
  return {
    version: "",
    queueName: "all processes",
    totalQueueSizeDB: all?.total ?? 0,
    config: { totalLockLimit: 0, maxConcurrency: 0, processEvery: 0 },
    backend: { name: "MongoDB", hasNotificationChannel: false },
    internal: { localQueueProcessing: 0 },
    jobStatus: Object.fromEntries(
      overview.slice(1).map(({ displayName, running }) => [displayName, { running, locked: running }]),
    ),
    queuedJobs: all?.queued ?? 0,
    runningJobs: all?.running ?? 0,
    lockedJobs: all?.running ?? 0,
  };
}

async function withTimeout<T>(request: Promise<T>): Promise<T> {
  return await withMongoTimeout(request).catch((error: unknown) => {
    throw unavailable("MongoDB does not answer. Try again shortly.", 5, error);
  });
}

/** Returns the relative URL of the service's root. A proxy may add a path prefix that only the browser knows. */
function relativeRoot(request: Request): string {
  return "../".repeat(pathOf(request).split("/").length - 2);
}

function pathOf({ originalUrl }: Request): string {
  return new URL(originalUrl, "http://localhost").pathname;
}

function wantsPage({ headers }: Request): boolean {
  return headers.accept?.includes("text/html") ?? false;
}

/** Returns the controller. Throws ServiceUnavailableException while MongoDB is down. */
type GetAgendashController = () => Promise<AgendashController>;

const PROCESS_NAME = "dashboard";
/** This Agenda never polls for tasks to run. */
const onPoll = (): void => undefined;
const CONNECT_TIMEOUT_MS = 1_000;
const UNAVAILABLE_MESSAGE =
  "The scheduled tasks can't be shown because MongoDB is unreachable. Everything else keeps working. Try again later.";

function createAgendashControllerSource(mongo: Mongo): GetAgendashController {
  let controller: AgendashController | null = null;
  const isReachable = (): boolean => mongo.status().state === "up";
  return async () => {
    if (!isReachable()) throw unavailable(UNAVAILABLE_MESSAGE, 5);
    controller ??= await openController(mongo, isReachable);
    return controller;
  };
}

/** The Agenda of the controller is never started: it shows the tasks of all processes. */
async function openController(mongo: Mongo, isReachable: () => boolean): Promise<AgendashController> {
  const db = await mongo.waitUntilUp(AbortSignal.timeout(CONNECT_TIMEOUT_MS)).catch((error: unknown) => {
    throw unavailable(UNAVAILABLE_MESSAGE, 5, error);
  });
  const repository = new TaskRepository({
    db,
    processName: PROCESS_NAME,
    lockLifetimeMs: 0,
    isReachable,
    onPoll,
  });
  const backend = {
    name: "MongoDB",
    repository,
    ownsConnection: false,
    connect: () => repository.connect(),
    disconnect: () => Promise.resolve(),
  };
  return new AgendashController(new Agenda({ backend, name: PROCESS_NAME, logging: false }));
}
