/** The GraphQL adapter: Apollo Server behind the HTTP app, with everything that an operation has to pass. */
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
import type { KeyVerifier } from "../api-keys/api-key.verifier.ts";
import type { RateLimits } from "../api-keys/rate-limit.ts";
import { AppError } from "../platform/errors.ts";
import type { Logger } from "../platform/logger.ts";
import type { Tracing } from "../platform/tracing.ts";
import { authenticate } from "./authenticate.ts";
import type { OperationCall } from "./context.ts";
import { createErrorFormat, type ErrorFormat } from "./error-format.ts";
import { createGateway } from "./executor.ts";
import { sendSandbox } from "./explorer.ts";
import { graphiqlRoutes } from "./graphiql.ts";
import type { HttpDoor } from "./http-door.ts";
import { MAX_BODY_BYTES, MAX_RECURSIVE_SELECTIONS, MAX_TOKENS } from "./limits.ts";
import { createOperationGuard } from "./operation-guard.ts";
import type { Sessions } from "./sessions.ts";
import { currentVisit } from "./visit.ts";

export interface GraphqlParts<Context extends BaseContext> {
  schema: GraphQLSchema;
  makeContext: (request: OperationCall) => Context;
  verifier: KeyVerifier;
  sessions: Sessions;
  /** Null: rate limits are off. */
  limits: RateLimits | null;
  environment: "development" | "production" | "test";
  publicUrl: string | null;
  logger: Logger;
  tracing?: Tracing | undefined;
  /** Whatever else this adapter answers, at addresses of its own. */
  beside?: ((door: HttpDoor) => RequestHandler) | undefined;
}

export interface Graphql extends AsyncDisposable {
  readonly path: string;
  /** The endpoint and the explorers. */
  routes(door: HttpDoor): RequestHandler;
  /** For what went wrong below `path`. */
  errorHandler(door: HttpDoor): ErrorRequestHandler;
  /** A key that the explorers bring along, outside production. */
  offerKey(key: string): void;
}

const PATH = "/graphql";

export async function createGraphql<Context extends BaseContext>(
  parts: GraphqlParts<Context>,
): Promise<Graphql> {
  const { environment, makeContext, verifier, sessions, limits } = parts;
  const isProduction = environment === "production";
  const errors = createErrorFormat(parts.logger);
  const apollo = createApollo(parts, errors);
  await apollo.start();
  let offeredKey: string | null = null;
  const keyToOffer = (): string | null => (isProduction ? null : offeredKey);

  return {
    path: PATH,
    routes(door) {
      const named: RequestHandler = (_request, response, next) => {
        door.noteRoute(response, PATH);
        next();
      };
      const router = Router({ caseSensitive: true });
      router.use(PATH, named);
      if (!isProduction) router.get(PATH, showSandbox(keyToOffer));
      router.all(
        PATH,
        authenticate({ verifier, sessions, limits, isProduction }, door),
        readBody(door.readJson(MAX_BODY_BYTES)),
      );
      router.all(
        PATH,
        expressMiddleware(apollo, { context: () => Promise.resolve(makeContext(currentVisit())) }),
      );
      router.use(PATH, () => {
        throw new AppError("NotFoundException", "There is no such route");
      });
      if (parts.beside) router.use(parts.beside(door));
      router.use(graphiqlRoutes({ door, key: keyToOffer, publicUrl: parts.publicUrl }));
      return router;
    },
    errorHandler: (door) => answerFailure(errors, door),
    offerKey(key) {
      offeredKey = key;
    },
    [Symbol.asyncDispose]: () => apollo.stop(),
  };
}

function createApollo<Context extends BaseContext>(
  { schema, limits, environment, logger, tracing }: GraphqlParts<Context>,
  errors: ErrorFormat,
): ApolloServer<Context> {
  return new ApolloServer<Context>({
    gateway: createGateway(schema, errors, tracing),
    nodeEnv: environment,
    logger,
    // Whoever comes this far may introspect: the guard refuses the rest.
    introspection: true,
    // A page of another site cannot send these headers without a preflight. Clients such as urql send queries by GET.
    csrfPrevention: {
      requestHeaders: ["x-apollo-operation-name", "apollo-require-preflight", "x-api-key", "authorization"],
    },
    persistedQueries: false,
    allowBatchedHttpRequests: false,
    stopOnTerminationSignals: false,
    includeStacktraceInErrorResponses: false,
    parseOptions: { maxLexicalTokens: MAX_TOKENS },
    maxRecursiveSelections: MAX_RECURSIVE_SELECTIONS,
    stringifyResult(answer) {
      const code = "errors" in answer ? answer.errors?.[0]?.extensions?.["code"] : undefined;
      if (typeof code === "string") currentVisit().noteFailure({ code, answer });
      return JSON.stringify(answer);
    },
    formatError: (formatted, error) => errors.formatError(formatted, error),
    plugins: [
      createOperationGuard({ schema, limits, isProduction: environment === "production", errors }),
      // It would wrap every field's resolver.
      ApolloServerPluginCacheControlDisabled(),
      // Nothing is reported to anybody, whatever the environment says.
      ApolloServerPluginUsageReportingDisabled(),
      ApolloServerPluginSchemaReportingDisabled(),
      ApolloServerPluginInlineTraceDisabled(),
      ApolloServerPluginLandingPageDisabled(),
    ],
  });
}

function showSandbox(key: () => string | null): RequestHandler {
  return async (request, response, next) => {
    if (wantsPage(request)) await sendSandbox(response, key());
    else next();
  };
}

/** A browser that was pointed at the endpoint, and brings no operation. */
function wantsPage({ headers, url }: Request): boolean {
  return (headers.accept?.includes("text/html") ?? false) && !url.includes("query=");
}

/** Only POST has a body; to Apollo's door the others must have none. */
function readBody(read: RequestHandler): RequestHandler {
  return (request, response, next) => {
    if (request.method === "POST") {
      void read(request, response, next);
    } else {
      request.body = undefined;
      next();
    }
  };
}

/** What went wrong before Apollo was asked is told in GraphQL's words too. */
function answerFailure(errors: ErrorFormat, door: HttpDoor): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    if (response.headersSent) {
      next(error);
      return;
    }
    const requestId = door.requestIdOf(response);
    const failure = door.toAppError(error);
    const { status, headers } = failure;
    const { message, extensions } = errors.translate(failure, { requestId });
    const { http: _, ...told } = extensions;
    const code = told["code"] === "BAD_USER_INPUT" ? "BAD_REQUEST" : told["code"];
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    response.status(status);
    response.type(
      request.accepts("application/json", "application/graphql-response+json") || "application/json",
    );
    const answer = { errors: [{ message, extensions: { ...told, code, requestId } }] };
    door.noteFailure(response, { code: String(code), answer });
    response.send(JSON.stringify(answer));
  };
}
