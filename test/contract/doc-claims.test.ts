/** Compares statements of the documentation and of user-visible texts with the code. */
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { accountExistsMail } from "../../src/accounts/requests/mails.ts";
import { toConfig } from "../../src/config/config.ts";
import { readEnv } from "../../src/config/env.ts";
import { errorHint } from "../../src/console/pages/integrations/requests/error-hints.ts";
import { linkHeader } from "../../src/api/rest/link-header.ts";

const root = join(import.meta.dirname, "../..");
const read = (path: string): string => readFileSync(join(root, path), "utf8");

const settingsPage = read("docs/operate/settings.md");

describe(".env.example", () => {
  const set = [...read(".env.example").matchAll(/^([A-Z][A-Z0-9_]*)=(.+)$/gm)];
  const values = Object.fromEntries(set.map(([, name = "", value = ""]) => [name, value]));

  it("sets the default values", () => {
    expect(Object.keys(values).length).toBeGreaterThan(10);
    expect(toConfig(readEnv(values))).toEqual(toConfig(readEnv({})));
  });

  it("has the defaults of the page on settings", () => {
    const rows = [...settingsPage.matchAll(/^\| `([A-Z_]+)` \| `?([^|`]+?)`? \|/gm)];
    const written = rows.filter(([, name = ""]) => name in values).map(([, name, value]) => [name, value]);
    expect(written.length).toBeGreaterThan(8);
    expect(written).toEqual(written.map(([name = ""]) => [name, values[name]]));
  });

  it("and the page on settings name the default sender of e-mails", () => {
    const { from } = toConfig(readEnv({ PUBLIC_URL: "https://api.example.com" })).mail;
    expect(from).toEqual({ name: "Waymark", address: "no-reply@api.example.com" });
    expect(toConfig(readEnv({})).mail.from.address).toBe("no-reply@localhost");
    expect(settingsPage).toMatch(/\| `MAIL_FROM` \| `Waymark <no-reply@…>` \|/);
  });
});

it("CONTRIBUTING.md has every script of package.json that no other script runs", () => {
  const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
  const text = read("CONTRIBUTING.md");
  const named = (name: string): boolean =>
    text.includes(`\`npm run ${name}\``) || text.includes(`\`npm ${name}\``);
  const isPart = (name: string): boolean =>
    Object.values(scripts).join(" && ").split(" && ").includes(`npm run ${name}`);
  expect(Object.keys(scripts).filter((name) => !named(name) && !isPart(name))).toEqual([]);
});

it("README.md names the command that also runs the tests in test/long", () => {
  const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
  expect(read(".vitest.config.ts")).toContain('exclude: ["test/long/**"]');
  expect(read("scripts/test.ts")).toContain(".vitest.long.config.ts");
  expect(scripts["test:all"]).toBe("node scripts/test.ts --all");
  expect(read("README.md")).toContain("`npm run test:all`");
});

/** Returns the words between backticks. */
function codeOf(text: string): string[] {
  return [...text.matchAll(/`([a-z]+)`/g)].map(([, name = ""]) => name);
}

function relationsOf(page?: number): string[] {
  const { Link = "" } = linkHeader("/v1/jobs", { page, pageSize: 10, total: 30, nextCursor: "c" });
  return [...Link.matchAll(/rel="(\w+)"/g)].map(([, relation = ""]) => relation);
}

describe("the guide on jobs", () => {
  it("names the relations of `Link`, by page and by cursor", () => {
    const [, byPage = "", byCursor = ""] =
      /The `Link` header has the URLs of (.*?); with (.*?)\./.exec(read("docs/guide/jobs.md")) ?? [];
    expect(codeOf(byPage)).toEqual(relationsOf(2));
    expect(codeOf(byCursor).filter((name) => name !== "cursor")).toEqual(relationsOf());
  });

  it("and the console's hints have every reason for 403 and 422", () => {
    const [, section = ""] = read("docs/guide/errors.md").split("## ForbiddenException (403)\n\n");
    const [cause = ""] = section.split("\n");
    for (const text of [cause, errorHint("ForbiddenException") ?? ""])
      for (const reason of ["scope", "IP address", "operator's", "suspended"]) expect(text).toContain(reason);
    expect(errorHint("UnprocessableEntityException")).toMatch(/URL, If-Match or body/);
  });
});

describe("the guide on webhooks", () => {
  it("names every outcome other than a response", () => {
    const outcomes = [...read("src/webhooks/dispatcher/lease.ts").matchAll(/^ {2}\| "(\w+)"/gm)].map(
      ([, name = ""]) => name,
    );
    expect(outcomes).toContain("internal_error");
    const text = read("docs/guide/webhooks/troubleshooting.md");
    expect(outcomes.filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
  });

  it("and the schema do not say that a webhook secret is shown only once", () => {
    const secrets = /whsec_[^\n]*shown this once|new secret[^\n]*shown this once/;
    for (const path of [
      "docs/guide/webhooks/quickstart.md",
      "schema/webhook.graphql",
      "src/cli/commands/endpoints.ts",
    ])
      expect(read(path)).not.toMatch(secrets);
  });
});

it("the e-mail about an existing account uses the sign-in page's label for the password link", () => {
  const { text } = accountExistsMail({ email: "a@test.example" }, "https://api.example.com/sign-in");
  const [, label = ""] =
    /to="\/forgotten-password">([^<]+)</.exec(read("src/console/pages/account/sign-in.page.tsx")) ?? [];
  expect(text).toContain(`"${label}"`);
});

describe("texts for users", () => {
  /** Fixed periods: the feed, e-mails, the dashboard's chart, key expiry and a filter. */
  const FIXED =
    /cursor is older than|days, oldest first|mails of the last|service in the last|title="Last|delivered in the last|value: "30"|"30d"|including today/;

  it("contain no number of days that depends on RETENTION_DAYS", () => {
    const files = globSync(
      ["src/console/**/*.{ts,tsx}", "src/cli/**/*.ts", "src/**/*.mails.ts", "schema/*.graphql"],
      { cwd: root },
    );
    const lines = files
      .filter((file) => !file.includes("/generated/"))
      .flatMap((file) =>
        read(file)
          .split("\n")
          .map((line) => `${file}: ${line.trim()}`),
      );
    expect(lines.length).toBeGreaterThan(1_000);
    expect(lines.filter((line) => line.includes("30 days") && !FIXED.test(line))).toEqual([]);
  });

  it("name 30 days as the default in guides if RETENTION_DAYS applies", () => {
    const fixed =
      /by default|unless the operator|webhook-id|without a time|GET \/v1\/events|The e-mails of the last/;
    const lines = ["docs/guide/webhooks/reliability.md", "docs/guide/console.md"].flatMap((file) =>
      read(file).split("\n"),
    );
    expect(lines.filter((line) => line.includes("30 days") && !fixed.test(line))).toEqual([]);
  });
});

it("SECURITY.md has no e-mail address that cannot receive e-mail", () => {
  expect(read("SECURITY.md")).not.toMatch(/@[\w.-]+\.(example|invalid|test)/);
  expect(read("SECURITY.md")).toContain("*Report a vulnerability*");
});

it("CHANGELOG.md has the sections of Keep a Changelog for 1.0.0-rc, each by audience", () => {
  const [, release = ""] = read("CHANGELOG.md").split("## [1.0.0-rc]");
  const sections = (release.split("\n## ")[0] ?? "").split(/^### /m).slice(1);
  const names = sections.map((section) => section.split("\n", 1)[0] ?? "");
  const known = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"];
  expect(names).toContain("Added");
  expect(names).toEqual(known.filter((name) => names.includes(name)));
  const audiences = ["For partners", "For operators", "For contributors"];
  for (const section of sections) {
    const found = [...section.matchAll(/^#### (.+)$/gm)].map(([, name]) => name);
    expect(found.length).toBeGreaterThan(0);
    expect(found).toEqual(audiences.filter((name) => found.includes(name)));
  }
});

it("CONTRIBUTING.md names only files and folders that exist", () => {
  const paths = [
    ...read("CONTRIBUTING.md").matchAll(/`((?:src|test|bench|scripts|docs)(?:\/[\w.-]+)+)\/?`/g),
  ];
  expect(paths.length).toBeGreaterThan(30);
  expect(paths.map(([, path = ""]) => path).filter((path) => !existsSync(join(root, path)))).toEqual([]);
});
