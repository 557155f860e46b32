/** REST's names: schemas and values of operations have camelCase names, requests and responses have snake_case ones. */
import { z } from "zod";
import { snakeCase } from "../../core/names.ts";
import { isInRestForm } from "../../operations/schemas.ts";

type Definition = z.core.$ZodTypes["_zod"]["def"];

const wireSchemas = new WeakMap<z.ZodType, z.ZodType>();

/** Returns the schema with REST's names, at every depth. */
export function wireSchema<Schema extends z.ZodType>(schema: Schema): Schema {
  const known = wireSchemas.get(schema) ?? renamed(schema);
  wireSchemas.set(schema, known);
  return known as Schema;
}

/** Returns the schema with REST's names, which allows no other members. */
export function closedWireSchema(schema: z.ZodObject): z.ZodType {
  return copyOf(wireSchema(schema), { catchall: z.never() });
}

function renamed(schema: z.ZodType): z.ZodType {
  if (isInRestForm(schema)) return schema;
  const def = schema.def as Definition;
  if (def.type === "object") {
    const shape = Object.entries(def.shape).map(([name, member]) => [
      snakeCase(name),
      wireSchema(member as z.ZodType),
    ]);
    return copyOf(schema, { shape: Object.fromEntries(shape) as z.ZodRawShape });
  }
  if (def.type === "array") return copyOf(schema, { element: wireSchema(def.element as z.ZodType) });
  if (!("innerType" in def)) return schema;
  const innerType = wireSchema(def.innerType as z.ZodType);
  return innerType === def.innerType ? schema : copyOf(schema, { innerType });
}

/** Returns a copy with other parts and the same metadata. */
function copyOf(schema: z.ZodType, parts: object): z.ZodType {
  // The OpenAPI generator finds the component's name only in schemas with a parent, as those of `meta` are.
  const copy = z.core.clone(schema, { ...schema.def, ...parts }, { parent: true });
  const meta = z.globalRegistry.get(schema);
  if (meta) z.globalRegistry.add(copy, meta);
  return copy;
}

/** Returns a function that converts a value of `schema` to REST's names. It leaves out members that the schema doesn't have. */
export function writerOf(schema: z.ZodType): (value: unknown) => unknown {
  return converterOf(schema, (name) => [name, snakeCase(name)]) ?? ((value) => value);
}

/** Returns the function that converts a value with REST's names to one of `schema`. Absent members stay absent. */
export function readerOf(schema: z.ZodType): (value: unknown) => unknown {
  return converterOf(schema, (name) => [snakeCase(name), name]) ?? ((value) => value);
}

type Convert = (value: unknown) => unknown;

/** Returns null if no value needs a conversion. `rename` returns the old and the new name of a member. */
function converterOf(schema: z.ZodType, rename: (name: string) => [string, string]): Convert | null {
  if (isInRestForm(schema)) return null;
  const def = schema.def as Definition;
  // An object with further members keeps its names, such as the fields of a job.
  if (def.type === "object" && def.catchall === undefined) {
    const members = Object.entries(def.shape).map(
      ([name, member]) => [...rename(name), converterOf(member as z.ZodType, rename)] as const,
    );
    return (value) => {
      const converted: Record<string, unknown> = {};
      for (const [from, to, convert] of members) {
        const member = (value as Record<string, unknown>)[from];
        if (member !== undefined) converted[to] = convert === null ? member : convert(member);
      }
      return converted;
    };
  }
  if (def.type === "array") {
    const convert = converterOf(def.element as z.ZodType, rename);
    return convert && ((items) => (items as unknown[]).map(convert));
  }
  if (!("innerType" in def)) return null;
  const convert = converterOf(def.innerType as z.ZodType, rename);
  return convert && ((value) => (value === null || value === undefined ? value : convert(value)));
}
