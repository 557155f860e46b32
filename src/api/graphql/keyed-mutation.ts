/** The `Idempotency-Key` of a mutation. It belongs to the route of the same operation in REST. */
import { OperationTypeNode } from "graphql";
import { keyedRequest, keyProblem, type KeyedRequest, type StoredResponse } from "../../idempotency/api.ts";
import { restOperations } from "../../operations/all.ts";
import { mutationOf, routeOf } from "../../operations/operation.ts";
import type { OperationPlan } from "./execution/operation-plan.ts";
import { currentRequest, currentResponse } from "./context.ts";

const routes = new Map(
  restOperations.filter(({ once }) => once).map((operation) => [mutationOf(operation), routeOf(operation)]),
);

function currentKey(): string | undefined {
  return currentRequest().response?.req.get("idempotency-key");
}

/** Throws BadRequestException for a mutation with a key that would have no effect. */
export function checkKey({ kind, rootFields }: OperationPlan): void {
  if (kind !== OperationTypeNode.MUTATION || currentKey() === undefined) return;
  const [field, ...others] = rootFields;
  if (!field || others.length > 0)
    throw keyProblem("not_supported", "is for one mutation; send each mutation in a request of its own");
  const { name } = field.definition;
  if (!routes.has(name))
    throw keyProblem("not_supported", `has no effect on ${name}; send this mutation without it`);
  if (currentRequest().principal?.organizationId === null)
    throw keyProblem("not_supported", "belongs to an organisation; send it with a key of an organisation");
}

/** Returns null without a key. The same field with equal arguments is the same request; its selection may differ. */
export function keyedMutation(field: string, args: object): KeyedRequest | null {
  const { principal, requestId } = currentRequest();
  const organizationId = principal?.organizationId ?? null;
  const route = routes.get(field);
  const key = currentKey();
  if (key === undefined || organizationId === null || route === undefined) return null;
  return keyedRequest(key, { organizationId, route, requestId, parts: ["/graphql", args] });
}

export function unwrapResponse({ data, headers = {} }: StoredResponse): unknown {
  for (const [name, value] of Object.entries(headers)) currentResponse().setHeader(name, value);
  return data;
}
