/** The HTTP app with a custom GraphQL schema on the database of the shared app, for behaviour that the real resolvers never show. */
import { makeExecutableSchema } from "@graphql-tools/schema";
import { ApiKeyService } from "../../../src/api-keys/service.ts";
import { KeyVerifier } from "../../../src/api-keys/verifier.ts";
import { createMemoryStore } from "../../../src/rate-limits/store.ts";
import { toConfig } from "../../../src/config/config.ts";
import { readEnv } from "../../../src/config/env.ts";
import { entities } from "../../../src/app/entities.ts";
import { createGraphqlAdapter } from "../../../src/api/graphql/server.ts";
import { createHttpApp, type HttpServices } from "../../../src/api/express-app.ts";
import { listen } from "../../../src/api/server/server.ts";
import { OrganizationService } from "../../../src/organizations/service.ts";
import { MailService } from "../../../src/mail/service.ts";
import { openRequestLog } from "../../../src/request-log/service.ts";
import { systemClock, type Clock } from "../../../src/core/clock.ts";
import { openDatabase, type Queryable } from "../../../src/core/postgres/database.ts";
import { createLogger } from "../../../src/core/logger.ts";
import { createMetrics } from "../../../src/core/metrics.ts";
import { openAccounts } from "../../../src/accounts/services.ts";
import { TEST_SECRET, testSecretBox } from "../test-secret.ts";
import { sharedApp } from "../app/shared-app.ts";

/** The context of the test's resolvers. */
export interface FixtureContext {
  database: Queryable;
  requestId: string;
  signal: AbortSignal;
}

type FixtureResolver = (source: unknown, input: Record<string, unknown>, context: FixtureContext) => unknown;

export interface GraphqlFixtureOptions {
  typeDefs: string;
  resolvers?: Record<string, Record<string, FixtureResolver>>;
  env?: Record<string, string>;
  clock?: Clock;
  statementTimeoutMs?: number;
}

export interface RawGraphqlResponse {
  status: number;
  headers: Headers;
  // Tests read data of any shape.
  // oxlint-disable-next-line typescript/no-explicit-any
  body: any;
}

export type GraphqlFixture = Awaited<ReturnType<typeof startGraphqlFixture>>;

const errorUrl = (code: string): string => `https://api.example.com/errors/${code}`;

export async function startGraphqlFixture({ typeDefs, resolvers = {}, ...options }: GraphqlFixtureOptions) {
  const stack = new AsyncDisposableStack();
  const { databaseUrl } = await sharedApp("api");
  const settings = { NODE_ENV: "test", RATE_LIMITS: "off", WAYMARK_SECRET: TEST_SECRET, ...options.env };
  const config = toConfig(readEnv({ ...settings, DATABASE_URL: databaseUrl }));
  const clock = options.clock ?? systemClock;
  const { statementTimeoutMs = 30_000 } = options;
  const session = { statement_timeout: String(statementTimeoutMs), plan_cache_mode: "auto" };
  const readDatabase = stack.use(await openDatabase({ url: databaseUrl, poolSize: 2, entities, session }));
  const database = stack.use(await openDatabase({ url: databaseUrl, poolSize: 2, entities }));
  const verifier = stack.use(new KeyVerifier({ database, clock }));
  const log: Record<string, unknown>[] = [];
  const logger = createLogger("info", {
    write: (line) => void log.push(JSON.parse(line) as Record<string, unknown>),
  });
  const { enabled, organizationFactor } = config.rateLimits;
  const limits = enabled ? { store: createMemoryStore(clock), organizationFactor } : null;
  const metrics = createMetrics(() => database.pool());
  const { registry } = metrics;
  const mails = new MailService({ database, secretBox: testSecretBox, isSmtpConfigured: false });
  const { accounts, membership } = stack.use(
    openAccounts({
      database,
      clock,
      logger,
      registry,
      mails,
      secretBox: testSecretBox,
      notifyWorkers: () => undefined,
      pageUrl: (path) => path,
      publicUrl: config.http.publicUrl,
      twoFactorPolicy: config.twoFactorPolicy,
      ssoSettings: config.sso,
    }),
  );
  const graphql = stack.use(
    await createGraphqlAdapter({
      schema: makeExecutableSchema({ typeDefs, resolvers }),
      makeContext: ({ requestId, signal }) => ({
        requestId,
        signal,
        database: readDatabase.withSignal(signal),
      }),
      verifier,
      sessions: accounts.sessionVerifier,
      limits,
      config,
      logger,
      registry,
      errorUrl,
    }),
  );
  const keys = new ApiKeyService({ database, clock });
  const services: Partial<HttpServices> = {
    clock: systemClock,
    config,
    logger,
    metrics,
    accounts,
    ...membership,
    pageUrl: (path) => path,
    errorUrl,
    keys,
    requests: stack.use(await openRequestLog({ database, logger, registry, retentionDays: 30 })),
    verifier,
    limits,
    dependencies: [],
    stopping: new AbortController().signal,
    graphql,
  };
  // The others are not called here.
  const app = createHttpApp(services as HttpServices);
  const connections = { total: 1_000, perAddress: 1_000 };
  const listenOptions = {
    host: "127.0.0.1",
    port: 0,
    connections,
    onConnectionRejected: () => undefined,
    errorUrl,
  };
  const server = await listen(app, listenOptions);
  stack.defer(() => server.stop());
  const organizations = new OrganizationService({ database });
  const request = async (path: string, init?: RequestInit): Promise<RawGraphqlResponse> => {
    const response = await fetch(server.url + path, init);
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.includes("json");
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
  };

  return {
    url: server.url,
    databaseUrl,
    /** The resolvers' database, with two connections. */
    readDatabase,
    keys,
    /** The log lines so far. */
    log,
    request,
    /** Creates an agent and returns a key with all scopes. */
    async newKey(): Promise<string> {
      const { id } = await organizations.create({
        name: `agent ${log.length} ${Math.random()}`,
        type: "agent",
      });
      return (await keys.create({ organizationId: id, name: "test", createdBy: "test" })).text;
    },
    post: (body: unknown, headers?: Record<string, string>) =>
      request("/graphql", {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: typeof body === "string" ? body : JSON.stringify(body),
      }),
    setExplorerKey: (key: string) => graphql.setExplorerKey(key),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
