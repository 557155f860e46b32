/** The GraphQL adapter: Apollo Server with authentication, limits, error formatting, subscriptions and the explorers. */
import { ApolloServer, type BaseContext } from "@apollo/server";
import {
  ApolloServerPluginCacheControlDisabled,
  ApolloServerPluginInlineTraceDisabled,
  ApolloServerPluginLandingPageDisabled,
  ApolloServerPluginSchemaReportingDisabled,
  ApolloServerPluginUsageReportingDisabled,
} from "@apollo/server/plugin/disabled";
import { expressMiddleware } from "@as-integrations/express5";
import { Router, type ErrorRequestHandler, type Request, type RequestHandler } from "express";
import type { GraphQLSchema } from "graphql";
import type { Registry } from "prom-client";
import type { KeyVerifier } from "../../api-keys/api.ts";
import type { RateLimits } from "../../rate-limits/api.ts";
import type { Config } from "../../config/config.ts";
import { MAX_PROBLEMS } from "../../core/errors.ts";
import type { Logger } from "../../core/logger.ts";
import { authenticate } from "./authenticate.ts";
import { type IncomingOperation, currentRequest, currentResponse } from "./context.ts";
import { ErrorFormatter } from "./execution/error-formatter.ts";
import { createGateway } from "./execution/executor.ts";
import { sendSandbox } from "./explorer/sandbox.ts";
import { graphiqlRoutes } from "./explorer/graphiql.routes.ts";
import { contextOf, tagRoute } from "../context.ts";
import { notFoundHandler, toAppError } from "../error-handler.ts";
import { readJson } from "../json.ts";
import type { Simulate } from "../simulate.ts";
import { limits as operationLimits, MAX_BODY_BYTES } from "./execution/limits.ts";
import type { SessionVerifier } from "../../accounts/api.ts";
import { sdlRoutes } from "./sdl.ts";
import { createSubscriptionServer } from "./subscriptions/websocket-server.ts";

export interface GraphqlAdapterDeps {
  schema: GraphQLSchema;
  makeContext: (request: IncomingOperation) => BaseContext;
  verifier: KeyVerifier;
  sessions: SessionVerifier;
  limits: RateLimits | null;
  config: Pick<Config, "environment" | "http">;
  logger: Logger;
  registry: Registry;
  /** Returns the URL of the section of the guide about an error code. */
  errorUrl: (code: string) => string;
  /** Further routes, outside `/graphql`. */
  extraRoutes?: RequestHandler | undefined;
}

/** Disposing closes the WebSockets. */
export type GraphqlAdapter = Awaited<ReturnType<typeof createGraphqlAdapter>>;

const PATH = "/graphql";

export async function createGraphqlAdapter(deps: GraphqlAdapterDeps) {
  const { config, makeContext, verifier, sessions, limits } = deps;
  const { environment, http } = config;
  const isProduction = environment === "production";
  const errors = new ErrorFormatter(deps);
  const apollo = createApolloServer(deps, errors);
  await apollo.start();
  const webSockets = createSubscriptionServer({ ...deps, environment, http, path: PATH, apollo, errors });
  let storedKey: string | null = null;
  const explorerKey = (): string | null => (isProduction ? null : storedKey);

  return {
    path: PATH,
    webSockets,
    /** The endpoint and the explorers. */
    routes(simulate: Simulate): RequestHandler {
      const router = Router({ caseSensitive: true });
      router.use(PATH, tagRoute(""));
      if (!isProduction) router.get(PATH, showSandbox(explorerKey));
      router.all(
        PATH,
        authenticate({ verifier, sessions, limits, isProduction }, simulate),
        readPostBody(readJson(MAX_BODY_BYTES)),
      );
      router.all(
        PATH,
        expressMiddleware(apollo, { context: () => Promise.resolve(makeContext(currentRequest())) }),
      );
      router.use(sdlRoutes(PATH));
      router.use(PATH, notFoundHandler);
      if (deps.extraRoutes) router.use(deps.extraRoutes);
      router.use(graphiqlRoutes({ explorerKey, publicUrl: config.http.publicUrl }));
      return router;
    },
    /** Formats errors of requests to `path`. */
    errorHandler: createErrorHandler(errors),
    /** Sets the API key that the explorers send, except in production. */
    setExplorerKey(key: string): void {
      storedKey = key;
    },
    async [Symbol.asyncDispose](): Promise<void> {
      await webSockets[Symbol.asyncDispose]();
      await apollo.stop();
    },
  };
}

