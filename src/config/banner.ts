/** What a person who started the server reads first. */
import { supportsSecureCookies } from "../platform/same-origin.ts";
import type { Config } from "./config.ts";

interface DemoLogin {
  email: string;
  /** Null: it was changed since. */
  password: string | null;
}

/** A key and a login of each kind. */
interface DemoAccess {
  agent: string;
  contractor: string;
  operator: string;
  logins: { agent: DemoLogin; contractor: DemoLogin; operator: DemoLogin };
}

/** Settings that are unsafe for a service that others use; empty for a newcomer on the embedded database. */
export function startupWarnings(config: Config): string[] {
  const { environment, database, mail, role, rateLimits, twoFactorPolicy } = config;
  if (environment !== "production" && database.url === null) return [];
  const warnings: [boolean, string][] = [
    [
      mail.smtp === null,
      "SMTP_URL is not set: no mail is sent. Mails are kept as files, and operators see them in the outbox.",
    ],
    [
      twoFactorPolicy === "nobody",
      "REQUIRE_TWO_FACTOR is nobody: operators see every organisation and may sign in with a password alone. Set it to operators.",
    ],
    [
      role !== "worker" && database.url !== null && rateLimits.enabled && rateLimits.store === "memory",
      "RATE_LIMIT_STORE is memory: each process counts for itself, so several processes multiply every limit. Set it to postgres.",
    ],
    [
      environment !== "production",
      `NODE_ENV is ${environment}: anybody may explore the GraphQL schema, and Apollo's hosted Sandbox may call it. Set it to production.`,
    ],
  ];
  return warnings.flatMap(([applies, warning]) => (applies ? [warning] : []));
}

/** The addresses, the demo's logins and keys, and a request to begin with. */
export function banner(
  config: Config,
  url: string,
  demo: DemoAccess | null,
  mongo: { state: string },
): string {
  const base = config.http.publicUrl ?? url;
  const lines = [
    "",
    "  Waymark is up.",
    "",
    `  Console    ${base}/`,
    `  API        ${base}/v1`,
    `  Reference  ${base}/docs`,
    `  GraphQL    ${base}/graphql   (to explore it: ${base}/graphiql)`,
    `  Health     ${base}/health/ready`,
    `  Database   ${config.database.url === null ? `PostgreSQL in ${config.dataDir}` : "DATABASE_URL"}`,
    `  Tasks      ${taskStorage(config, mongo.state)}`,
    ...startupWarnings(config).map((warning) => `  Attention  ${warning}`),
  ];
  if (demo) {
    lines.push(
      "",
      `  Sign in at ${base}/sign-in${supportsSecureCookies({ origin: base }) ? "" : "   (only by https: PUBLIC_URL is plain http)"}`,
      `  Demo agent           ${formatLogin(demo.logins.agent)}`,
      `  Demo contractor      ${formatLogin(demo.logins.contractor)}`,
      `  Demo operator        ${formatLogin(demo.logins.operator)}`,
      "",
      `  Demo agent key       ${demo.agent}`,
      `  Demo contractor key  ${demo.contractor}`,
      `  Demo operator key    ${demo.operator}`,
      "",
      "  Try it:",
      `  curl -H "x-api-key: ${demo.agent}" "${base}/v1/jobs?page_size=2"`,
      "  npx waymark listen   (in another terminal: shows each change as the webhook that it becomes)",
    );
  }
  return `${lines.join("\n")}\n\n`;
}

function formatLogin({ email, password }: DemoLogin): string {
  return `${email.padEnd(28)}${password ?? "(with the password that it was changed to)"}`;
}

/** Where it is kept what is to be done later. */
function taskStorage({ mongo, dataDir }: Config, state: string): string {
  if (mongo.url !== null) return "MONGODB_URL";
  return state === "absent"
    ? "no MongoDB: what has to be sent again waits until there is one"
    : `MongoDB in ${dataDir}`;
}
