/** The breaking changes from one JSON schema to another, of requests and of responses. */

/**
 * `request`: what clients send, so the server must go on accepting it. `response`: what clients read, so the server must go on
 * sending it, and nothing that they cannot read.
 */
export type Direction = "request" | "response";

export interface JsonSchema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  pattern?: string;
  enum?: unknown[];
  const?: unknown;
  "x-extensible-enum"?: unknown[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
  additionalProperties?: boolean | JsonSchema;
  items?: JsonSchema;
  oneOf?: JsonSchema[];
  anyOf?: JsonSchema[];
  allOf?: JsonSchema[];
  default?: unknown;
  [limit: string]: unknown;
}

/** The schema of a release, with the function that finds the component of a `$ref`. */
export interface Resolved {
  schema: JsonSchema;
  resolve: (reference: string) => JsonSchema;
}

const LOWER_LIMITS = ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"];
const UPPER_LIMITS = ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"];
const SIMPLE_TYPES = ["null", "boolean", "object", "array", "number", "string"];

/** Returns the breaking changes as sentences that start with `name`. */
export function listSchemaChanges(
  released: Resolved,
  current: Resolved,
  context: { direction: Direction; name: string },
): string[] {
  return compare(released, current, { ...context, seen: new Set() });
}

interface Context {
  direction: Direction;
  name: string;
  /** Pairs of references that are being compared: schemas may refer to themselves. */
  seen: ReadonlySet<string>;
}

function compare(released: Resolved, current: Resolved, context: Context): string[] {
  const pair = `${released.schema.$ref} ${current.schema.$ref}`;
  const isReference = released.schema.$ref !== undefined && current.schema.$ref !== undefined;
  if (isReference && context.seen.has(pair)) return [];
  const inner = isReference ? { ...context, seen: new Set([...context.seen, pair]) } : context;
  const [before, after] = [flatten(released), flatten(current)];
  return [
    ...typeChanges(before, after, inner),
    ...codeChanges(before, after, inner),
    ...limitChanges(before, after, inner),
    ...propertyChanges({ ...released, schema: before }, { ...current, schema: after }, inner),
    ...itemChanges({ ...released, schema: before }, { ...current, schema: after }, inner),
    ...alternativeChanges({ ...released, schema: before }, { ...current, schema: after }, inner),
  ];
}

/** Replaces a reference by its component, and `allOf` by one schema. */
function flatten({ schema, resolve }: Resolved): JsonSchema {
  const { $ref, allOf = [], ...own } = schema;
  const parts = [...($ref === undefined ? [] : [resolve($ref)]), ...allOf];
  if (parts.length === 0) return own;
  const flat = [...parts.map((part) => flatten({ schema: part, resolve })), own];
  return {
    ...(Object.fromEntries(flat.flatMap((part) => Object.entries(part))) as JsonSchema),
    properties: Object.fromEntries(flat.flatMap(({ properties = {} }) => Object.entries(properties))),
    required: flat.flatMap(({ required = [] }) => required),
  };
}

/** True if `wide` has every value of `narrow`. */
function includes(wide: readonly unknown[], narrow: readonly unknown[]): boolean {
  return missingFrom(wide, narrow).length === 0;
}

function missingFrom(wide: readonly unknown[], narrow: readonly unknown[]): unknown[] {
  const known = new Set(wide.map((value) => JSON.stringify(value)));
  return narrow.filter((value) => !known.has(JSON.stringify(value)));
}

function typesOf({ type }: JsonSchema): string[] {
  if (type === undefined) return [...SIMPLE_TYPES, "integer"];
  const types = [type].flat();
  return types.includes("number") ? [...types, "integer"] : types;
}

function typeChanges(before: JsonSchema, after: JsonSchema, { direction, name }: Context): string[] {
  const [old, now] = [typesOf(before), typesOf(after)];
  const isAccepted = direction === "request" ? includes(now, old) : includes(old, now);
  const text = ({ type = "any" }: JsonSchema): string => [type].flat().join(" or ");
  const changes = isAccepted ? [] : [`${name} changed type from ${text(before)} to ${text(after)}`];
  // A new format of a request rejects values; one of a response only promises more.
  const isFormatKept =
    before.format === after.format || (direction === "request" ? after : before).format === undefined;
  if (!isFormatKept)
    changes.push(`${name} changed format from ${before.format ?? "none"} to ${after.format ?? "none"}`);
  return changes;
}