function createApolloServer(deps: GraphqlAdapterDeps, errors: ErrorFormatter): ApolloServer {
  const { config, logger } = deps;
  const { environment } = config;
  return new ApolloServer({
    gateway: createGateway({ ...deps, isProduction: environment === "production", errors }),
    nodeEnv: environment,
    logger,
    // The operation guard restricts introspection.
    introspection: true,
    // Browsers send these headers to other origins only after a preflight, so GET queries (urql sends them) are safe.
    csrfPrevention: {
      requestHeaders: ["x-apollo-operation-name", "apollo-require-preflight", "x-api-key", "authorization"],
    },
    persistedQueries: false,
    allowBatchedHttpRequests: false,
    stopOnTerminationSignals: false,
    includeStacktraceInErrorResponses: false,
    parseOptions: { maxLexicalTokens: operationLimits.tokens },
    validationOptions: { maxErrors: MAX_PROBLEMS },
    maxRecursiveSelections: operationLimits.selections,
    stringifyResult(answer) {
      const code = "errors" in answer ? answer.errors?.[0]?.extensions?.["code"] : undefined;
      if (typeof code === "string") contextOf(currentResponse()).failure = { code, responseBody: answer };
      return JSON.stringify(answer);
    },
    formatError: (formatted, error) => errors.formatError(formatted, error),
    plugins: [
      // Cache control wraps every resolver.
      ApolloServerPluginCacheControlDisabled(),
      // Never report to Apollo, even if its environment variables are set.
      ApolloServerPluginUsageReportingDisabled(),
      ApolloServerPluginSchemaReportingDisabled(),
      ApolloServerPluginInlineTraceDisabled(),
      ApolloServerPluginLandingPageDisabled(),
    ],
  });
}

function showSandbox(explorerKey: () => string | null): RequestHandler {
  return async (request, response, next) => {
    if (acceptsHtml(request)) await sendSandbox(response, explorerKey());
    else next();
  };
}

/** True for a browser that opens the endpoint without an operation. */
function acceptsHtml({ headers, url }: Request): boolean {
  return (headers.accept?.includes("text/html") ?? false) && !url.includes("query=");
}

/** Parses the body of POST requests. Apollo requires `body` to be undefined for other methods. */
function readPostBody(read: RequestHandler): RequestHandler {
  return (request, response, next) => {
    if (request.method === "POST") {
      void read(request, response, next);
    } else {
      request.body = undefined;
      next();
    }
  };
}

/** Sends errors thrown before Apollo runs (authentication, body parsing) as a GraphQL response. */
function createErrorHandler(errors: ErrorFormatter): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    if (response.headersSent) {
      next(error);
      return;
    }
    const context = contextOf(response);
    const { requestId } = context;
    const failure = toAppError(error);
    const { status, headers } = failure;
    const { message, extensions } = errors.format(failure, { requestId });
    const code = extensions?.["code"] === "BAD_USER_INPUT" ? "BAD_REQUEST" : String(extensions?.["code"]);
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    response.status(status);
    response.type(
      request.accepts("application/json", "application/graphql-response+json") || "application/json",
    );
    const common = errors.commonExtensions(code, requestId);
    const answer = { errors: [{ message, extensions: { ...extensions, ...common } }] };
    context.failure = { code, responseBody: answer };
    response.send(JSON.stringify(answer));
  };
}
