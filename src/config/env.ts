/** The environment, read and checked once: the only file that touches `process.env`. */
import { z } from "zod";
import { StartupError } from "../platform/errors.ts";
import { parseSecret } from "../platform/secret-box.ts";
import { parseSmtpUrl } from "../platform/mail/smtp-url.ts";
import { parseOtlpHeaders } from "../platform/tracing/otlp-headers.ts";
import { parseDuration } from "../platform/time.ts";
import { parseSender } from "../platform/mail/address.ts";
import {
  DEFAULT_SCHEDULE_TEXT,
  longestScheduleMs,
  parseSchedule,
  scheduleMs,
} from "../platform/retry-schedule.ts";

const port = z.coerce.number().int().min(0).max(65535);
const connectionCount = z.coerce.number().int().min(1).max(1_000_000);
/** Other common spellings of on and off. */
const onOffAliases: ReadonlyMap<unknown, string> = new Map([
  ...["true", "1", "yes"].map((name) => [name, "on"] as const),
  ...["false", "0", "no"].map((name) => [name, "off"] as const),
]);
const onOff = z.preprocess((text) => onOffAliases.get(text) ?? text, z.enum(["on", "off"]));
const commaList = z.string().transform((text) =>
  text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== ""),
);

/** They hold passwords: whatever is wrong with one, its value is not told. A comma in a password is written `%2C`. */
const replicaUrls = commaList.pipe(
  z
    .array(z.url({ protocol: /^postgres(ql)?$/, error: "Not a list of addresses such as DATABASE_URL's" }))
    .max(8, { error: "At most 8 replicas" }),
);

/** As a browser sends it: no path, no slash at the end. */
const origin = z.string().refine((text) => URL.canParse(text) && new URL(text).origin === text, {
  error: "Not an origin: scheme, host and port alone, without a path",
});

/** May name several hosts, which makes it no URL of the usual kind; what follows them the driver checks. */
const mongoUrl = z.string().regex(/^mongodb(\+srv)?:\/\/[^\s/]+(\/\S*)?$/, {
  error: "Not the address of a MongoDB: it begins with mongodb:// or mongodb+srv://",
});

/** Whatever is wrong with it, its value is not told. */
const secret = z.string().refine((text) => parseSecret(text) !== null, {
  error: "Not 32 bytes as base64, base64url or 64 hexadecimal digits. `openssl rand -base64 32` makes some",
});

/** It may hold a password: whatever is wrong with it, its value is not told. */
const smtpUrl = z.string().transform((text, context) => {
  const server = parseSmtpUrl(text);
  if (server) return server;
  context.addIssue({
    code: "custom",
    message:
      "Not the address of a mail server: smtp:// or smtps://, a host and a port, ?tls=off at most behind it",
  });
  return z.NEVER;
});

const otlpEndpoint = z.url({ protocol: /^https?$/ });

/** They may hold a secret: whatever is wrong with them, their values are not told. */
const otlpHeaders = z.string().transform((text, context) => {
  const headers = parseOtlpHeaders(text);
  if (headers) return headers;
  context.addIssue({ code: "custom", message: "Not headers as name=value, with commas between them" });
  return z.NEVER;
});

const mailFrom = z.string().transform((text, context) => {
  const parsed = parseSender(text);
  if (parsed) return parsed;
  context.addIssue({ code: "custom", message: "Not an e-mail address, with or without a name before it" });
  return z.NEVER;
});

interface DurationRange {
  minMs: number;
  maxMs: number;
  /** What is said of any other. */
  message: string;
}

function duration({ minMs, maxMs, message }: DurationRange) {
  return z.string().transform((text, context) => {
    const ms = parseDuration(text);
    if (ms !== null && ms >= minMs && ms <= maxMs) return ms;
    context.addIssue({ code: "custom", message });
    return z.NEVER;
  });
}

/** At most longer than any balancer takes to look, and no orchestrator waits for long. */
const shutdownDrainDelay = duration({
  minMs: 0,
  maxMs: 300_000,
  message: "Not a whole number and a unit (ms, s or m), of at most 5 minutes",
});

/** None would be no bound for Node. */
const keepAliveTimeout = duration({
  minMs: 1_000,
  maxMs: 3_600_000,
  message: "Not a whole number and a unit (ms, s, m or h), from 1 second to 1 hour",
});

const retrySchedule = z.string().transform((text, context) => {
  const parsed = parseSchedule(text);
  if ("schedule" in parsed) return parsed.schedule;
  context.addIssue({ code: "custom", message: parsed.problem });
  return z.NEVER;
});

