/** `waymark key` */
import { InvalidArgumentError } from "commander";
import { type ApiKey, type ApiKeyService, modeOfKey, parsePrefix, type Scope } from "../../api-keys/api.ts";
import { AppError } from "../../core/errors.ts";
import { toTypedId } from "../../core/ids.ts";
import { organizationTypes } from "../../core/principal.ts";
import { effectiveLimit, rateLimitClasses } from "../../rate-limits/api.ts";
import { choice, commandGroup, flag, option, required, serviceCommand, withDefault } from "../command.ts";
import { cliAuditContext } from "../context.ts";
import { organizationOptions, selectionOf } from "../organization-options.ts";
import { parseExpiry, parseHours, parseRateLimit, parseScopes } from "../option-parsers.ts";
import { formatList, listResult } from "../output.ts";

const KEY = ["<key>", "key ID, prefix as shown in the console (wmk_ab12cd34) or full key"] as const;
const KEY_NOTICE = "Store the key now. It is not shown again.";

function presentKey(key: ApiKey) {
  return {
    id: toTypedId("key", key.id),
    prefix: key.prefix,
    organization_id: key.organization ? toTypedId("org", key.organization.id) : null,
    name: key.name,
    mode: modeOfKey(key),
    scopes: key.scopes,
    cidrs: key.cidrs ?? null,
    created_by: key.createdBy,
    created_at: key.createdAt,
    expires_at: key.expiresAt ?? null,
    revoked_at: key.revokedAt ?? null,
    last_used_at: key.lastUsedAt ?? null,
  };
}

/** Finds a key by its ID, its prefix (with or without `wmk_`) or the full key. Throws NotFoundException. */
async function getKey(keys: ApiKeyService, text: string): Promise<ApiKey> {
  const key = await keys.find(
    parsePrefix(text) ?? text.replace(/^(?:wmk_)?((?:test_)?[0-9a-z]{8})_?$/, "wmk_$1"),
  );
  // The text may be a full key, so the message must not repeat it.
  if (!key) throw new AppError("NotFoundException", "No API key has this ID or prefix", { resource: "key" });
  return key;
}

const create = serviceCommand("create", {
  description: "create an API key and print it; it is not shown again",
  options: {
    org: option("<org>", "organisation that the key belongs to (ID or exact name)"),
    operator: flag(
      "create an operator key instead: it can read and write jobs of all organisations through GraphQL",
    ),
    test: flag("create a test key: it sees and changes only test data"),
    as: choice(
      "<type>",
      "side of test jobs that a test key sees (default: the organisation's)",
      organizationTypes,
    ),
    name: withDefault("API key", option("<name>", "name of the key")),
    scopes: withDefault<Scope[]>(
      ["jobs:read", "jobs:write"],
      option(
        "<scopes>",
        "permissions, separated by commas: jobs:read, jobs:write, webhooks:manage, keys:manage",
        parseScopes,
      ),
    ),
    expires: option(
      "<when>",
      "date (expires at the end of that day, UTC), date-time, or days from now: 90d",
      parseExpiry,
    ),
    cidr: option<string[]>(
      "<range...>",
      "IP address ranges that may use the key (default: any)",
      (range, previous = []) => [...previous, range],
    ),
  },
  check({ org, operator, test, as }) {
    if ((org === undefined) === (operator === undefined))
      throw new InvalidArgumentError("specify either --org or --operator");
    if (test && operator) throw new InvalidArgumentError("--test needs --org");
    if (as !== undefined && !test) throw new InvalidArgumentError("--as needs --test");
  },
  async run({ organizations, keys }, { org, test, as, name, scopes, expires, cidr }) {
    const organization = org === undefined ? null : await organizations.get(org);
    const { key, text } = await keys.create(
      {
        organizationId: organization?.id ?? null,
        name,
        scopes,
        expiresAt: expires ?? null,
        cidrs: cidr ?? null,
        testSide: test ? (as ?? organization?.type) : undefined,
        createdBy: "cli",
      },
      cliAuditContext,
    );
    const document = presentKey(key);
    const summary = {
      Key: text,
      ID: document.id,
      Organisation: organization?.name ?? "(operator)",
      Mode: document.mode,
      Scopes: scopes.join(", "),
      Expires: document.expires_at?.toISOString() ?? "never",
      "Allowed IPs": document.cidrs?.join(", ") ?? "any",
    };
    return { document: { key: text, ...document }, text: `${formatList(summary)}\n${KEY_NOTICE}` };
  },
});

