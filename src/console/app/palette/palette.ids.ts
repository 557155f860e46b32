/** Which page an id opens. */
import { linkOptions } from "@tanstack/react-router";
import { typedIdParam } from "../search-params.ts";

const pagesByPrefix = {
  whe: {
    noun: "endpoint",
    link: (id: string) => linkOptions({ to: "/integrations/endpoints/$id", params: { id } }),
  },
  dlv: {
    noun: "delivery",
    link: (id: string) => linkOptions({ to: "/integrations/deliveries/$id", params: { id } }),
  },
  req: {
    noun: "request",
    link: (id: string) => linkOptions({ to: "/integrations/requests", search: { request_id: id, open: id } }),
  },
  key: {
    noun: "requests of API key",
    link: (id: string) => linkOptions({ to: "/integrations/requests", search: { key: id } }),
  },
  org: {
    noun: "organisation",
    link: (id: string) => linkOptions({ to: "/operator/organizations/$id", params: { id } }),
  },
  arq: {
    noun: "account request",
    link: (id: string) => linkOptions({ to: "/operator/requests/$id", params: { id } }),
  },
} as const;

type Prefix = keyof typeof pagesByPrefix;

export interface IdPage {
  /** The kind of object. */
  noun: string;
  link: ReturnType<(typeof pagesByPrefix)[Prefix]["link"]>;
}

/** Null for any other text. */
export function pageOfId(text: string): IdPage | null {
  const id = canonicalId(text);
  for (const [prefix, { noun, link }] of Object.entries(pagesByPrefix))
    if (typedIdParam(id, prefix) !== undefined) return { noun, link: link(id) };
  return null;
}

export function jobIdOf(text: string): string | undefined {
  return typedIdParam(canonicalId(text), "job");
}

/** An API key or the secret of an endpoint. */
const SECRET = /^(wmk|whsec)_/i;

/** False for ids, and for secrets, which must not be sent or be part of a URL. */
export function isSearch(text: string): boolean {
  return jobIdOf(text) === undefined && pageOfId(text) === null && !SECRET.test(text);
}

/** `WHE_01jd…` as `whe_01JD…`. */
function canonicalId(text: string): string {
  const at = text.indexOf("_") + 1;
  return text.slice(0, at).toLowerCase() + text.slice(at).toUpperCase();
}
