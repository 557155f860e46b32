/** Validates endpoint settings. Messages say what would be right and never repeat values that can be secret. */
import type { AddressGuard } from "../../core/http-client/address-guard.ts";
import { badRequest, MAX_PROBLEMS, type Problem, problemIn } from "../../core/errors.ts";
import { suggestClosest } from "../../core/did-you-mean.ts";
import { headerProblem } from "./custom-headers.ts";
import { type EventType, eventTypes } from "../../events/api.ts";
import { IN_FLIGHT_LIMITS, RATE_LIMITS } from "./entity.ts";

/** In an update, absent settings keep their value. */
export interface EndpointSettings {
  url?: string | undefined;
  description?: string | undefined;
  /** Null: all types, including future ones. */
  eventTypes?: readonly string[] | null | undefined;
  /** Replaces all existing headers. */
  headers?: Readonly<Record<string, string>> | undefined;
  maxInFlight?: number | undefined;
  perSecond?: number | undefined;
}

/** Without absent settings. */
export type ValidatedSettings = {
  [Name in keyof Omit<EndpointSettings, "eventTypes">]: NonNullable<EndpointSettings[Name]>;
} & {
  eventTypes?: EventType[] | null;
};

const problem = problemIn("body");

export const MAX_HEADERS = 20;
export const MAX_DESCRIPTION = 500;

/** Throws BadRequestException with every problem. Resolves the URL's host name. */
export async function validateSettings(
  settings: EndpointSettings,
  checkUrl: AddressGuard["checkUrl"],
): Promise<ValidatedSettings> {
  const { url, description = "", eventTypes: types = null, headers = {}, maxInFlight, perSecond } = settings;
  const verdict = url === undefined ? { allowed: true as const, url } : await checkUrl(url);
  const problems = [
    ...(verdict.allowed ? [] : [problem("url", verdict.problem, verdict.message)]),
    ...descriptionProblems(description),
    ...eventTypeProblems(types),
    ...headerProblems(headers),
    ...limitProblems("max_in_flight", maxInFlight, IN_FLIGHT_LIMITS),
    ...limitProblems("per_second", perSecond, RATE_LIMITS),
  ];
  if (!verdict.allowed || problems.length > 0) throw badRequest(problems);
  const validated = { ...settings, url: verdict.url, ...(types && { eventTypes: [...new Set(types)] }) };
  const given = Object.entries(validated).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as ValidatedSettings;
}

function descriptionProblems(text: string): Problem[] {
  if (Array.from(text).length > MAX_DESCRIPTION)
    return [problem("description", "too_big", `must be at most ${MAX_DESCRIPTION} characters long`)];
  if (text.includes("\0") || !text.isWellFormed())
    return [problem("description", "invalid_value", "must not contain U+0000 or a lone surrogate")];
  return [];
}

function eventTypeProblems(types: readonly string[] | null): Problem[] {
  if (types === null) return [];
  if (types.length === 0)
    return [problem("event_types", "too_small", "must name at least one type, or be null for all")];
  const unknown = types.entries().filter(([, type]) => !(eventTypes as readonly string[]).includes(type));
  const problems = unknown.take(MAX_PROBLEMS).map(([index, type]) => {
    const nearest = suggestClosest(type, eventTypes);
    const advice =
      nearest === null
        ? `must be one of ${eventTypes.join(", ")}`
        : `must be "${nearest}", or another of the known types`;
    return problem(`event_types[${index}]`, "invalid_value", advice);
  });
  return problems.toArray();
}

function headerProblems(headers: Readonly<Record<string, string>>): Problem[] {
  const entries = Object.entries(headers);
  const problems: Problem[] = [];
  if (entries.length > MAX_HEADERS)
    problems.push(problem("headers", "too_big", `must be at most ${MAX_HEADERS} headers`));
  const names = new Set<string>();
  for (const [index, [name, value]] of entries.entries()) {
    const message = names.has(name.toLowerCase()) ? "is given twice" : headerProblem(name, value);
    names.add(name.toLowerCase());
    // An invalid name is not repeated: it could be a secret entered into the wrong field.
    const isValidName = headerProblem(name, "x") === null;
    if (message !== null)
      problems.push(problem(isValidName ? `headers.${name}` : `headers[${index}]`, "invalid_value", message));
  }
  return problems;
}

function limitProblems(
  field: string,
  value: number | undefined,
  { min, max }: { min: number; max: number },
): Problem[] {
  if (value === undefined) return [];
  if (Number.isInteger(value) && value >= min && value <= max) return [];
  return [problem(field, "invalid_value", `must be a whole number from ${min} to ${max}`)];
}
