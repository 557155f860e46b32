/** What a start prints: messages, warnings about unsafe settings, and the banner. */
import manifest from "../../package.json" with { type: "json" };
import { isLoopback } from "../core/network.ts";
import { supportsSecureCookies } from "../core/same-origin.ts";
import type { Config } from "./config.ts";

/** Prints a message for the person who started the process. Standard output is for the log and for results. */
export function printStatus(message: string): void {
  process.stderr.write(`${message}\n`);
}

/** The password is null if it has been changed. */
type DemoLogin = Readonly<{ email: string; password: string | null }>;
/** API keys and logins, by their owner. `test` is a key of the agent. */
type DemoAccess = Readonly<Record<"agent" | "contractor" | "test" | "operator", string>> & {
  readonly logins: Readonly<Record<"agent" | "contractor" | "operator", DemoLogin>>;
};

/** Returns warnings about unsafe settings. With the embedded database outside production, only those that matter there. */
export function startupWarnings(config: Config): string[] {
  const { environment, database, http, mail, role, rateLimits, twoFactorPolicy } = config;
  const isOpen = environment !== "production" && !isLoopback(http.host);
  const open = `HOST is ${http.host}: everyone who reaches this machine can use the demo and its keys. Set it to 127.0.0.1, or NODE_ENV to production.`;
  if (environment !== "production" && database.url === null) return isOpen ? [open] : [];
  const warnings = [
    isOpen && open,
    mail.smtp === null &&
      "SMTP_URL is not set: no mail is sent. Mails are saved as files, and operators can read them in the outbox.",
    twoFactorPolicy === "none" &&
      "REQUIRE_TWO_FACTOR is none: operators can see every organisation, and can sign in with only a password. Set it to operators.",
    role !== "worker" &&
      database.url !== null &&
      rateLimits.enabled &&
      rateLimits.store === "memory" &&
      "RATE_LIMIT_STORE is memory: each process counts separately, so several processes multiply every limit. Set it to postgres.",
    environment !== "production" &&
      `NODE_ENV is ${environment}: anyone can explore the GraphQL schema, and Apollo's hosted Sandbox can call it. Set it to production.`,
  ];
  return warnings.filter((warning) => warning !== false);
}

/** Returns the start-up text: URLs, warnings, and with `demo` its logins, keys and an example request. */
export function banner(
  config: Config,
  url: string,
  demo: DemoAccess | null,
  mongo: { state: string },
): string {
  const base = config.http.publicUrl ?? url;
  const noMongo = mongo.state === "absent" && "no MongoDB: retries wait until one is available";
  const tasks = config.mongo.url === null ? noMongo || `MongoDB in ${config.dataDir}` : "MONGODB_URL";
  const lines = [
    "",
    "  Waymark is up.",
    "",
    `  Console    ${base}/`,
    `  API        ${base}/v1`,
    `  Guide      ${base}/guide/`,
    `  Reference  ${base}/docs`,
    `  GraphQL    ${base}/graphql   (explorer: ${base}/graphiql)`,
    `  Health     ${base}/health/ready`,
    `  Database   ${config.database.url === null ? `PostgreSQL in ${config.dataDir}` : "DATABASE_URL"}`,
    `  Tasks      ${tasks}`,
    ...startupWarnings(config).map((warning) => `  Attention  ${warning}`),
  ];
  if (demo) {
    lines.push(
      "",
      `  Sign in at ${base}/sign-in${supportsSecureCookies({ origin: base }) ? "" : "   (needs https: PUBLIC_URL is plain http)"}`,
      `  Demo agent           ${formatLogin(demo.logins.agent)}`,
      `  Demo contractor      ${formatLogin(demo.logins.contractor)}`,
      `  Demo operator        ${formatLogin(demo.logins.operator)}`,
      "",
      `  Demo agent key       ${demo.agent}`,
      `  Demo contractor key  ${demo.contractor}`,
      `  Demo test key        ${demo.test}`,
      `  Demo operator key    ${demo.operator}`,
      "",
      "  Try it:",
      `  curl -H "x-api-key: ${demo.agent}" "${base}/v1/jobs?page_size=2"`,
      `  WAYMARK_KEY=${demo.agent} npx ${base}/sdk/waymark-client-${manifest.version}.tgz listen --base-url ${base}   (prints each event)`,
    );
  }
  return `${lines.join("\n")}\n\n`;
}

function formatLogin({ email, password }: DemoLogin): string {
  return `${email.padEnd(28)}${password ?? "(password was changed)"}`;
}
