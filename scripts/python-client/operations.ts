/** Generates one function for each operation, which returns the request as data. Blocking and async methods share it. */
import {
  resolveSchema,
  type ApiDocument,
  type ApiOperation,
  type Parameter,
  type Schema,
} from "../client-document.ts";
import { pythonType, type ModelClasses } from "./models.ts";
import { pythonName, snakeCase } from "./text.ts";

export interface PythonParameter {
  /** Name in Python. */
  name: string;
  /** Name in the request. */
  key: string;
  in: Parameter["in"] | "body";
  type: string;
  isRequired: boolean;
  description: string;
}

export interface PythonOperation {
  /** Name of the function. */
  name: string;
  method: string;
  path: string;
  tag: string;
  summary: string;
  description: string;
  parameters: readonly PythonParameter[];
  /** Class of the result. */
  result: string;
  isRead: boolean;
  takesKey: boolean;
  /** Null if the result is not a page. */
  pages: { item: string; parameter: "cursor" | "after" | "page" } | null;
}

export function pythonOperations(
  { operations, schemas }: ApiDocument,
  classes: ModelClasses,
): PythonOperation[] {
  const typeOf = (schema: Schema): string =>
    qualify(pythonType(schema, schemas, classes, "Sequence"), classes);
  return operations.map((operation) => pythonOperation(operation, schemas, typeOf));
}

function pythonOperation(
  operation: ApiOperation,
  schemas: ApiDocument["schemas"],
  typeOf: (schema: Schema) => string,
): PythonOperation {
  const { id, method, path, tag, summary, isRead, takesKey, data } = operation;
  const parameters = [
    ...operation.parameters.map((parameter) => pythonParameter(parameter, typeOf)),
    ...bodyParameter(operation, typeOf),
  ];
  const reserved = parameters.find(({ name }) => name === "headers");
  if (reserved) throw new Error(`${id} has a parameter ${reserved.name}, as each method of the client has`);
  return {
    name: snakeCase(id),
    method,
    path,
    tag,
    summary,
    description: describe(operation.isDeprecated, operation.description),
    parameters: parameters.toSorted((a, b) => orderOf(a) - orderOf(b)),
    result: typeOf(data),
    isRead,
    takesKey,
    pages: pagesOf(parameters, resolveSchema(data, schemas), typeOf),
  };
}

/** Path parameters first, then the body, then the optional parameters. */
function orderOf(parameter: PythonParameter): number {
  if (parameter.in === "path") return 0;
  if (parameter.in === "body") return 1;
  return parameter.isRequired ? 2 : 3;
}

/** Adds `models.` to the names of classes. */
function qualify(type: string, classes: ModelClasses): string {
  const names = new Set(classes.values());
  return type.replaceAll(/"[^"]*"|\w+/g, (word) => (names.has(word) ? `models.${word}` : word));
}

const describe = (isDeprecated: boolean, description: string): string =>
  isDeprecated ? `Deprecated. ${description}` : description;

function pythonParameter(parameter: Parameter, typeOf: (schema: Schema) => string): PythonParameter {
  const { name, in: location, required = false, deprecated = false, description = "", schema } = parameter;
  return {
    name: pythonName(name),
    key: name,
    in: location,
    type: typeOf(schema),
    isRequired: required,
    description: describe(deprecated, description),
  };
}

function bodyParameter({ body }: ApiOperation, typeOf: (schema: Schema) => string): PythonParameter[] {
  if (!body) return [];
  return [
    {
      name: "body",
      key: "body",
      in: "body",
      type: `${typeOf(body.schema)} | Mapping[str, Any]`,
      isRequired: body.isRequired,
      description: body.schema.description ?? "",
    },
  ];
}

function pagesOf(
  parameters: readonly PythonParameter[],
  { properties }: Schema,
  typeOf: (schema: Schema) => string,
): PythonOperation["pages"] {
  const items = properties?.["items"]?.items;
  const position = (["cursor", "after", "page"] as const).find((each) =>
    parameters.some(({ key }) => key === each),
  );
  return items && position ? { item: typeOf(items), parameter: position } : null;
}

/** The argument of each method with headers for one call. */
const HEADERS = "headers: Mapping[str, str] | None = None";

/** Returns the parameters of a function, or of a method with `self`, one per line. */
export function signature(parameters: readonly PythonParameter[], self: boolean): string {
  const positional = parameters.filter((each) => isPositional(each));
  const named = parameters.filter((each) => !isPositional(each));
  const lines = [
    ...(self ? ["self"] : []),
    ...positional.map(declaration),
    ...(named.length > 0 || self ? ["*"] : []),
    ...named.map(declaration),
    ...(self ? [HEADERS] : []),
  ];
  if (lines.length === 0) return "()";
  return `(\n${lines.map((line) => `${" ".repeat(self ? 8 : 4)}${line},\n`).join("")}${self ? "    " : ""})`;
}

export const isPositional = (parameter: PythonParameter): boolean =>
  parameter.in === "path" || parameter.in === "body";

function declaration({ name, type, isRequired, in: location }: PythonParameter): string {
  if (isRequired) return `${name}: ${type}`;
  return location === "body" ? `${name}: ${type} | None = None` : `${name}: ${type} | Unset = UNSET`;
}

export function operationsModule(operations: readonly PythonOperation[]): string {
  const head = `"""One function for each operation, which returns the request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any, Literal

from .._calls import Call
from .._model import UNSET, Unset
from . import models`;
  return `${[head, ...operations.map(operationFunction)].join("\n\n\n")}\n`;
}

function operationFunction(operation: PythonOperation): string {
  const { name, method, path, parameters, result, isRead, takesKey } = operation;
  const mapping = (location: Parameter["in"]): string => {
    const members = parameters
      .filter((each) => each.in === location)
      .map(({ key, name: variable }) => `"${key}": ${variable}`);
    if (members.length < 4) return members.join(", ");
    return `\n${members.map((member) => `            ${member},\n`).join("")}        `;
  };
  const options = [
    `method="${method}"`,
    `path="${path}"`,
    `decode=${result}.from_dict`,
    ...(["path", "query", "header"] as const)
      .map((location) => [location, mapping(location)] as const)
      .filter(([, members]) => members !== "")
      .map(([location, members]) => `${ARGUMENTS[location]}={${members}}`),
    ...(parameters.some((each) => each.in === "body") ? ["body=body"] : []),
    ...(isRead ? ["is_read=True"] : []),
    ...(takesKey ? ["takes_key=True"] : []),
  ];
  const lines = options.map((option) => `        ${option},\n`).join("");
  return `def ${name}${signature(parameters, false)} -> Call[${result}]:\n    return Call(\n${lines}    )`;
}

const ARGUMENTS = { path: "path_parameters", query: "query", header: "headers" } as const;