const list = serviceCommand("list", {
  description: "list API keys, oldest first",
  options: organizationOptions("keys"),
  async run({ organizations, keys }, options) {
    const { organizationId, mode } = await selectionOf(organizations, options);
    return listResult(await keys.list(organizationId, mode), {
      columns: {
        ID: ({ id }) => toTypedId("key", id),
        KEY: ({ prefix }) => prefix,
        STATUS: formatKeyStatus,
        MODE: modeOfKey,
        ORGANISATION: ({ organization }) => organization?.name ?? "(operator)",
        NAME: ({ name }) => name,
        SCOPES: ({ scopes }) => scopes.join(","),
      },
      toItem: presentKey,
      empty: "No API keys.",
    });
  },
});

function formatKeyStatus({ revokedAt, expiresAt }: ApiKey): string {
  if (revokedAt) return "revoked";
  return expiresAt && expiresAt.getTime() <= Date.now() ? "expired" : "active";
}

const revoke = serviceCommand("revoke", {
  description: "revoke a key; all processes reject it within a second",
  argument: KEY,
  options: { includeCreatedKeys: flag("also revoke keys created with it, directly or indirectly") },
  async run({ keys }, { includeCreatedKeys = false }, text) {
    const { id } = await getKey(keys, text);
    const { key, created } = await keys.revoke(id, cliAuditContext, { includeCreatedKeys });
    return {
      document: { ...presentKey(key), also_revoked: created.map(presentKey) },
      text: [key, ...created].map(({ prefix }) => `${prefix} is revoked.`).join("\n"),
    };
  },
});

const rotate = serviceCommand("rotate", {
  description: "replace a key with a new one; the old key stays valid for a grace period",
  argument: KEY,
  options: {
    graceHours: withDefault(
      24,
      option("<hours>", "hours for which the old key stays valid, 0 to 24", parseHours),
    ),
  },
  async run({ keys }, { graceHours }, text) {
    const { id } = await getKey(keys, text);
    const issued = await keys.rotate(id, graceHours, "cli", cliAuditContext);
    const replaces = presentKey(await getKey(keys, toTypedId("key", id)));
    const document = { key: issued.text, ...presentKey(issued.key), replaces };
    const summary = {
      Key: issued.text,
      ID: document.id,
      Replaces: `${replaces.prefix}, valid until ${replaces.expires_at?.toISOString() ?? "revoked"}`,
    };
    return { document, text: `${formatList(summary)}\n${KEY_NOTICE}` };
  },
});

const update = serviceCommand("update", {
  description: "change the rate limits of a key; all processes apply them within a second",
  argument: KEY,
  options: {
    limit: required(
      option(
        "<class=limit>",
        "class (read, write or batch) and limit: read=10/20 (10 per second, burst of 20), read=default or read=none; repeatable",
        parseRateLimit,
      ),
    ),
  },
  async run({ keys }, { limit: changes }, text) {
    const { id } = await getKey(keys, text);
    const key = await keys.setRateLimits(id, changes);
    const ownLimits = key.rateLimits ?? null;
    const limits = rateLimitClasses.map((kind) => {
      const limit = effectiveLimit(ownLimits, kind);
      return [kind, limit ? `${limit.perSecond} per second, burst of ${limit.burst}` : "none"] as const;
    });
    return {
      document: { ...presentKey(key), rate_limits: ownLimits },
      text: formatList({ Key: key.prefix, ...Object.fromEntries<string>(limits) }),
    };
  },
});

export const keyCommands = commandGroup("key", "manage API keys", [create, list, revoke, rotate, update]);
