/** `waymark key` */
import { InvalidArgumentError } from "commander";
import {
  type ApiKey,
  type ApiKeyService,
  parsePrefix,
  type Scope,
  scopes as allScopes,
  toApiKeyView,
} from "../../api-keys/api.ts";
import { AppError } from "../../core/errors.ts";
import { organizationTypes } from "../../core/principal.ts";
import { effectiveLimit, rateLimitClasses, type RateLimitOverrides } from "../../rate-limits/api.ts";
import { commandGroup, serviceCommand } from "../command.ts";
import { cliAuditContext } from "../context.ts";
import { organizationOptions, parseCommaList, parseExpiry, parseNumber, selectionOf } from "../options.ts";
import { listResult, toDocument } from "../output.ts";

const KEY = ["<key>", "key ID, prefix as shown in the console (wmk_ab12cd34) or full key"] as const;
const KEY_NOTICE = "Store the key now. It is not shown again.";

function present(key: ApiKey) {
  const { organization, ...view } = toApiKeyView(key);
  const { id = null, name = null } = organization ?? {};
  return { ...view, organizationId: id, organizationName: name };
}

/** Finds a key by its ID, its prefix or the full key. Throws NotFoundException. */
async function getKey(keys: ApiKeyService, text: string): Promise<ApiKey> {
  const key = await keys.find(parsePrefix(text) ?? text);
  // The text may be a full key, so the message must not repeat it.
  if (!key) throw new AppError("NotFoundException", "No API key has this ID or prefix", { resource: "key" });
  return key;
}

function parseScopes(text: string): Scope[] {
  const names = parseCommaList(text);
  const unknown = names.filter((name) => !(allScopes as readonly string[]).includes(name));
  if (names.length > 0 && unknown.length === 0) return [...new Set(names)] as Scope[];
  throw new InvalidArgumentError(`Allowed scopes: ${allScopes.join(", ")}, separated by commas.`);
}

/** Parses `read=10/20`, `read=none` or `read=default` and adds it to the limits parsed before. `default` becomes undefined. */
function parseRateLimit(text: string, previous: RateLimitOverrides = {}): RateLimitOverrides {
  const [, limitClass, perSecond, burst] =
    /^(read|write|batch)=(?:none|default|(\d{1,6}(?:\.\d+)?)\/(\d{1,6}))$/.exec(text) ?? [];
  const isValid = perSecond === undefined || (Number(perSecond) > 0 && Number(burst) >= 1);
  if (limitClass === undefined || !isValid)
    throw new InvalidArgumentError("It must have the form read=10/20, read=none or read=default.");
  const limit = perSecond === undefined ? null : { perSecond: Number(perSecond), burst: Number(burst) };
  return { ...previous, [limitClass]: text.endsWith("=default") ? undefined : limit };
}

const COLUMNS = [
  "id",
  "prefix",
  "mode",
  "expiresAt",
  "revokedAt",
  "organizationName",
  "name",
  "scopes",
] as const;

export const keyCommands = commandGroup("key", "manage API keys", [
  serviceCommand("create", {
    description: "create an API key and print it; it is not shown again",
    options: {
      org: { value: "<org>", text: "organisation of the key (ID or exact name)", conflicts: ["operator"] },
      operator: {
        text: "create an operator key instead: it can read and write jobs of all organisations through GraphQL",
        conflicts: ["test", "as"],
      },
      test: { text: "create a test key: it sees and changes only test data" },
      as: { value: "<type>", text: "its side (default: the organisation's)", choices: organizationTypes },
      name: { value: "<name>", text: "name of the key", default: "API key" },
      scopes: {
        value: "<scopes>",
        text: `permissions, separated by commas: ${allScopes.join(", ")}`,
        parse: parseScopes,
        default: ["jobs:read", "jobs:write"],
      },
      expires: {
        value: "<when>",
        text: "date (its end, UTC), date-time, or 90d from now",
        parse: parseExpiry,
      },
      cidr: {
        value: "<range...>",
        text: "IP address ranges that may use the key (default: any)",
        parse: (range, previous: string[] = []) => [...previous, range],
      },
    },
    async run({ organizations, keys }, { org, operator, test, as, name, scopes, expires, cidr }) {
      if (!org && !operator) throw new AppError("BadRequestException", "Specify --org or --operator");
      if (as && !test) throw new AppError("BadRequestException", "--as needs --test");
      const organization = org === undefined ? null : await organizations.get(org);
      const request = {
        organizationId: organization?.id ?? null,
        name,
        scopes,
        expiresAt: expires ?? null,
        cidrs: cidr ?? null,
        testSide: test ? (as ?? organization?.type) : undefined,
        createdBy: "cli",
      };
      const { key, text } = await keys.create(request, cliAuditContext);
      return { data: { key: text, ...present(key) }, note: KEY_NOTICE };
    },
  }),
  serviceCommand("list", {
    description: "list API keys, oldest first",
    options: organizationOptions("keys"),
    async run({ organizations, keys }, options) {
      const { organizationId, mode } = await selectionOf(organizations, options);
      return listResult((await keys.list(organizationId, mode)).map(present), COLUMNS);
    },
  }),
  serviceCommand("revoke", {
    description: "revoke a key; all processes reject it within a second",
    argument: KEY,
    options: { includeCreatedKeys: { text: "also revoke keys created with it, directly or indirectly" } },
    async run({ keys }, { includeCreatedKeys = false }, text) {
      const { id } = await getKey(keys, text);
      const { key, created } = await keys.revoke(id, cliAuditContext, { includeCreatedKeys });
      const alsoRevoked = created.map((each) => toDocument(present(each)));
      return { data: { ...present(key), alsoRevoked } };
    },
  }),
  serviceCommand("rotate", {
    description: "replace a key with a new one; the old key stays valid for a grace period",
    argument: KEY,
    options: {
      graceHours: {
        value: "<hours>",
        text: "validity of the old key, 0 to 24",
        parse: parseNumber,
        default: 24,
      },
    },
    async run({ keys }, { graceHours }, text) {
      const { id, prefix } = await getKey(keys, text);
      const issued = await keys.rotate(id, graceHours, "cli", cliAuditContext);
      const replaces = toDocument(present(await getKey(keys, prefix)));
      return { data: { key: issued.text, ...present(issued.key), replaces }, note: KEY_NOTICE };
    },
  }),
  serviceCommand("update", {
    description: "change the rate limits of a key; all processes apply them within a second",
    argument: KEY,
    options: {
      limit: {
        value: "<class=limit>",
        text: "class (read, write or batch) and limit: read=10/20 (10 per second, burst of 20), read=default or read=none; repeatable",
        parse: parseRateLimit,
        required: true,
      },
    },
    async run({ keys }, { limit }, text) {
      const { id } = await getKey(keys, text);
      const key = await keys.setRateLimits(id, limit);
      const own = key.rateLimits ?? null;
      const limits = rateLimitClasses.map((kind) => {
        const effective = effectiveLimit(own, kind);
        return `${kind}: ${effective ? `${effective.perSecond} per second, burst of ${effective.burst}` : "none"}`;
      });
      return { data: { ...present(key), rateLimits: own }, text: [key.prefix, ...limits].join("\n") };
    },
  }),
]);
