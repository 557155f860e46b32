/** A valid request of each operation of the partner API, made from the examples of the OpenAPI document. */
import type { Scope } from "../../../src/api-keys/api.ts";
import { operationsOf } from "../../../src/api/rest/openapi/operations.ts";
import { apiDocument, type Operation, type Parameter } from "./openapi-contract.ts";

export interface DocumentedRequest {
  /** `GET /v1/jobs/by-marking/{markingNumber}` */
  name: string;
  method: string;
  /** With the examples of its required parameters. */
  path: string;
  /** Null for an operation without a body. */
  body: string | null;
  scopes: readonly Scope[];
  /** The operation accepts an Idempotency-Key. */
  isKeyed: boolean;
}

export const documentedRequests: readonly DocumentedRequest[] = operationsOf<Operation>(
  apiDocument.paths,
).map(({ method, path, operation }) => {
  const { parameters = [], requestBody, "x-required-scopes": scopes = [] } = operation;
  const required = parameters.filter((parameter) => parameter.required);
  const query = required
    .filter((parameter) => parameter.in === "query")
    .map((parameter): [string, string] => [parameter.name, exampleOf(parameter)]);
  return {
    name: `${method} /v1${path}`,
    method,
    path: `/v1${fillPath(path, required)}${query.length > 0 ? `?${new URLSearchParams(query).toString()}` : ""}`,
    body: requestBody ? exampleBody(requestBody) : null,
    scopes: scopes as Scope[],
    isKeyed: parameters.some(({ name }) => name === "Idempotency-Key"),
  };
});

/** Replaces the parameters of a path template by their examples. */
function fillPath(template: string, parameters: readonly Parameter[]): string {
  return template.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const parameter = parameters.find((each) => each.in === "path" && each.name === name);
    if (!parameter) throw new Error(`${template} does not describe its parameter ${name}`);
    return encodeURIComponent(exampleOf(parameter));
  });
}

function exampleOf({ name, schema: { examples = [] } }: Parameter): string {
  if (examples.length === 0) throw new Error(`The parameter ${name} has no example`);
  return String(examples[0]);
}

function exampleBody({ content }: NonNullable<Operation["requestBody"]>): string {
  const { example, examples = {} } = content["application/json"] ?? {};
  return JSON.stringify(example ?? Object.values(examples)[0]?.value);
}
