/** `waymark endpoint` */
import { systemActor } from "../../core/principal.ts";
import {
  type EndpointView,
  PENDING_COUNT_LIMIT,
  type PendingPolicy,
  systemPrincipal,
} from "../../webhooks/api.ts";
import { commandGroup, option, required, webhookCommand, withDefault } from "../command.ts";
import { organizationOptions, selectionOf } from "../organization-options.ts";
import { parseCommaList, parseHeader, parsePendingPolicy, parsePositiveInteger } from "../option-parsers.ts";
import { escapeControlCharacters, formatList, listResult, toDocument } from "../output.ts";
import { deliveryResult } from "./deliveries.ts";

const ENDPOINT = ["<endpoint>", "endpoint ID (whe_…)"] as const;
const SECRET_NOTICE = "Store the secret: the receiver needs it to verify webhook signatures.";
const URL_HELP = "URL that receives the events";
const DISABLED_REASON_TEXT = {
  gone: "disabled: receiver returned 410",
  failing: "disabled: failed for days",
} as const;

/** The options that `create` and `update` share, except the URL. `help` continues their descriptions. */
const settingOptions = (help: { events: string; header: string; inFlight: string; perSecond: string }) => ({
  events: option("<types>", `only these event types, separated by commas${help.events}`, parseCommaList),
  description: option("<text>", "description for your own use"),
  header: option("<header>", `custom header, "Name: value"${help.header}; repeatable`, parseHeader),
  maxInFlight: option(
    "<count>",
    `maximum deliveries in flight, 1 to 64${help.inFlight}`,
    parsePositiveInteger,
  ),
  perSecond: option(
    "<count>",
    `maximum deliveries per second, 1 to 1000${help.perSecond}`,
    parsePositiveInteger,
  ),
});

const create = webhookCommand("create", {
  description: "create a webhook endpoint for an organisation and print its secret",
  options: {
    org: required(option("<org>", "organisation whose events to send (ID or exact name)")),
    url: required(option("<url>", URL_HELP)),
    ...settingOptions({
      events: " (default: all)",
      header: "",
      inFlight: " (default: 8)",
      perSecond: " (default: 50)",
    }),
  },
  async run({ organizations, endpoints }, { org, events, header, ...rest }) {
    const { id, name } = await organizations.get(org);
    const settings = { ...rest, eventTypes: events ?? null, headers: header };
    const owner = { organizationId: id, actor: systemActor };
    const { endpoint, secret } = await endpoints.create(owner, settings);
    const summary = { Secret: secret, ID: endpoint.id, Organisation: name, ...summarize(endpoint) };
    return {
      document: { secret, ...toDocument(endpoint) },
      text: `${formatList(summary)}\n${SECRET_NOTICE}\nTry it: waymark endpoint test ${endpoint.id}`,
    };
  },
});

const update = webhookCommand("update", {
  description: "change an endpoint; options that are not given stay unchanged",
  argument: ENDPOINT,
  options: {
    url: option("<url>", URL_HELP),
    ...settingOptions({
      events: ", or: all",
      header: "; replaces all existing custom headers",
      inFlight: "",
      perSecond: "",
    }),
  },
  async run({ endpoints }, { events, header, ...rest }, id) {
    const eventTypes = events?.length === 1 && events[0] === "all" ? null : events;
    const endpoint = await endpoints.update(systemPrincipal, id, { ...rest, eventTypes, headers: header });
    return { document: toDocument(endpoint), text: formatList({ ID: endpoint.id, ...summarize(endpoint) }) };
  },
});

const list = webhookCommand("list", {
  description: "list webhook endpoints with their status, oldest first",
  options: organizationOptions("endpoints"),
  async run({ organizations, endpoints }, options) {
    const selection = await selectionOf(organizations, options);
    return listResult(await endpoints.list(systemPrincipal, selection), {
      columns: {
        ID: ({ id }) => id,
        STATUS: formatStatus,
        "FAILING SINCE": ({ failingSince }) => failingSince ?? "-",
        PENDING: formatPendingCount,
        MODE: ({ mode }) => mode,
        ORGANISATION: ({ organizationName }) => organizationName,
        URL: ({ url }) => url,
      },
      toItem: toDocument,
      empty: "No webhook endpoints.",
    });
  },
});

