/** Agenda's dashboard (Agendash) for signed-in operators. It is read-only, because no change there would be audited. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { MongoJobRepository } from "@agendajs/mongo-backend";
import { Agenda } from "agenda";
import { AgendashController } from "agendash";
import express, { Router, type Request, type RequestHandler } from "express";
import type { SessionVerifier } from "../../accounts/api.ts";
import { AppError, unavailable } from "../../core/errors.ts";
import type { Mongo } from "../../core/mongo.ts";
import { createBackend, listTasks } from "../../scheduling/api.ts";
import { administrator } from "../../operations/operation.ts";
import { requireAccess } from "../console/guards.ts";
import { contextOf, tagRoute } from "../context.ts";
import { pagePolicy } from "../default-headers.ts";
import { sendSuccess } from "../json.ts";

export interface AgendashDeps {
  mongo: Mongo;
  sessions: Pick<SessionVerifier, "verify">;
}

const AGENDASH_PATH = "/operator/agenda";
const PUBLIC_DIR = fileURLToPath(new URL("../public/", import.meta.resolve("agendash")));
const STYLESHEET_FILE = fileURLToPath(new URL("./agendash.css", import.meta.url));
const DEFAULT_LIMIT = 50;

/** The page has no inline scripts or styles. */
const PAGE_POLICY = pagePolicy({ "font-src": "'self' data:" });
const allowPage: RequestHandler = (_request, response, next) => {
  response.setHeader("Content-Security-Policy", PAGE_POLICY);
  next();
};

export function createAgendashRoutes({ mongo, sessions }: AgendashDeps): RequestHandler {
  const openController = createControllerSource(mongo);
  const router = Router({ caseSensitive: true });
  router.use(
    tagRoute(AGENDASH_PATH),
    allowReadsOnly,
    requireSession(sessions),
    requireAccess(administrator),
    allowPage,
  );
  router.get("/", redirectToSlash, async (_request, response) => {
    // The page would show no tasks while MongoDB is unreachable.
    await openController();
    response.type("html").send(await readPage());
  });
  router.use("/api", apiRoutes(openController));
  // For the console's own page.
  router.get("/tasks", async (_request, response) => {
    requireMongo(mongo);
    const tasks = await listTasks(await mongo.waitUntilUp()).catch((error: unknown) => {
      throw noAnswer(error);
    });
    sendSuccess(response, { tasks });
  });
  router.get("/read-only.css", (_request, response) => {
    response.sendFile(STYLESHEET_FILE, { cacheControl: false });
  });
  router.use(express.static(PUBLIC_DIR, { index: false, redirect: false }));
  return Router({ caseSensitive: true }).use(AGENDASH_PATH, router);
}

function apiRoutes(openController: ControllerSource): RequestHandler {
  const router = Router({ caseSensitive: true });
  const add = (path: string, read: (controller: AgendashController, url: string) => Promise<object>): void =>
    void router.get(path, async ({ url }, response) => {
      const result = await read(await openController(), url).catch((error: unknown) => {
        throw noAnswer(error);
      });
      response.json(result);
    });
  add("/", (controller, url) => controller.getJobs(parseTaskQuery(url)));
  add("/stats", readStats);
  // Agenda's log and events are off; the page polls instead.
  add("/logs", (controller) => controller.getLogs({}));
  router.get("/events", (_request, response) => {
    // After 204 a browser's EventSource does not reconnect.
    response.status(204).end();
  });
  return router;
}

function noAnswer(error: unknown): AppError {
  return unavailable("MongoDB does not answer. Try again shortly.", 5, error);
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
      if (isAuthError && request.headers.accept?.includes("text/html")) return null;
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

/** The URLs of the page are relative. */
const redirectToSlash: RequestHandler = (request, response, next) => {
  if (pathOf(request).endsWith("/")) next();
  else response.redirect(308, `${relativeRoot(request)}${AGENDASH_PATH.slice(1)}/`);
};

/** Returns Agendash's page with our style sheet. */
async function readPage(): Promise<string> {
  const page = await readFile(`${PUBLIC_DIR}index.html`, "utf8");
  return page.replace("</head>", '<link rel="stylesheet" href="./read-only.css"></head>');
}

/** Agenda ignores numbers that are invalid. */
function parseTaskQuery(url: string): Parameters<AgendashController["getJobs"]>[0] {
  const query = new URL(url, "http://localhost").searchParams;
  return {
    name: query.get("job") ?? "",
    state: query.get("state") ?? "",
    search: query.get("q") ?? "",
    skip: Number(query.get("skip")),
    limit: Number(query.get("limit")) || DEFAULT_LIMIT,
  };
}

/** Statistics of all processes together. */
async function readStats(controller: AgendashController): Promise<object> {
  const { overview } = await controller.getJobs({ limit: 1 });
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

/** Returns the relative URL of the service's root. A proxy may add a path prefix that only the browser knows. */
function relativeRoot(request: Request): string {
  return "../".repeat(pathOf(request).split("/").length - 2);
}

function pathOf({ originalUrl }: Request): string {
  return new URL(originalUrl, "http://localhost").pathname;
}

/** Throws ServiceUnavailableException while MongoDB is down. */
function requireMongo(mongo: Mongo): void {
  if (mongo.status().state === "up") return;
  const message =
    "The scheduled tasks can't be shown because MongoDB is unreachable. Everything else keeps working. Try again later.";
  throw unavailable(message, 5);
}

/** Throws ServiceUnavailableException while MongoDB is down. */
type ControllerSource = () => Promise<AgendashController>;

/** The Agenda of the controller is never started: it shows the tasks of all processes. */
function createControllerSource(mongo: Mongo): ControllerSource {
  let controller: AgendashController | null = null;
  return async () => {
    requireMongo(mongo);
    if (controller === null) {
      const repository = new MongoJobRepository({ mongo: await mongo.waitUntilUp(), ensureIndex: false });
      controller = new AgendashController(new Agenda({ backend: createBackend(repository) }));
    }
    return controller;
  };
}
