/** Generates the classes with the methods that users call: for each tag a blocking one and an async one. */
import type { ApiDocument } from "../client-document.ts";
import { isPositional, signature, type PythonOperation, type PythonParameter } from "./operations.ts";
import { docstring, pascalCase, snakeCase } from "./text.ts";

/** Names of operations whose method would have the same name as another of its resource. */
const METHOD_NAMES: Readonly<Record<string, string>> = {
  update_jobs: "update_batch",
  start_test_run: "run",
  send_sample_event: "send_event",
  reset_test_data: "reset",
};
/** Items per request of a method that reads every page. */
const PAGE_SIZE = 100;

/** Returns the name without the words of the tag: `list_job_history` of Jobs becomes `list_history`. */
function methodName({ name, tag }: PythonOperation): string {
  const own = METHOD_NAMES[name];
  if (own !== undefined) return own;
  const plural = snakeCase(tag);
  const singular = plural.replace(/ies$/, "y").replace(/s$/, "");
  const words = `_${name}_`.replace(`_${plural}_`, "_").replace(`_${singular}_`, "_").slice(1, -1);
  return words === "" ? name : words;
}

interface Method {
  name: string;
  operation: PythonOperation;
  isIterator: boolean;
}

/** A page operation has two methods: one for all items, and one for a page. */
function methodsOf(operations: readonly PythonOperation[]): Method[] {
  const methods = operations.flatMap((operation) => {
    const name = methodName(operation);
    const single = { name: operation.pages ? `${name}_page` : name, operation, isIterator: false };
    return operation.pages ? [{ name, operation, isIterator: true }, single] : [single];
  });
  const names = methods.map(({ name }) => name);
  const twice = methods.find(({ name }, index) => names.indexOf(name) !== index);
  if (twice) throw new Error(`${twice.operation.name} needs a name in METHOD_NAMES`);
  return methods;
}

export function resourcesModule(document: ApiDocument, operations: readonly PythonOperation[]): string {
  const tags = document.tags.filter(({ name }) => operations.some(({ tag }) => tag === name));
  const unknown = operations.find(({ tag }) => !tags.some(({ name }) => name === tag));
  if (unknown) throw new Error(`The tag of ${unknown.name} is not in the document`);
  const resources = tags.map(({ name, description }) => ({
    name,
    description,
    methods: methodsOf(operations.filter(({ tag }) => tag === name)),
  }));
  const manifest = resources.flatMap(({ name, methods }) =>
    methods
      .filter(({ isIterator }) => !isIterator)
      .map((method) => `    "${method.operation.name}": "${snakeCase(name)}.${method.name}",`),
  );
  const sections = [
    HEAD,
    `METHODS = {\n${manifest.join("\n")}\n}\n"""The method of each operation."""`,
    ...[false, true].flatMap((isAsync) => [
      ...resources.map((resource) => resourceClass(resource, isAsync)),
      collection(
        resources.map(({ name }) => name),
        isAsync,
      ),
    ]),
  ];
  return `${sections.join("\n\n\n")}\n`;
}

const HEAD = `"""The methods for each operation, grouped by the tags of the OpenAPI document."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import date, datetime
from functools import partial
from typing import Any, Literal

from .._drivers import AsyncDriver, Driver
from .._model import UNSET, Unset
from . import models, operations`;

interface Resource {
  name: string;
  description: string;
  methods: readonly Method[];
}

const prefixOf = (isAsync: boolean): string => (isAsync ? "Async" : "");

function resourceClass({ name, description, methods }: Resource, isAsync: boolean): string {
  const prefix = prefixOf(isAsync);
  const parts = [
    `class ${prefix}${pascalCase(name)}:\n${docstring([description], 4)}`,
    `    def __init__(self, driver: ${prefix}Driver) -> None:\n        self._driver = driver`,
    ...methods.map((method) =>
      method.isIterator ? iteratorMethod(method, isAsync) : callMethod(method, isAsync),
    ),
  ];
  return parts.join("\n\n");
}

function callMethod({ name, operation }: Method, isAsync: boolean): string {
  const { parameters, result } = operation;
  const head = `    ${isAsync ? "async " : ""}def ${name}${signature(parameters, true)} -> ${result}:`;
  const call = `operations.${operation.name}(${argumentsOf(parameters)})`;
  return `${head}\n${documentation(operation, parameters)}\n        return ${isAsync ? "await " : ""}self._driver.call(${call}, headers)`;
}

function iteratorMethod({ name, operation }: Method, isAsync: boolean): string {
  const { pages } = operation;
  const parameters = operation.parameters.filter(({ key }) => key !== "page");
  const declared = signature(parameters, true).replace(
    /(\bpage_size: int) \| Unset = UNSET/,
    `$1 = ${PAGE_SIZE}`,
  );
  const iterator = `${isAsync ? "AsyncIterator" : "Iterator"}[${pages?.item ?? "Any"}]`;
  const values = argumentsOf(parameters);
  const getPage = `partial(operations.${operation.name}${values === "" ? "" : `, ${values}`})`;
  return `    def ${name}${declared} -> ${iterator}:\n${documentation(operation, parameters, "Returns the items of all pages, and reads each page when you need it.")}\n        return self._driver.items(${getPage}, "${pages?.parameter ?? ""}", headers)`;
}

function argumentsOf(parameters: readonly PythonParameter[]): string {
  return parameters
    .map((parameter) => (isPositional(parameter) ? parameter.name : `${parameter.name}=${parameter.name}`))
    .join(", ");
}

const HEADERS_LINE = "  headers: Further headers of the request.";

function documentation(
  { summary, description }: PythonOperation,
  parameters: readonly PythonParameter[],
  addition?: string,
): string {
  const lines = parameters
    .filter((parameter) => parameter.description !== "")
    .map((parameter) => `  ${parameter.name}: ${parameter.description.replaceAll("\n", " ")}`);
  const paragraphs = [
    `${summary}.`,
    ...(addition === undefined ? [] : [addition]),
    ...description.split("\n\n"),
    `Parameters:\n${[...lines, HEADERS_LINE].join("\n")}`,
  ];
  return docstring(paragraphs, 8);
}

function collection(names: readonly string[], isAsync: boolean): string {
  const prefix = prefixOf(isAsync);
  const attributes = names.map(
    (name) => `        self.${snakeCase(name)} = ${prefix}${pascalCase(name)}(driver)`,
  );
  return `class ${prefix}Resources:\n    """All resources of the API."""\n\n    def __init__(self, driver: ${prefix}Driver) -> None:\n${attributes.join("\n")}`;
}
