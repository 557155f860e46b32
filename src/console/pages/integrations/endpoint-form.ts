/** An endpoint's settings as they are typed, and as they are asked for. */
import type { WebhookEndpointPatch } from "../../generated/webhook-endpoint.ts";
import type { CreateWebhookEndpointInput, JobEventType } from "../../generated/webhook-endpoints.ts";

export interface TypedHeader {
  /** Of the row that it is typed in. */
  row: string;
  name: string;
  value: string;
}

export interface EndpointFormValues extends Record<string, unknown> {
  url: string;
  description: string;
  /** `all`: those to come included. */
  events: "all" | "chosen";
  eventTypes: JobEventType[];
  /** Null: as they are. */
  headers: TypedHeader[] | null;
  /** A field for numbers holds a text while it is none. */
  maxInFlight: number | string;
  perSecond: number | string;
}

export const newEndpoint: EndpointFormValues = {
  url: "",
  description: "",
  events: "all",
  eventTypes: [],
  headers: [],
  maxInFlight: 8,
  perSecond: 50,
};

interface Settings {
  readonly url: string;
  readonly description: string;
  readonly eventTypes: readonly JobEventType[] | null;
  readonly maxInFlight: number;
  readonly perSecond: number;
}

export function valuesOf(endpoint: Settings): EndpointFormValues {
  const { url, description, eventTypes, maxInFlight, perSecond } = endpoint;
  return {
    url,
    description,
    events: eventTypes === null ? "all" : "chosen",
    eventTypes: [...(eventTypes ?? [])],
    headers: null,
    maxInFlight,
    perSecond,
  };
}

export function endpointInput(values: EndpointFormValues): CreateWebhookEndpointInput {
  const { headers, ...settings } = settingsOf(values);
  return { ...settings, ...(headers === null ? {} : { headers }) };
}

/**
 * Only what differs from `former`: a URL that is sent again, the same, would be looked up anew, and refused if its name does
 * not resolve at the moment.
 */
export function endpointPatch(values: EndpointFormValues, former: Settings): WebhookEndpointPatch {
  const { headers, ...settings } = settingsOf(values);
  const before = settingsOf(valuesOf(former));
  const changed = Object.entries(settings).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name as keyof typeof settings]),
  );
  return { ...Object.fromEntries(changed), ...(headers === null ? {} : { headers }) };
}

function settingsOf(values: EndpointFormValues) {
  return {
    url: values.url.trim(),
    description: values.description.trim(),
    eventTypes: values.events === "all" ? null : values.eventTypes,
    headers: values.headers === null ? null : headersOf(values.headers),
    maxInFlight: Number(values.maxInFlight),
    perSecond: Number(values.perSecond),
  };
}

/** Rows that nothing was typed in are none. */
function headersOf(rows: readonly TypedHeader[]): { name: string; value: string }[] {
  return rows.flatMap(({ name, value }) =>
    name.trim() === "" && value === "" ? [] : [{ name: name.trim(), value }],
  );
}

/** What is wrong before the server is asked; by field. */
export function endpointProblems(values: EndpointFormValues): Record<string, string> {
  const problems: Record<string, string> = {};
  if (!isWebAddress(values.url.trim()))
    problems["url"] = "Enter the whole address, such as https://example.com/webhooks";
  if (values.events === "chosen" && values.eventTypes.length === 0)
    problems["eventTypes"] = "Choose at least one, or take all of them";
  if (!isWithin(values.maxInFlight, 64)) problems["maxInFlight"] = "Enter a whole number from 1 to 64";
  if (!isWithin(values.perSecond, 1_000)) problems["perSecond"] = "Enter a whole number from 1 to 1,000";
  return problems;
}

function isWebAddress(text: string): boolean {
  return URL.canParse(text) && ["http:", "https:"].includes(new URL(text).protocol);
}

function isWithin(value: number | string, greatest: number): boolean {
  const number = value === "" ? Number.NaN : Number(value);
  return Number.isInteger(number) && number >= 1 && number <= greatest;
}
