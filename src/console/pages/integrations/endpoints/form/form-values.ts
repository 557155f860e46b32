/** Converts between an endpoint's settings and the values of its form. */
import type { WebhookEndpointPatch } from "../../../../generated/webhook-endpoint.ts";
import type { CreateWebhookEndpointInput, JobEventType } from "../../../../generated/webhook-endpoints.ts";

export interface HeaderInput {
  /** Key of the form row. */
  rowId: string;
  name: string;
  value: string;
}

export interface EndpointFormValues extends Record<string, unknown> {
  url: string;
  description: string;
  /** `all` includes event types that are added later. */
  events: "all" | "selected";
  eventTypes: JobEventType[];
  /** Null to leave the current headers unchanged. */
  headers: HeaderInput[] | null;
  /** Mantine's NumberInput holds a string while the input is not a valid number. */
  maxInFlight: number | string;
  perSecond: number | string;
}

export const emptyEndpointValues: EndpointFormValues = {
  url: "",
  description: "",
  events: "all",
  eventTypes: [],
  headers: [],
  maxInFlight: 8,
  perSecond: 50,
};

interface CurrentEndpointSettings {
  readonly url: string;
  readonly description: string;
  readonly eventTypes: readonly JobEventType[] | null;
  readonly maxInFlight: number;
  readonly perSecond: number;
}

export function toEndpointValues(endpoint: CurrentEndpointSettings): EndpointFormValues {
  const { url, description, eventTypes, maxInFlight, perSecond } = endpoint;
  return {
    url,
    description,
    events: eventTypes === null ? "all" : "selected",
    eventTypes: [...(eventTypes ?? [])],
    headers: null,
    maxInFlight,
    perSecond,
  };
}

export function endpointInput(values: EndpointFormValues): CreateWebhookEndpointInput {
  const { headers, ...settings } = toSettings(values);
  return { ...settings, ...(headers === null ? {} : { headers }) };
}

/** Only the changed settings. Sending an unchanged URL would resolve its host again, and fail if DNS is down. */
export function endpointPatch(
  values: EndpointFormValues,
  current: CurrentEndpointSettings,
): WebhookEndpointPatch {
  const { headers, ...settings } = toSettings(values);
  const before = toSettings(toEndpointValues(current));
  const changed = Object.entries(settings).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name as keyof typeof settings]),
  );
  return { ...Object.fromEntries(changed), ...(headers === null ? {} : { headers }) };
}

function toSettings(values: EndpointFormValues) {
  return {
    url: values.url.trim(),
    description: values.description.trim(),
    eventTypes: values.events === "all" ? null : values.eventTypes,
    headers: values.headers === null ? null : nonEmptyHeaders(values.headers),
    maxInFlight: Number(values.maxInFlight),
    perSecond: Number(values.perSecond),
  };
}

/** Drops rows that were left blank. */
function nonEmptyHeaders(rows: readonly HeaderInput[]): { name: string; value: string }[] {
  return rows.flatMap(({ name, value }) =>
    name.trim() === "" && value === "" ? [] : [{ name: name.trim(), value }],
  );
}

/** Client-side error messages by field. */
export function validateEndpoint(values: EndpointFormValues): Record<string, string> {
  const problems: Record<string, string> = {};
  if (!isHttpUrl(values.url.trim()))
    problems["url"] = "Enter a full URL such as https://example.com/webhooks";
  if (values.events === "selected" && values.eventTypes.length === 0)
    problems["eventTypes"] = "Select at least one event, or choose all events";
  if (!isWithin(values.maxInFlight, 64)) problems["maxInFlight"] = "Enter a whole number from 1 to 64";
  if (!isWithin(values.perSecond, 1_000)) problems["perSecond"] = "Enter a whole number from 1 to 1,000";
  return problems;
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && ["http:", "https:"].includes(new URL(text).protocol);
}

function isWithin(value: number | string, max: number): boolean {
  const number = value === "" ? Number.NaN : Number(value);
  return Number.isInteger(number) && number >= 1 && number <= max;
}
