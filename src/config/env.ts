/** Reads and validates the environment variables. No other file reads `process.env`. */
import { z } from "zod";
import { StartupError } from "../core/errors.ts";
import { parseSecret } from "../core/secret-box.ts";
import { parseDuration, DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "../core/time.ts";
import { parseSender, parseSmtpUrl } from "../core/mail.ts";
import { DEFAULT_SCHEDULE_TEXT, longestScheduleMs, parseSchedule } from "../core/retry-schedule.ts";

const port = z.coerce.number().int().min(0).max(65535);
const connectionCount = z.coerce.number().int().min(1).max(1_000_000);
const onOff = z.stringbool({ truthy: ["on", "true", "1", "yes"], falsy: ["off", "false", "0", "no"] });
const httpUrl = z.url({ protocol: /^https?$/ });
const commaList = z.string().transform((text) =>
  text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== ""),
);

const POSTGRES_PROTOCOL = /^postgres(ql)?$/;
const replicaUrl = z.url({
  protocol: POSTGRES_PROTOCOL,
  error: "Must be a comma-separated list of URLs like DATABASE_URL",
});

/** An origin as browsers send it: no path, no trailing slash. */
const origin = z.string().refine((text) => URL.canParse(text) && new URL(text).origin === text, {
  error: "Must be an origin: scheme, host and optional port, without a path or trailing slash",
});

/** A MongoDB URL may list several hosts, which `URL` rejects. The driver validates the rest. */
const mongoUrl = z.string().regex(/^mongodb(\+srv)?:\/\/[^\s/]+(\/\S*)?$/, {
  error: "Must be a MongoDB URL that begins with mongodb:// or mongodb+srv://",
});

const secret = z.string().refine((text) => parseSecret(text) !== null, {
  error:
    "Must be 32 bytes in base64, base64url or 64 hexadecimal digits. `openssl rand -base64 32` generates one",
});

/** A setting that `parse` converts; null and an error are invalid. The message does not repeat the value, which may contain a secret. */
function parsedBy<T>(parse: (text: string) => T | null, message: string) {
  const parseOrNull = (text: string): T | null => {
    try {
      return parse(text);
    } catch {
      return null;
    }
  };
  return z.string().transform((text, context) => {
    const value = parseOrNull(text);
    if (value !== null) return value;
    context.addIssue({ code: "custom", message });
    return z.NEVER;
  });
}

function duration(minMs: number, maxMs: number, message: string) {
  return parsedBy((text) => {
    const ms = parseDuration(text);
    return ms !== null && ms >= minMs && ms <= maxMs ? ms : null;
  }, message);
}

const smtpUrl = parsedBy(
  parseSmtpUrl,
  "Must be smtp:// or smtps:// with a host and an optional port; only ?tls=off may follow",
);
const otlpHeaders = parsedBy((text) => {
  const headers = new Headers();
  for (const pair of text.split(",").filter((part) => part.trim() !== "")) {
    const [, name = "", value = ""] = /^([^=]*)=(.*)$/s.exec(pair) ?? [];
    headers.set(name.trim(), decodeURIComponent(value));
  }
  return Object.fromEntries(headers);
}, "Must be headers written as name=value, separated by commas");
const mailFrom = parsedBy(parseSender, "Must be an e-mail address, or `Name <e-mail address>`");

const oidcScopes = parsedBy((text) => {
  const scopes = text.split(/[\s,]+/).filter((scope) => scope !== "");
  return scopes.includes("openid") && scopes.includes("email") ? scopes : null;
}, "Must be scopes separated by spaces, among them openid and email");

const claim = parsedBy((text) => {
  const [, name, value] = /^([^=]+)=(.+)$/.exec(text) ?? [];
  return name && value ? { name, value } : null;
}, "Must be the name of a claim and its value, written as name=value");

/** Five minutes is longer than any load balancer's check interval. */
const shutdownDrainDelay = duration(
  0,
  5 * MINUTE_MS,
  "Must be a whole number and a unit (ms, s or m), at most 5 minutes",
);

