/** Marks what is deprecated in an OpenAPI document. */
import { describeDeprecation, type Deprecation, type RestTarget } from "../../../deprecations/api.ts";

/** The document is JSON of any shape. */
interface Json {
  [key: string]: Json;
}

/** Changes `document`, whose paths start below `/v1`. Throws if it lacks what a deprecation names. */
export function markDeprecatedParts(document: object, deprecations: readonly Deprecation[]): void {
  for (const deprecation of deprecations) {
    if ("coordinate" in deprecation.target) continue;
    const { operation: name, part } = deprecation.target;
    const [method = "", path = ""] = name.split(" ");
    const operation = (document as Json)["paths"]?.[path.replace(/^\/v1/, "")]?.[method.toLowerCase()];
    const marked = operation && (part ? findPart(document as Json, operation, part) : operation);
    if (!marked) throw new Error(`The deprecation ${deprecation.id} names nothing of OpenAPI`);
    const description = marked["description"] as unknown as string | undefined;
    Object.assign(marked, {
      deprecated: true,
      description: [description, describeDeprecation(deprecation)].filter(Boolean).join("\n\n"),
    });
    if (part?.in !== "response") declareHeaders(document as Json, operation);
  }
}

function findPart(document: Json, operation: Json, { in: place, name }: NonNullable<RestTarget["part"]>) {
  if (place === "query" || place === "header")
    return Object.values(operation["parameters"] ?? {})
      .map((parameter) => resolve(document, parameter))
      .find((parameter) => (parameter["in"] as unknown) === place && (parameter["name"] as unknown) === name);
  const body =
    place === "request" ? operation["requestBody"] : resolve(document, operation["responses"]?.["200"]);
  const schema = body?.["content"]?.["application/json"]?.["schema"];
  const path = place === "request" ? name : `data.${name}`;
  return path.split(".").reduce<Json | undefined>((parent, key) => {
    const member = resolve(document, parent)?.["properties"]?.[key.replace("[]", "")];
    return key.endsWith("[]") ? resolve(document, member)?.["items"] : member;
  }, schema);
}

function resolve(document: Json, value: Json | undefined): Json {
  const reference = value?.["$ref"] as unknown;
  if (typeof reference !== "string") return value ?? {};
  return reference
    .slice(2)
    .split("/")
    .reduce<Json>((parent, key) => parent[key] ?? {}, document);
}

const text = (description: string, example: string) => ({
  description,
  required: false,
  schema: { type: "string" },
  example,
});
const headers = {
  Deprecation: text("Since when something that the request uses is deprecated (RFC 9745)", "@1801353600"),
  Sunset: text("When it will be removed (RFC 8594)", "Mon, 31 Jan 2028 00:00:00 GMT"),
};

function declareHeaders(document: Json, operation: Json): void {
  for (const [status, response] of Object.entries(operation["responses"] ?? {})) {
    const own = structuredClone(resolve(document, response));
    (operation["responses"] as Json)[status] = {
      ...own,
      headers: { ...own["headers"], ...headers },
    } as unknown as Json;
  }
}