/** Closed lists of values, and the codes of open ones. Of a request every list is closed: the server refuses other codes. */
function codeChanges(before: JsonSchema, after: JsonSchema, { direction, name }: Context): string[] {
  const codesOf = (schema: JsonSchema): unknown[] | undefined => schema["x-extensible-enum"];
  const closed = (schema: JsonSchema): unknown[] | undefined =>
    schema.enum ??
    (schema.const === undefined ? undefined : [schema.const]) ??
    (direction === "request" ? codesOf(schema) : undefined);
  const [wide, narrow] =
    direction === "request" ? [closed(after), closed(before)] : [closed(before), closed(after)];
  const verb = direction === "request" ? "no longer accepts" : "may now be";
  const open = direction === "request" ? [] : missingFrom(codesOf(after) ?? [], codesOf(before) ?? []);
  const closedChange =
    wide === undefined
      ? []
      : narrow === undefined
        ? [`${name} ${verb} values outside ${wide.map(String).join(", ")}`]
        : missingFrom(wide, narrow).map((value) => `${name} ${verb} ${String(value)}`);
  return [...closedChange, ...open.map((value) => `${name} lost the code ${String(value)}`)];
}

/** Limits of responses may change: they describe what the server sends, and clients treat values as opaque. */
function limitChanges(before: JsonSchema, after: JsonSchema, { direction, name }: Context): string[] {
  if (direction === "response") return [];
  const stricter = (limits: string[], isStricter: (now: number, old: number) => boolean): string[] =>
    limits.filter((limit) => {
      const [old, now] = [before[limit], after[limit]];
      return typeof now === "number" && (typeof old !== "number" || isStricter(now, old));
    });
  const changed = [
    ...stricter(LOWER_LIMITS, (now, old) => now > old),
    ...stricter(UPPER_LIMITS, (now, old) => now < old),
    ...(after.pattern !== undefined && after.pattern !== before.pattern ? ["pattern"] : []),
  ];
  const isDefaultKept =
    before.default === undefined || JSON.stringify(before.default) === JSON.stringify(after.default);
  if (!isDefaultKept) changed.push("default");
  return changed.map((limit) => {
    return `${name} changed ${limit} from ${toText(before[limit])} to ${toText(after[limit])}`;
  });
}

function toText(value: unknown): string {
  return value === undefined ? "none" : JSON.stringify(value);
}

function propertyChanges(released: Resolved, current: Resolved, context: Context): string[] {
  const { properties: before = {}, required: requiredBefore = [] } = released.schema;
  const { properties: after = {}, required: requiredAfter = [] } = current.schema;
  const { direction, name } = context;
  const changes = Object.entries(before).flatMap(([property, schema]) => {
    const path = `${name}.${property}`;
    const now = after[property];
    if (!now) return [`${path} was removed`];
    return compare({ ...released, schema }, { ...current, schema: now }, { ...context, name: path });
  });
  const isResponse = direction === "response";
  const [more, fewer] = isResponse ? [requiredBefore, requiredAfter] : [requiredAfter, requiredBefore];
  const requirement = more
    .filter((property) => !fewer.includes(property) && (!isResponse || property in after))
    .map((property) => `${name}.${property} ${isResponse ? "may now be absent" : "is now required"}`);
  return [...changes, ...requirement, ...additionalChanges(released, current, context)];
}

function additionalChanges(released: Resolved, current: Resolved, context: Context): string[] {
  const [before, after] = [released.schema.additionalProperties, current.schema.additionalProperties];
  if (after === false && before !== false) return [`${context.name} no longer allows other members`];
  if (typeof before !== "object" || typeof after !== "object") return [];
  const name = `${context.name}.*`;
  return compare({ ...released, schema: before }, { ...current, schema: after }, { ...context, name });
}

function itemChanges(released: Resolved, current: Resolved, context: Context): string[] {
  const [before, after] = [released.schema.items, current.schema.items];
  if (!before || !after) return [];
  const name = `${context.name}[]`;
  return compare({ ...released, schema: before }, { ...current, schema: after }, { ...context, name });
}

function alternativesOf({ oneOf, anyOf }: JsonSchema): JsonSchema[] {
  return oneOf ?? anyOf ?? [];
}

/** Each alternative that clients send, or that the server sends, needs one on the other side that accepts it. */
function alternativeChanges(released: Resolved, current: Resolved, context: Context): string[] {
  const [before, after] = [alternativesOf(released.schema), alternativesOf(current.schema)];
  if (before.length === 0 && after.length === 0) return [];
  const accepts = (old: JsonSchema, now: JsonSchema): boolean =>
    compare({ ...released, schema: old }, { ...current, schema: now }, context).length === 0;
  const isRequest = context.direction === "request";
  const lost = isRequest
    ? before.some((old) => !after.some((now) => accepts(old, now)))
    : after.some((now) => !before.some((old) => accepts(old, now)));
  const verb = isRequest ? "no longer accepts one of its alternatives" : "has a new alternative";
  return lost ? [`${context.name} ${verb}`] : [];
}
