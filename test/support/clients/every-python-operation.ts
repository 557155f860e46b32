/** Writes a Python program that calls every method of the client, to check the types. */
import { readApiDocument } from "../../../scripts/client-document.ts";
import { modelsModule } from "../../../scripts/python-client/models.ts";
import {
  isPositional,
  pythonOperations,
  type PythonOperation,
} from "../../../scripts/python-client/operations.ts";

const HEAD = `from collections.abc import AsyncIterator, Iterator
from datetime import date, datetime

from waymark_client import UNSET, AsyncWaymark, Waymark, models
from waymark_client._generated.resources import METHODS
`;

/** Returns a value of a Python type, in Python. */
function valueOf(type: string): string {
  const [first = ""] = /^Literal\[("[^"]*")/.exec(type)?.slice(1) ?? [type];
  if (first.startsWith('"')) return first;
  if (first.includes("Mapping[str, Any]")) return "{}";
  if (first.startsWith("Sequence[")) return `[${valueOf(first.slice("Sequence[".length, -1))}]`;
  const values: Record<string, string> = {
    str: '"text"',
    int: "1",
    float: "1.5",
    bool: "True",
    date: "date(2026, 12, 1)",
    datetime: "datetime(2026, 12, 1)",
  };
  const value = values[first.replace(/ \| None$/, "")];
  if (value === undefined) throw new Error(`No value of the type ${type}`);
  return value;
}

/** Returns the program, and the number of operations. `methods` has the method of each operation, such as `jobs.update`. */
export function everyPythonOperation(methods: ReadonlyMap<string, string>): string {
  const document = readApiDocument();
  const operations = pythonOperations(document, modelsModule(document).classes);
  const lines = (isAsync: boolean): string[] => operations.flatMap((each) => calls(each, methods, isAsync));
  return [
    HEAD,
    `def blocking(waymark: Waymark) -> None:\n${lines(false).join("\n")}\n`,
    `async def with_await(waymark: AsyncWaymark) -> None:\n${lines(true).join("\n")}\n`,
  ].join("\n\n");
}

function calls(
  { name, parameters, result, pages }: PythonOperation,
  methods: ReadonlyMap<string, string>,
  isAsync: boolean,
): string[] {
  const method = methods.get(name);
  if (method === undefined) throw new Error(`The client has no method for ${name}`);
  const argumentList = parameters.map((parameter) =>
    isPositional(parameter) ? valueOf(parameter.type) : `${parameter.name}=${valueOf(parameter.type)}`,
  );
  argumentList.push('headers={"X-Trace": "1"}');
  const call = `${isAsync ? "await " : ""}waymark.${method}(${argumentList.join(", ")})`;
  const single = `    ${name}: ${result} = ${call}`;
  if (!pages) return [single];
  const iterator = `${isAsync ? "AsyncIterator" : "Iterator"}[${pages.item}]`;
  const items = argumentList.filter((argument) => !argument.startsWith("page=")).join(", ");
  return [single, `    ${name}_items: ${iterator} = waymark.${method.replace(/_page$/, "")}(${items})`];
}
