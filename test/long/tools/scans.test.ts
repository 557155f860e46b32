/** The security scans of `npm run check` and `.ci/run`. */
import { execFile } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findShippedPackages } from "../../../scripts/shipped-packages.ts";
import { evaluateAudit } from "../../../scripts/audit-dependencies.ts";
import { findSecrets, applyExceptions } from "../../../scripts/scan-secrets.ts";
import { generateKey } from "../../../src/api-keys/format.ts";
import { newSecret } from "../../../src/webhooks/signing/secrets.ts";

const ROOT = join(import.meta.dirname, "../../..");

describe("the code scan", () => {
  let folder: string;
  let found: string;

  const weak: Readonly<Record<string, string>> = {
    "no-eval": "export const run = (text: string): unknown => eval(text);",
    "no-new-func": "export const make = (text: string): unknown => new Function(text);",
    "detect-child-process":
      'import { exec } from "node:child_process";\nexport const go = (name: string): unknown => exec(`ls ${name}`);',
    "detect-non-literal-fs-filename":
      'import { readFileSync } from "node:fs";\nexport const read = (name: string): Buffer => readFileSync(name);',
    "detect-non-literal-regexp": "export const match = (text: string): RegExp => new RegExp(text);",
    "detect-pseudoRandomBytes":
      'import crypto from "node:crypto";\nexport const id = crypto.pseudoRandomBytes(8);',
    "detect-possible-timing-attacks":
      "export function check(password: string, given: string): number {\n  if (password === given) return 1;\n  return 0;\n}",
    "no-markup-from-text":
      "export const show = (at: HTMLElement, text: string): unknown => (at.innerHTML = text);",
    "no-statement-from-text":
      "export const find = (db: { query(text: string): unknown }, id: string): unknown => db.query(`select ${id}`);",
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "waymark-scan-"));
    for (const [rule, text] of Object.entries(weak)) await writeFile(join(folder, `${rule}.ts`), text);
    const { promise, resolve } = Promise.withResolvers<string>();
    const options = ["-c", ".oxlintrc.scan.json", "--format=unix", folder];
    execFile(join(ROOT, "node_modules/.bin/oxlint"), options, { cwd: ROOT }, (_error, stdout) =>
      resolve(stdout),
    );
    found = await promise;
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  // evidence: code-scan-finds-planted-weaknesses
  it.each(Object.keys(weak))("reports a planted weakness for the rule %s", (rule) => {
    const lines = found.split("\n").filter((line) => line.includes(`${rule}.ts:`));
    expect(lines.join("\n")).toContain(rule);
  });
});

describe("the secret scan", () => {
  // Assembled at run time, so that the scan does not find them in this file.
  const planted: [kind: string, text: string][] = [
    [
      "PrivateKey",
      generateKeyPairSync("rsa", { modulusLength: 2048 })
        .privateKey.export({ format: "pem", type: "pkcs8" })
        .toString(),
    ],
    ["AWSSecretAccessKey", `AWS_SECRET_ACCESS_KEY = "${"wJalrXUtnFEMI/K7MDENG/bPxRfiCY".padEnd(40, "q")}"`],
    [
      "PostgreSQLConnection",
      ["postgresql://", "waymark:c4rr1er-pigeon", "@db.internal.net:5432/waymark"].join(""),
    ],
    ["WaymarkKey", generateKey().text],
    ["WebhookSecret", newSecret()],
  ];

  // evidence: secret-scan-finds-planted-secrets
  it.each(planted)("reports the place of a planted %s, and not the secret", async (kind, text) => {
    const found = await findSecrets("docs/page.md", `A page.\n\n${text}\n`);
    expect(found.map((each) => each.kind)).toContain(kind);
    expect(found[0]?.line).toBe(3);
    expect(JSON.stringify(found)).not.toContain(text.slice(-12));
  });

  it("reports nothing for text without secrets", async () => {
    expect(
      await findSecrets("docs/page.md", "WAYMARK_SECRET=$(openssl rand -base64 32)\npassword: string\n"),
    ).toEqual([]);
  });

  it("applies an exception only to its kind of secret and its file", () => {
    const file = "test/support/webhooks/self-signed-certificate.ts";
    const excepted = { file, line: 1, kind: "PrivateKey" };
    const others = [
      { ...excepted, file: "src/main.ts" },
      { ...excepted, kind: "WaymarkKey" },
    ];
    expect(applyExceptions([excepted, ...others]).left).toEqual(others);
    expect(applyExceptions([]).unused).toContain(`${file} PrivateKey`);
  });
});

describe("the dependency audit", () => {
  const url = "https://github.com/advisories/GHSA-aaaa-bbbb-cccc";
  const advisory = (severity: string) => ({ name: "left", title: "Falls over", url, severity });
  const reportOf = (severity: string): string =>
    JSON.stringify({
      auditReportVersion: 2,
      vulnerabilities: { left: { via: [advisory(severity)] }, right: { via: ["left"] } },
    });
  const exception = { advisory: url, reason: "It is never called.", until: "2027-01-31" };

  it.each(["moderate", "high", "critical"])(
    "fails for a %s vulnerability and reports it once",
    (severity) => {
      const { problems, skippedReason } = evaluateAudit(reportOf(severity), [], "2027-01-01");
      expect(skippedReason).toBeNull();
      expect(problems).toEqual([`left: Falls over (${severity}, ${url}).`]);
    },
  );

  it("accepts an exception with its reason until its end date", () => {
    const { problems, accepted } = evaluateAudit(reportOf("high"), [exception], "2027-01-31");
    expect(problems).toEqual([]);
    expect(accepted[0]).toContain("Excepted until 2027-01-31: It is never called.");
    expect(evaluateAudit(reportOf("high"), [exception], "2027-02-01").problems[0]).toContain(
      "The exception has expired.",
    );
  });

  it("covers the dependencies of the server and the console, and no development tools", async () => {
    const packages = await findShippedPackages();
    const isThere = (name: string): boolean => packages.has(`node_modules/${name}`);
    // `accepts` and `scheduler` are transitive dependencies.
    const shipped = ["express", "better-auth", "accepts", "react", "@mantine/core", "scheduler"];
    const tools = ["@vitejs/plugin-react", "oxlint", "playwright-core", "graphile-worker", "typescript"];
    expect(shipped.filter((name) => !isThere(name))).toEqual([]);
    expect(tools.filter(isThere)).toEqual([]);
  });

  it("ignores vulnerabilities of development tools", () => {
    const nodes = ["node_modules/left", "node_modules/tool/node_modules/left"];
    const report = JSON.stringify({
      auditReportVersion: 2,
      vulnerabilities: { left: { via: [advisory("high")], nodes } },
    });
    const verdict = (used: string) => evaluateAudit(report, [], "2027-01-01", (place) => place === used);
    expect(verdict("node_modules/tool/node_modules/left").problems).toHaveLength(1);
    expect(verdict("node_modules/other")).toMatchObject({ problems: [], accepted: [] });
  });
});
