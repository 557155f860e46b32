/** Agenda's dashboard (Agendash) for signed-in operators. It is read-only, because no change there would be audited. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { MongoJobRepository } from "@agendajs/mongo-backend";
import { Agenda } from "agenda";
import { createExpressMiddleware } from "agendash";
import express, { Router, type ErrorRequestHandler, type RequestHandler } from "express";
import type { SessionVerifier } from "../../accounts/api.ts";
import { AppError, unavailable } from "../../core/errors.ts";
import type { Mongo } from "../../core/mongo.ts";
import { pathPrefix } from "../../core/public-url.ts";
import { createBackend, listTasks } from "../../scheduling/api.ts";
import { administrator } from "../../operations/operation.ts";
import { createSessionGuards, requireAccess } from "../console/guards.ts";
import { tagRoute } from "../context.ts";
import { pagePolicy } from "../default-headers.ts";
import { methodNotAllowed } from "../error-handler.ts";
import { sendSuccess } from "../json.ts";

interface AgendashDeps {
  mongo: Mongo;
  sessions: SessionVerifier;
  publicUrl: string | null;
}

const PATH = "/operator/agenda";
const PAGE_FILE = fileURLToPath(new URL("../public/index.html", import.meta.resolve("agendash")));
const STYLESHEET_FILE = fileURLToPath(new URL("./agendash.css", import.meta.url));

export function createAgendashRoutes({ mongo, sessions, publicUrl }: AgendashDeps): RequestHandler {
  const prefix = pathPrefix(publicUrl);
  const router = Router({ caseSensitive: true });
  router.use(tagRoute(""), allowReadsOnly, createSessionGuards(sessions).signedIn);
  router.use(redirectToSignIn(`${prefix}/sign-in?next=${encodeURIComponent(`${PATH}/`)}`));
  router.use(requireAccess(administrator), requireMongo(mongo));
  // For the console's own page.
  router.get("/tasks", async (_request, response) => {
    const tasks = await listTasks(await mongo.waitUntilUp()).catch((error: unknown) => {
      throw unavailable("MongoDB does not answer. Try again shortly.", 5, error);
    });
    sendSuccess(response, { tasks });
  });
  router.get(["/", "/index.html"], sendPage(`${prefix}${PATH}/`));
  router.get("/read-only.css", (_request, response) => {
    response.sendFile(STYLESHEET_FILE, { cacheControl: false });
  });
  // The Agenda of the dashboard runs no tasks. After 204 a browser's EventSource does not reconnect.
  router.get("/api/stats", (_request, response) => void response.json(null));
  router.get("/api/events", (_request, response) => void response.status(204).end());
  router.use(dashboard(mongo));
  return Router({ caseSensitive: true }).use(PATH, router);
}

const allowReadsOnly: RequestHandler = (request, response, next) => {
  if (request.method === "GET" || request.method === "HEAD") next();
  else methodNotAllowed("GET, HEAD")(request, response, next);
};

function requireMongo(mongo: Mongo): RequestHandler {
  return (_request, _response, next) => {
    if (mongo.status().state === "up") return next();
    const message =
      "The scheduled tasks can't be shown because MongoDB is unreachable. Everything else keeps working. Try again later.";
    throw unavailable(message, 5);
  };
}

/** The page has no inline scripts or styles. Its URLs are relative to `url`. */
function sendPage(url: string): RequestHandler {
  const policy = pagePolicy({ "font-src": "'self' data:" });
  return async (request, response) => {
    if (!request.originalUrl.split("?", 1)[0]?.endsWith("/")) return response.redirect(308, url);
    const page = await readFile(PAGE_FILE, "utf8");
    response.setHeader("Content-Security-Policy", policy);
    response
      .type("html")
      .send(page.replace("</head>", '<link rel="stylesheet" href="./read-only.css"></head>'));
  };
}

/** The Agenda of the dashboard is never started: it shows the tasks of all processes. */
function dashboard(mongo: Mongo): RequestHandler {
  let routes: RequestHandler | null = null;
  return async (request, response, next) => {
    if (routes === null) {
      const repository = new MongoJobRepository({ mongo: await mongo.waitUntilUp(), ensureIndex: false });
      const agenda = new Agenda({ backend: createBackend(repository) });
      // An app of its own, because ours does not parse queries.
      routes = express().disable("x-powered-by").use(createExpressMiddleware(agenda));
    }
    void routes(request, response, next);
  };
}

/** Browsers without a session that may be used open the sign-in page, which leads back. */
function redirectToSignIn(url: string): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    const isRefusal = error instanceof AppError && (error.status === 401 || error.status === 403);
    if (isRefusal && request.headers.accept?.includes("text/html")) response.redirect(url);
    else next(error);
  };
}
