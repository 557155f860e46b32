/** Generates one data class for each object of the OpenAPI document. */
import {
  closedValuesOf,
  extensionOf,
  resolveSchema,
  typesOf,
  type ApiDocument,
  type Schema,
} from "../client-document.ts";
import { docstring, pascalCase, pythonName } from "./text.ts";

/** The Python type of each schema that the module defines a class for, or an alias of. */
export type ModelClasses = ReadonlyMap<Schema, string>;

/** The client returns `data` of an envelope, and raises errors. */
const isInternal = (name: string): boolean => /Envelope$|^ErrorObject$/.test(name);

/** Returns the module, and the class of each object schema. */
export function modelsModule({ schemas }: ApiDocument): { classes: ModelClasses; module: string } {
  const classes = new Map<Schema, string>();
  for (const [name, schema] of Object.entries(schemas)) {
    if (!isInternal(name)) nameClasses(name, schema, classes);
    const data = schema.properties?.["data"];
    if (name.endsWith("Envelope") && data) nameClasses(name.replace("Envelope", ""), data, classes);
  }
  const isExtension = (name: string): boolean => extensionOf(name, schemas) !== null;
  const names = [...classes.values()];
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new Error(`Two schemas have the Python name ${twice}`);
  const sections = [
    `"""The objects of the API."""\n\nfrom __future__ import annotations\n\nfrom dataclasses import dataclass, field\nfrom datetime import date, datetime\nfrom typing import Any, Literal\n\nfrom .._model import UNSET, Model, Unset`,
    ...[...classes]
      // A class must follow the one that it extends.
      .toSorted(([, a], [, b]) => Number(isExtension(a)) - Number(isExtension(b)))
      .map(([schema, name]) => modelClass(name, schema, schemas, classes)),
    `__all__ = [\n${names
      .toSorted()
      .map((name) => `    "${name}",\n`)
      .join("")}]`,
  ];
  return { classes, module: `${sections.join("\n\n\n")}\n` };
}

/** Names the class of `schema` if it is an object with members, and those of the objects in it. */
function nameClasses(name: string, schema: Schema, classes: Map<Schema, string>): void {
  if (schema.properties && Object.keys(schema.properties).length > 0) classes.set(schema, name);
  for (const [member, inner] of Object.entries(schema.properties ?? {}))
    nameClasses(name + pascalCase(member), inner, classes);
  if (schema.items)
    nameClasses(name.endsWith("s") ? name.slice(0, -1) : `${name}Item`, schema.items, classes);
  if (schema.additionalProperties) nameClasses(`${name}Value`, schema.additionalProperties, classes);
}

/** The member that a printed object does not show. */
const SECRET = "secret";

function modelClass(
  name: string,
  schema: Schema,
  schemas: ApiDocument["schemas"],
  classes: ModelClasses,
): string {
  const extension = extensionOf(name, schemas);
  const members = Object.entries(extension?.own ?? schema.properties ?? {}).map(([json, member]) => {
    const isRequired = schema.required?.includes(json) ?? false;
    const type = pythonType(member, schemas, classes);
    const attribute = pythonName(json);
    const options = [
      ...(isRequired ? [] : ["default=UNSET"]),
      ...(attribute === json ? [] : [`metadata={"json": "${json}"}`]),
      ...(json === SECRET ? ["repr=False"] : []),
    ];
    const plain = isRequired ? "" : " = UNSET";
    const isPlain = attribute === json && json !== SECRET;
    const value = isPlain ? plain : ` = field(${options.join(", ")})`;
    const line = `    ${attribute}: ${type}${isRequired ? "" : " | Unset"}${value}`;
    return member.description === undefined ? line : `${line}\n${docstring([member.description], 4)}`;
  });
  const head = schema.description === undefined ? "" : `${docstring([schema.description], 4)}\n\n`;
  return `@dataclass(kw_only=True)\nclass ${name}(${extension?.base ?? "Model"}):\n${head}${members.join("\n")}`;
}

const SCALARS: Readonly<Record<string, string>> = {
  string: "str",
  integer: "int",
  number: "float",
  boolean: "bool",
};
const FORMATS: Readonly<Record<string, string>> = { date: "date", "date-time": "datetime" };

/** Returns the type of a value. `Any` if it can have several types. */
export function pythonType(
  schema: Schema,
  schemas: ApiDocument["schemas"],
  classes: ModelClasses,
  listType = "list",
): string {
  const typeOf = (inner: Schema): string => pythonType(inner, schemas, classes, listType);
  if (schema.$ref !== undefined) {
    const target = resolveSchema(schema, schemas);
    return classes.get(target) ?? typeOf(target);
  }
  if (schema.oneOf) return schema.oneOf.map(typeOf).join(" | ");
  const types = typesOf(schema).filter((type) => type !== "null");
  const isNullable = types.length < typesOf(schema).length;
  if (types.length === 0 && isNullable) return "None";
  const [type = ""] = types;
  if (types.length !== 1) return "Any";
  const suffix = isNullable ? " | None" : "";
  if (type === "array") return `${listType}[${typeOf(schema.items ?? {})}]${suffix}`;
  if (type === "object") {
    const { additionalProperties: member } = schema;
    return `${classes.get(schema) ?? `dict[str, ${member ? typeOf(member) : "Any"}]`}${suffix}`;
  }
  const values = closedValuesOf(schema);
  if (values) return `Literal[${values.map((value) => `"${value}"`).join(", ")}]${suffix}`;
  if (schema["x-comma-separated"]) return `str | ${listType}[str]${suffix}`;
  return `${FORMATS[schema.format ?? ""] ?? SCALARS[type] ?? "Any"}${suffix}`;
}