/** The minimum is above 0, which Node takes as no limit. */
const keepAliveTimeout = duration(
  SECOND_MS,
  HOUR_MS,
  "Must be a whole number and a unit (ms, s, m or h), from 1 second to 1 hour",
);

const retrySchedule = parsedBy(
  parseSchedule,
  "Must be at most 50 delays (ms, s, m, h or d) of at most 30 days, separated by commas, the first 0s",
);

/** Every setting, with an example for the error message. */
const settings = {
  NODE_ENV: z
    .enum(["development", "production", "test"])
    .default("development")
    .meta({ example: "production" }),
  PORT: port.default(4000).meta({ example: "4000" }),
  METRICS_PORT: port.optional().meta({ example: "9464" }),
  HOST: z.string().default("127.0.0.1").meta({ example: "0.0.0.0" }),
  SHUTDOWN_DRAIN_DELAY: shutdownDrainDelay.optional().meta({ example: "5s" }),
  KEEP_ALIVE_TIMEOUT: keepAliveTimeout.prefault("65s").meta({ example: "65s" }),
  PUBLIC_URL: httpUrl.optional().meta({ example: "https://api.example.com" }),
  WAYMARK_DATA_DIR: z.string().default(".waymark").meta({ example: ".waymark" }),
  WAYMARK_ROLE: z.enum(["all", "api", "worker"]).default("all").meta({ example: "api" }),
  WAYMARK_SECRET: secret.optional().meta({ example: "$(openssl rand -base64 32)" }),
  WAYMARK_DEMO: onOff.optional().meta({ example: "off" }),
  DATABASE_URL: z
    .url({ protocol: POSTGRES_PROTOCOL })
    .optional()
    .meta({ example: "postgresql://user:password@db:5432/waymark" }),
  DATABASE_REPLICA_URLS: commaList.pipe(z.array(replicaUrl).max(8)).default([]).meta({
    example: "postgresql://user:password@db-1:5432/waymark,postgresql://user:password@db-2:5432/waymark",
  }),
  DATABASE_POOL_SIZE: z.coerce.number().int().min(2).max(200).default(10).meta({ example: "10" }),
  MONGODB_URL: mongoUrl
    .optional()
    .meta({ example: "mongodb://user:password@mongo:27017/waymark?replicaSet=rs0" }),
  MONGOD_BINARY: z.string().optional().meta({ example: "/usr/bin/mongod" }),
  MONGOD_DOWNLOAD: z.enum(["any", "official", "off"]).default("any").meta({ example: "official" }),
  XDG_CACHE_HOME: z.string().optional().meta({ example: "/home/me/.cache" }),
  WEBHOOK_ALLOW_PRIVATE: onOff.optional().meta({ example: "off" }),
  WEBHOOK_RETRY_SCHEDULE: retrySchedule
    .prefault(DEFAULT_SCHEDULE_TEXT)
    .meta({ example: DEFAULT_SCHEDULE_TEXT }),
  SMTP_URL: smtpUrl.optional().meta({ example: "smtp://user:password@mail.example.com:587" }),
  MAIL_FROM: mailFrom.optional().meta({ example: "Waymark <no-reply@example.com>" }),
  REQUIRE_TWO_FACTOR: z.enum(["none", "operators", "all"]).default("none").meta({ example: "operators" }),
  OIDC_ISSUER: httpUrl.optional().meta({ example: "https://login.example.com" }),
  OIDC_CLIENT_ID: z.string().optional().meta({ example: "waymark" }),
  OIDC_CLIENT_SECRET: z.string().optional().meta({ example: "SECRET" }),
  OIDC_SCOPES: oidcScopes.prefault("openid email profile").meta({ example: "openid email profile groups" }),
  OIDC_ROLE_CLAIM: claim.optional().meta({ example: "groups=waymark-operators" }),
  SSO_ONLY: z.enum(["none", "operators", "all"]).default("none").meta({ example: "operators" }),
  RETENTION_DAYS: z.coerce.number().int().min(1).max(365).default(30).meta({ example: "30" }),
  RATE_LIMITS: onOff.default(true).meta({ example: "on" }),
  RATE_LIMIT_STORE: z.enum(["memory", "postgres"]).default("memory").meta({ example: "postgres" }),
  ORGANIZATION_RATE_LIMIT_FACTOR: z.coerce.number().min(1).max(1_000).default(4).meta({ example: "4" }),
  TRUST_PROXY: z
    .union(
      [
        z.literal("off").transform(() => 0),
        z.coerce.number().int().min(0).max(10),
        commaList.pipe(z.array(z.union([z.cidrv4(), z.cidrv6(), z.ipv4(), z.ipv6()])).min(1)),
      ],
      { error: "Must be a number of proxies, a list of their IP addresses or ranges, or off" },
    )
    .default(0)
    .meta({ example: "1 (proxies in front), or 10.0.0.0/8" }),
  LOAD_SHEDDING: onOff.default(true).meta({ example: "off" }),
  MAX_CONNECTIONS: connectionCount.default(10_000).meta({ example: "10000" }),
  MAX_CONNECTIONS_PER_ADDRESS: connectionCount.optional().meta({ example: "1000" }),
  CORS_ORIGINS: commaList.pipe(z.array(origin)).default([]).meta({ example: "https://app.example.com" }),
  LOG_LEVEL: z
    .enum(["trace", "debug", "info", "warn", "error", "silent"])
    .default("info")
    .meta({ example: "info" }),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl.optional().meta({ example: "http://collector:4318" }),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: httpUrl.optional().meta({ example: "http://collector:4318/v1/traces" }),
  OTEL_EXPORTER_OTLP_HEADERS: otlpHeaders.prefault("").meta({ example: "x-api-key=SECRET" }),
  OTEL_SERVICE_NAME: z.string().default("waymark").meta({ example: "waymark" }),
  OTEL_TRACES_SAMPLER: z
    .string()
    .regex(/^(parentbased_)?(always_on|always_off|traceidratio)$/, {
      error: "Must be always_on, always_off or traceidratio, or one of them after parentbased_",
    })
    .default("parentbased_traceidratio")
    .meta({ example: "parentbased_traceidratio" }),
  OTEL_TRACES_SAMPLER_ARG: z.coerce.number().min(0).max(1).default(1).meta({ example: "0.01" }),
} as const;

