/** Closes the lists of codes in requests: the server refuses other codes. In responses and events they stay open. */
import { operationsOf } from "./operations.ts";

type Node = Record<string, unknown>;

interface Document {
  paths?: Record<string, object>;
  components?: { schemas?: Record<string, unknown> };
}

/** Makes `enum` of each `x-extensible-enum` that a request contains, in place. Requests and responses share no component. */
export function closeRequests({ paths = {}, components }: Document): void {
  const close = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    const node = value as Node;
    const { $ref, "x-extensible-enum": codes } = node;
    if (typeof $ref === "string") close(components?.schemas?.[$ref.slice($ref.lastIndexOf("/") + 1)]);
    if (Array.isArray(codes)) closeCodes(node, codes as string[]);
    for (const member of Object.values(node)) close(member);
  };
  for (const { operation } of operationsOf<Node>(paths))
    close([operation["parameters"], operation["requestBody"]]);
}

function closeCodes(schema: Node, codes: readonly string[]): void {
  delete schema["x-extensible-enum"];
  schema["enum"] = [schema["type"]].flat().includes("null") ? [...codes, null] : [...codes];
  // Generators derive names from the values, which works only for identifiers.
  if (codes.some((code) => !/^\w+$/.test(code)))
    schema["x-enum-varnames"] = codes.map((code) => code.toUpperCase().replaceAll(/\W/g, "_"));
}
