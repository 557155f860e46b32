/** The settings of an endpoint in the bodies of POST and PATCH. */
import type { z } from "zod";
import { type EndpointSettings, headersByName, type ValidatedSettings } from "../../webhooks/api.ts";
import type { Problem } from "../../core/errors.ts";
import type { JsonObject } from "../json.ts";
import { parseBody, validMembers } from "./body.ts";
import { problemsOf, withAllProblems } from "./parameters.ts";
import { endpointPatchBody, newEndpointBody } from "./webhooks.bodies.ts";

/** Throws BadRequestException with all problems of the settings. */
type Validate = (settings: EndpointSettings) => Promise<ValidatedSettings>;

type NewEndpoint = z.output<typeof newEndpointBody>;
type EndpointPatch = z.output<typeof endpointPatchBody>;

/** Throws BadRequestException with all problems, also those that `validate` finds. */
export function readNewEndpoint(
  body: JsonObject,
  validate: Validate,
): Promise<EndpointSettings & { url: string }> {
  const read = () => {
    const members = parseBody(newEndpointBody, body);
    return { ...newSettings(members), url: members.url };
  };
  const validateValid = () => validate(newSettings(validMembers(newEndpointBody, body)));
  return withAllProblems(read, () => allProblems(read, validateValid));
}

/** Throws BadRequestException with all problems, also those that `validate` finds. */
export function readEndpointPatch(body: JsonObject, validate: Validate): Promise<EndpointSettings> {
  const read = () => changedSettings(parseBody(endpointPatchBody, body));
  const validateValid = () => validate(changedSettings(validMembers(endpointPatchBody, body)));
  return withAllProblems(read, () => allProblems(read, validateValid));
}

/** Null is treated as absent. */
function newSettings(members: Partial<NewEndpoint>): EndpointSettings {
  return {
    url: members.url,
    description: members.description ?? undefined,
    eventTypes: members.event_types ?? undefined,
    headers: members.headers ? headersByName(members.headers) : undefined,
    maxInFlight: members.max_in_flight ?? undefined,
    perSecond: members.per_second ?? undefined,
  };
}

/** Null clears a setting that can be empty. */
function changedSettings(members: Partial<EndpointPatch>): EndpointSettings {
  return {
    url: members.url,
    description: members.description === null ? "" : members.description,
    eventTypes: members.event_types,
    headers: members.headers === undefined ? undefined : headersByName(members.headers ?? []),
    maxInFlight: members.max_in_flight,
    perSecond: members.per_second,
  };
}

/** The problems that `read` throws, and then those of `validate`. Both find repeated names of headers. */
async function allProblems(read: () => unknown, validate: () => Promise<unknown>): Promise<Problem[]> {
  const results = await Promise.allSettled([Promise.try(read), Promise.try(validate)]);
  const problems = results.flatMap((result) =>
    result.status === "rejected" ? problemsOf(result.reason) : [],
  );
  return [...new Map(problems.map((problem) => [problem.field, problem])).values()];
}
