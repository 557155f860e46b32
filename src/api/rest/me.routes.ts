/** GET /v1/me: the organisation and the API key of the request, and their limits. */
import { Router } from "express";
import { z } from "zod";
import { type ApiKeyService, apiKeyView, keyMode, modeOfKey, toApiKeyView } from "../../api-keys/api.ts";
import { invariant } from "../../core/errors.ts";
import { toTypedId } from "../../core/ids.ts";
import { organizationTypes, partnerOf } from "../../core/principal.ts";
import {
  rateLimitClasses,
  type RateLimits,
  rateLimitsOf,
  type RateLimitView,
} from "../../rate-limits/api.ts";
import { addRoute } from "../add-route.ts";
import { principalOf } from "../context.ts";
import { type RouteHandler, toRequestHandler } from "../json.ts";
import type { ApiKeyGuards } from "./api-key-guards.ts";
import { wireSchema, writerOf } from "./wire.ts";
import { extensibleEnum, idSchema } from "../../operations/schemas.ts";

interface MeServices {
  keys: ApiKeyService;
  /** Null if rate limits are off. */
  limits: RateLimits | null;
}

const tokenRate = {
  per_second: z.number().meta({ description: "Sustained number of requests per second", examples: [50] }),
  burst: z.number().meta({ description: "Number of requests at once", examples: [100] }),
};

export const meSchema = z
  .object({
    organization: z
      .object({
        id: idSchema("org", "Organization ID", "org_01KA2M8D6R4TX0VQ9ZC7JH3EWB"),
        name: z.string().meta({ description: "Name", examples: ["Harbour Logistics"] }),
        type: extensibleEnum(organizationTypes, "Type of organization"),
      })
      .meta({ id: "Organization", description: "The organization of the key." }),
    api_key: wireSchema(apiKeyView),
    mode: keyMode,
    rate_limits: z
      .array(
        z
          .object({
            class: extensibleEnum(rateLimitClasses, "Class of requests"),
            ...tokenRate,
            organization: z.object(tokenRate).meta({
              id: "SharedRateLimit",
              description: "Limit of all keys of the organization together.",
            }),
          })
          .meta({ id: "RateLimit", description: "The key's limit for a class of requests." }),
      )
      .meta({ description: "Rate limits by class of request; a class without an entry is unlimited" }),
  })
  .meta({ id: "Me", description: "Who the key is and what it may do." });

export function meRoutes(services: MeServices & { guards: ApiKeyGuards }): Router {
  const router = Router({ caseSensitive: true });
  addRoute(
    router,
    { path: "/me", name: "/v1/me" },
    { get: [...services.guards("read", []), toRequestHandler(getMe(services))] },
  );
  return router;
}

function getMe({ keys, limits }: MeServices): RouteHandler {
  return async (_request, response) => {
    const principal = principalOf(response);
    const key = await keys.getFor(principal, principal.keyId);
    const { organization } = key;
    invariant(organization, "a key of a v1 route belongs to an organisation");
    const { id, name, type } = organization;
    return {
      data: {
        organization: { id: toTypedId("org", id), name, type },
        api_key: writerOf(apiKeyView)(toApiKeyView(key)),
        mode: modeOfKey(key),
        rate_limits: rateLimitsOf(limits, { ...principal, partnerId: partnerOf(principal) }).map(
          toRateLimitWire,
        ),
      },
    };
  };
}

function toRateLimitWire({ class: kind, organization, ...own }: RateLimitView) {
  invariant(organization, "keys of an organisation have a shared limit");
  return { class: kind, ...toTokenRateWire(own), organization: toTokenRateWire(organization) };
}

function toTokenRateWire({ perSecond, burst }: { perSecond: number; burst: number }) {
  return { per_second: perSecond, burst };
}
