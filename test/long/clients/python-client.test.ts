/** The Python client: its generated part, its types, its own tests, and its behaviour against the product. */
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, afterAll, beforeAll, describe, expect, it } from "vitest";
import { pythonClientFiles } from "../../../scripts/generate-python-client.ts";
import { startTestApp } from "../../support/app/app.fixture.ts";
import { apiDocument } from "../../support/app/openapi-contract.ts";
import { expectChangesExactlyOnce, type ClientReport } from "../../support/clients/changes-through-proxy.ts";
import {
  findPython,
  HTTPX,
  MYPY,
  preparePython,
  PYTHON_CLIENT,
  STANDARD_WEBHOOKS,
  type PythonEnvironment,
} from "../../support/clients/python.ts";
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
  if (first === "str | Sequence[str]") return '["text"]';
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
function everyPythonOperation(methods: ReadonlyMap<string, string>): string {
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

const TIMEOUT_MS = 300_000;

describe("the generated part", () => {
  const files = pythonClientFiles();

  it.each(Object.keys(files))(
    "%s is up to date with the OpenAPI document (npm run codegen)",
    async (path) => {
      expect(await readFile(join(PYTHON_CLIENT, "waymark_client", path), "utf8")).toBe(files[path]);
    },
  );

  it("has no other files", async () => {
    const names = await readdir(join(PYTHON_CLIENT, "waymark_client", "_generated"));
    const generated = Object.keys(files).filter((path) => path.startsWith("_generated/"));
    expect(names.filter((name) => name.endsWith(".py")).map((name) => `_generated/${name}`)).toEqual(
      generated.toSorted(),
    );
  });

  it("has a method for every operation", () => {
    const operationIds = Object.values(apiDocument.paths).flatMap((item) =>
      Object.values(item).map(({ operationId }) => operationId.replaceAll(/[A-Z]/g, "_$&").toLowerCase()),
    );
    expect([...methodsOf(files).keys()].toSorted()).toEqual(operationIds.toSorted());
  });
});

/** Returns the method of each operation, such as `jobs.update`. */
function methodsOf(files: Record<string, string>): Map<string, string> {
  const [table = ""] = /^METHODS = \{$[^}]*/m.exec(files["_generated/resources.py"] ?? "") ?? [];
  return new Map(
    [...table.matchAll(/"(\w+)": "([\w.]+)"/g)].map(([, name = "", method = ""]) => [name, method]),
  );
}

describe("with Python", { timeout: TIMEOUT_MS }, () => {
  let folder: string;
  let python: PythonEnvironment;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "waymark-python-"));
    python = await preparePython(join(folder, "packages"), { packages: [HTTPX, MYPY, STANDARD_WEBHOOKS] });
  }, TIMEOUT_MS);
  afterAll(() => rm(folder, { recursive: true, force: true }));
  beforeEach(({ skip }) => skip(python.skipReason !== null, python.skipReason ?? ""));

  const mypy = (...paths: string[]) =>
    python.run(["-m", "mypy", "--cache-dir", join(folder, "mypy"), ...paths], {
      MYPYPATH: PYTHON_CLIENT,
    });

  it("mypy --strict accepts the package for Python 3.10, and a program that uses every operation", async () => {
    const program = join(folder, "every_operation.py");
    await writeFile(program, everyPythonOperation(methodsOf(pythonClientFiles())));
    expect(await mypy("waymark_client", program)).toMatchObject({ code: 0, stderr: "" });
  });

  it("mypy --strict rejects a misspelt field, a wrong type and a forgotten await", async () => {
    const program = join(folder, "mistakes.py");
    const lines = [
      "from waymark_client import AsyncWaymark, models",
      "models.JobPatch(wieght=1)",
      'models.JobPatch(weight="heavy")',
      "async def update(waymark: AsyncWaymark) -> models.Job:",
      '    return waymark.jobs.get("WM-1")',
      "def first(detail: models.WebhookDeliveryDetail) -> models.WebhookDelivery:",
      "    return detail",
    ];
    await writeFile(program, `${lines.join("\n")}\n`);
    const { code, stdout } = await mypy(program);
    expect(code).toBe(1);
    expect([...stdout.matchAll(/^.*:(\d+): error/gm)].map(([, line]) => Number(line))).toEqual([2, 3, 5]);
  });

  it("its own tests pass", async () => {
    const result = await python.run(["-m", "unittest", "discover", "tests"]);
    expect(result).toMatchObject({ code: 0, stderr: expect.stringMatching(/^OK$/m) as string });
  });

  it("its own tests pass on Python 3.10 with httpx 0.27, the oldest that it supports", async ({ skip }) => {
    const interpreter = await findPython("3.10");
    const packages = ["httpx==0.27.0", STANDARD_WEBHOOKS];
    const oldest = await preparePython(join(folder, "oldest"), { packages, interpreter });
    skip(oldest.skipReason !== null, oldest.skipReason ?? "");
    const version = await oldest.run(["-c", "import sys, httpx; print(sys.version[:5], httpx.__version__)"]);
    expect(version.stdout).toBe("3.10. 0.27.0\n");
    const result = await oldest.run(["-m", "unittest", "discover", "tests"]);
    expect(result).toMatchObject({ code: 0, stderr: expect.stringMatching(/^OK$/m) as string });
  });

  it("applies each of 400 changes once through a proxy that loses, delays and refuses answers", async () => {
    await using app = await startTestApp();
    await expectChangesExactlyOnce(app, 400, async (task) => {
      const report = await python.runJson("change_through_proxy.py", { TASK: JSON.stringify(task) });
      return report as ClientReport;
    });
  });
});