const pause = webhookCommand("pause", {
  description: "pause an endpoint; its events are put on hold until the retention time ends",
  argument: ENDPOINT,
  async run({ endpoints }, _options, id) {
    const endpoint = await endpoints.pause(systemPrincipal, id);
    return {
      document: toDocument(endpoint),
      text: `${escapeControlCharacters(endpoint.url)} is ${formatStatus(endpoint)}.`,
    };
  },
});

const resume = webhookCommand("resume", {
  description: "resume a paused or disabled endpoint",
  argument: ENDPOINT,
  options: {
    pendingPolicy: withDefault<PendingPolicy>(
      "send",
      option(
        "<policy>",
        "pending deliveries: send, discard, or since:<when> (send those created since, discard the others)",
        parsePendingPolicy,
      ),
    ),
  },
  async run({ endpoints }, options, id) {
    const { endpoint, discarded } = await endpoints.resume(systemPrincipal, id, options);
    return {
      document: { ...toDocument(endpoint), discarded },
      text: `${escapeControlCharacters(endpoint.url)} is ${formatStatus(endpoint)}: ${formatPendingCount(endpoint)} pending, ${discarded.toLocaleString("en")} discarded.`,
    };
  },
});

const remove = webhookCommand("delete", {
  description: "delete an endpoint and discard its pending deliveries; its delivery log is kept",
  argument: ENDPOINT,
  async run({ endpoints }, _options, id) {
    const { url } = await endpoints.get(systemPrincipal, id);
    const { discarded } = await endpoints.delete(systemPrincipal, id);
    return {
      document: { id, url, discarded },
      text: `${escapeControlCharacters(url)} deleted, ${discarded.toLocaleString("en")} deliveries discarded.`,
    };
  },
});

const rotateSecret = webhookCommand("rotate-secret", {
  description: "create a new secret for an endpoint; the previous one also signs for 24 hours",
  argument: ENDPOINT,
  async run({ endpoints }, _options, id) {
    const { endpoint, secret } = await endpoints.rotateSecret(systemPrincipal, id);
    const [previousValidUntil = ""] = endpoint.previousSecretsExpireAt;
    const summary = { Secret: secret, URL: endpoint.url, "Previous valid until": previousValidUntil };
    return {
      document: { secret, ...toDocument(endpoint) },
      text: `${formatList(summary)}\n${SECRET_NOTICE}`,
    };
  },
});

const test = webhookCommand("test", {
  description:
    "send a test event now, even to a paused endpoint, and show the response (exit code 1 if delivery fails)",
  argument: ENDPOINT,
  async run({ deliveries }, _options, id) {
    const sent = await deliveries.sendTest(systemPrincipal, id);
    return { ...deliveryResult(sent), exitCode: sent.status === "delivered" ? 0 : 1 };
  },
});

export const endpointCommands = commandGroup("endpoint", "manage webhook endpoints", [
  create,
  list,
  pause,
  resume,
  remove,
  rotateSecret,
  update,
  test,
]);

function summarize({ url, eventTypes, maxInFlight, perSecond }: EndpointView): Record<string, string> {
  return {
    URL: url,
    Events: eventTypes?.join(", ") ?? "all",
    Limits: `${maxInFlight} in flight, ${perSecond} per second`,
  };
}

/** Returns the status with the reason where there is one, for example "disabled: receiver returned 410". */
function formatStatus({ status, disabledReason, isCircuitOpen, problem }: EndpointView): string {
  if (disabledReason !== null) return DISABLED_REASON_TEXT[disabledReason];
  if (status !== "active") return status;
  if (problem !== null) return "active, secret unreadable";
  return isCircuitOpen ? "active, backing off" : "active";
}

function formatPendingCount({ pending }: EndpointView): string {
  const more = pending === PENDING_COUNT_LIMIT ? "at least " : "";
  return `${more}${pending.toLocaleString("en")}`;
}