const envSchema = z.object(settings).superRefine((env, context) => {
  const refuse = (name: string, message: string) =>
    context.addIssue({ code: "custom", path: [name], message });
  const oidcNames = ["OIDC_ISSUER", "OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET"] as const;
  const missing = oidcNames.filter((name) => env[name] === undefined);
  if (missing.length > 0 && missing.length < oidcNames.length)
    for (const name of missing) refuse(name, "Is missing: the other OIDC settings need it");
  if (env.SSO_ONLY !== "none" && missing.length > 0)
    refuse("SSO_ONLY", "Needs OIDC_ISSUER: operators could not sign in");
  // No delivery may be deleted before its last attempt. A value below 1 has its own error.
  const neededDays = Math.ceil(longestScheduleMs(env.WEBHOOK_RETRY_SCHEDULE) / DAY_MS);
  if (env.RETENTION_DAYS >= 1 && env.RETENTION_DAYS < neededDays)
    refuse(
      "RETENTION_DAYS",
      `Must be at least ${neededDays} for this WEBHOOK_RETRY_SCHEDULE, with jitter. Shorten that, or raise it`,
    );
});

export type Env = z.output<typeof envSchema>;

/**
 * Reads the settings from `source` (default: `process.env`). An empty value counts as unset.
 * Throws a StartupError that lists every invalid setting with the reason and an example.
 */
export function readEnv(source: Readonly<Record<string, string | undefined>> = process.env): Env {
  const presentSettings = Object.fromEntries(
    Object.entries(source).filter(([, value]) => value?.trim() !== ""),
  );
  const result = envSchema.safeParse(presentSettings);
  if (result.success) return result.data;
  const lines = result.error.issues.map((issue) => {
    const name = String(issue.path[0]) as keyof typeof settings;
    return `  ${name}: ${issue.message}. Example: ${name}=${String(settings[name].meta()?.["example"])}`;
  });
  throw new StartupError(
    `Invalid settings:\n${lines.join("\n")}`,
    "Correct the environment variables; .env.example lists every setting.",
  );
}
