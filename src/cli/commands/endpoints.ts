/** `waymark endpoint` */
import { InvalidArgumentError } from "commander";
import { systemActor } from "../../core/principal.ts";
import { type PendingPolicy, systemPrincipal } from "../../webhooks/api.ts";
import { commandGroup, webhookCommand } from "../command.ts";
import { organizationOptions, parseCommaList, parseNumber, parseSince, selectionOf } from "../options.ts";
import { listResult } from "../output.ts";
import { deliveryResult } from "./deliveries.ts";

const ENDPOINT = ["<endpoint>", "endpoint ID (whe_…)"] as const;
const SECRET_NOTICE = "Store the secret: the receiver needs it to verify webhook signatures.";

/** Parses `Name: value` and adds it to the headers parsed before. */
function parseHeader(text: string, previous: Record<string, string> = {}): Record<string, string> {
  const colon = text.indexOf(":");
  if (colon <= 0)
    throw new InvalidArgumentError('It must have the form "Name: value", for example "X-Api-Key: abc".');
  return { ...previous, [text.slice(0, colon).trim()]: text.slice(colon + 1).trim() };
}

/** Parses `send`, `discard` or `since:` followed by a time. */
function parsePendingPolicy(text: string): PendingPolicy {
  if (text === "send" || text === "discard") return text;
  if (text.startsWith("since:")) return { since: parseSince(text.slice(6)) };
  throw new InvalidArgumentError("It must be send, discard or since:2027-01-31T12:00:00Z.");
}

const urlOption = { value: "<url>", text: "URL that receives the events" } as const;
const settings = {
  events: { value: "<types>", text: "event types, separated by commas, or: all", parse: parseCommaList },
  description: { value: "<text>", text: "description for your own use" },
  header: {
    value: "<header>",
    text: 'custom header, "Name: value"; repeatable; replaces all existing custom headers',
    parse: parseHeader,
  },
  maxInFlight: { value: "<count>", text: "maximum deliveries in flight, 1 to 64", parse: parseNumber },
  perSecond: { value: "<count>", text: "maximum deliveries per second, 1 to 1000", parse: parseNumber },
} as const;

interface SettingOptions {
  readonly events: string[] | undefined;
  readonly header: Record<string, string> | undefined;
}

/** Returns the options with the names of the service. */
function toSettings<Options extends SettingOptions>({ events, header, ...rest }: Options) {
  return { ...rest, headers: header, eventTypes: events?.join() === "all" ? null : events };
}

const COLUMNS = [
  "id",
  "status",
  "disabledReason",
  "failingSince",
  "blockedUntil",
  "pending",
  "mode",
  "organizationName",
  "url",
  "problem",
] as const;

export const endpointCommands = commandGroup("endpoint", "manage webhook endpoints", [
  webhookCommand("create", {
    description: "create a webhook endpoint for an organisation and print its secret",
    options: {
      org: { value: "<org>", text: "organisation whose events to send (ID or exact name)", required: true },
      url: { ...urlOption, required: true },
      ...settings,
    },
    help: "\nDefault: all events, 8 deliveries in flight, 50 per second.",
    async run({ organizations, endpoints }, { org, ...options }) {
      const owner = { organizationId: (await organizations.get(org)).id, actor: systemActor };
      const { endpoint, secret } = await endpoints.create(owner, toSettings(options));
      return {
        data: { secret, ...endpoint },
        note: `${SECRET_NOTICE}\nTry it: waymark endpoint test ${endpoint.id}`,
      };
    },
  }),
  webhookCommand("list", {
    description: "list webhook endpoints with their status, oldest first",
    options: organizationOptions("endpoints"),
    async run({ organizations, endpoints }, options) {
      const selection = await selectionOf(organizations, options);
      return listResult(await endpoints.list(systemPrincipal, selection), COLUMNS);
    },
  }),
  webhookCommand("pause", {
    description: "pause an endpoint; its events are put on hold until the retention time ends",
    argument: ENDPOINT,
    run: async ({ endpoints }, _options, id) => ({ data: await endpoints.pause(systemPrincipal, id) }),
  }),
  webhookCommand("resume", {
    description: "resume a paused or disabled endpoint",
    argument: ENDPOINT,
    options: {
      pendingPolicy: {
        value: "<policy>",
        text: "pending deliveries: send, discard, or since:<when> (send those created since, discard the others)",
        parse: parsePendingPolicy,
        default: "send",
      },
    },
    async run({ endpoints }, options, id) {
      const { endpoint, discarded } = await endpoints.resume(systemPrincipal, id, options);
      return { data: { ...endpoint, discarded } };
    },
  }),
  webhookCommand("delete", {
    description: "delete an endpoint and discard its pending deliveries; its delivery log is kept",
    argument: ENDPOINT,
    async run({ endpoints }, _options, id) {
      const { url } = await endpoints.get(systemPrincipal, id);
      const { discarded } = await endpoints.delete(systemPrincipal, id);
      return { data: { id, url, discarded } };
    },
  }),
  webhookCommand("rotate-secret", {
    description: "create a new secret for an endpoint; the previous one also signs for 24 hours",
    argument: ENDPOINT,
    async run({ endpoints }, _options, id) {
      const { endpoint, secret } = await endpoints.rotateSecret(systemPrincipal, id);
      return { data: { secret, ...endpoint }, note: SECRET_NOTICE };
    },
  }),
  webhookCommand("update", {
    description: "change an endpoint; options that are not given stay unchanged",
    argument: ENDPOINT,
    options: { url: urlOption, ...settings },
    run: async ({ endpoints }, options, id) => ({
      data: await endpoints.update(systemPrincipal, id, toSettings(options)),
    }),
  }),
  webhookCommand("test", {
    description:
      "send a test event now, even to a paused endpoint, and show the response (exit code 1 if delivery fails)",
    argument: ENDPOINT,
    async run({ deliveries }, _options, id) {
      const sent = await deliveries.ping(systemPrincipal, id);
      return { ...deliveryResult(sent), exitCode: sent.status === "delivered" ? 0 : 1 };
    },
  }),
]);