/** Every setting, with an example that is shown when its value is refused. */
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
  PUBLIC_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta({ example: "https://api.example.com" }),
  WAYMARK_DATA_DIR: z.string().default(".waymark").meta({ example: ".waymark" }),
  WAYMARK_ROLE: z.enum(["all", "api", "worker"]).default("all").meta({ example: "api" }),
  WAYMARK_SECRET: secret.optional().meta({ example: "$(openssl rand -base64 32)" }),
  WAYMARK_DEMO: onOff.optional().meta({ example: "off" }),
  DATABASE_URL: z
    .url({ protocol: /^postgres(ql)?$/ })
    .optional()
    .meta({ example: "postgresql://user:password@db:5432/waymark" }),
  DATABASE_REPLICA_URLS: replicaUrls.default([]).meta({
    example:
      "postgresql://user:password@db-replica-1:5432/waymark,postgresql://user:password@db-replica-2:5432/waymark",
  }),
  DATABASE_POOL_SIZE: z.coerce.number().int().min(2).max(200).default(10).meta({ example: "10" }),
  MONGODB_URL: mongoUrl
    .optional()
    .meta({ example: "mongodb://user:password@mongo:27017/waymark?replicaSet=rs0" }),
  MONGOD_BINARY: z.string().optional().meta({ example: "/usr/bin/mongod" }),
  MONGOD_DOWNLOAD: onOff.default("on").meta({ example: "off" }),
  XDG_CACHE_HOME: z.string().optional().meta({ example: "/home/me/.cache" }),
  WEBHOOK_ALLOW_PRIVATE: onOff.optional().meta({ example: "off" }),
  WEBHOOK_RETRY_SCHEDULE: retrySchedule
    .prefault(DEFAULT_SCHEDULE_TEXT)
    .meta({ example: DEFAULT_SCHEDULE_TEXT }),
  SMTP_URL: smtpUrl.optional().meta({ example: "smtp://user:password@mail.example.com:587" }),
  MAIL_FROM: mailFrom.optional().meta({ example: "Waymark <no-reply@example.com>" }),
  REQUIRE_TWO_FACTOR: z
    .enum(["nobody", "operators", "everybody"])
    .default("nobody")
    .meta({ example: "operators" }),
  RETENTION_DAYS: z.coerce.number().int().min(1).max(365).default(30).meta({ example: "30" }),
  RATE_LIMITS: onOff.default("on").meta({ example: "on" }),
  RATE_LIMIT_STORE: z.enum(["memory", "postgres"]).default("memory").meta({ example: "postgres" }),
  ORGANIZATION_RATE_LIMIT_FACTOR: z.coerce.number().min(1).max(1_000).default(4).meta({ example: "4" }),
  TRUST_PROXY: z
    .union(
      [
        z.literal("off").transform(() => 0),
        z.coerce.number().int().min(0).max(10),
        commaList.pipe(z.array(z.union([z.cidrv4(), z.cidrv6(), z.ipv4(), z.ipv6()])).min(1)),
      ],
      { error: "Neither a number of proxies, nor a list of their addresses, nor off" },
    )
    .default(0)
    .meta({ example: "1 (proxies in front), or 10.0.0.0/8" }),
  LOAD_SHEDDING: onOff.default("on").meta({ example: "off" }),
  MAX_CONNECTIONS: connectionCount.default(10_000).meta({ example: "10000" }),
  MAX_CONNECTIONS_PER_ADDRESS: connectionCount.optional().meta({ example: "1000" }),
  CORS_ORIGINS: commaList.pipe(z.array(origin)).default([]).meta({ example: "https://app.example.com" }),
  LOG_LEVEL: z
    .enum(["trace", "debug", "info", "warn", "error", "silent"])
    .default("info")
    .meta({ example: "info" }),
  OTEL_EXPORTER_OTLP_ENDPOINT: otlpEndpoint.optional().meta({ example: "http://collector:4318" }),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: otlpEndpoint
    .optional()
    .meta({ example: "http://collector:4318/v1/traces" }),
  OTEL_EXPORTER_OTLP_HEADERS: otlpHeaders.prefault("").meta({ example: "x-api-key=SECRET" }),
  OTEL_SERVICE_NAME: z.string().default("waymark").meta({ example: "waymark" }),
  OTEL_TRACES_SAMPLER: z
    .enum([
      "always_on",
      "always_off",
      "traceidratio",
      "parentbased_always_on",
      "parentbased_always_off",
      "parentbased_traceidratio",
    ])
    .default("parentbased_traceidratio")
    .meta({ example: "parentbased_traceidratio" }),
  OTEL_TRACES_SAMPLER_ARG: z.coerce.number().min(0).max(1).default(1).meta({ example: "0.01" }),
} as const;

const HOUR_MS = 3_600_000;
const formatHours = (ms: number): string => `${Number((ms / HOUR_MS).toFixed(1))} h`;

/** Retention must be longer than the retries take: a delivery must not outlive the log that it ends in. */
const envSchema = z.object(settings).superRefine((env, context) => {
  const { RETENTION_DAYS: days, WEBHOOK_RETRY_SCHEDULE: schedule } = env;
  const neededDays = Math.ceil(longestScheduleMs(schedule) / (24 * HOUR_MS));
  // Below 1 it is refused already.
  if (days < 1 || days >= neededDays) return;
  context.addIssue({
    code: "custom",
    path: ["RETENTION_DAYS"],
    message:
      `${days} ${days === 1 ? "day" : "days"} (${days * 24} h) is shorter than WEBHOOK_RETRY_SCHEDULE, which takes ` +
      `${formatHours(scheduleMs(schedule))}, with jitter up to ${formatHours(longestScheduleMs(schedule))}. ` +
      `Set RETENTION_DAYS to at least ${neededDays}, or shorten WEBHOOK_RETRY_SCHEDULE`,
  });
});
export type Env = z.output<typeof envSchema>;

/**
 * The settings in `source` (`process.env` unless given). An empty value counts as unset.
 * Throws a StartupError that names every wrong setting, what is wrong with it and an example.
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
    `The settings are wrong:\n${lines.join("\n")}`,
    "Correct the environment; .env.example lists every setting.",
  );
}
