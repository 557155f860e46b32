/** Checks the commands, SQL, YAML and log messages of the pages against the program, the schema and the source. */
import { execFileSync } from "node:child_process";
import { globSync } from "node:fs";
import { CommanderError, type Command } from "commander";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { readEnv } from "../../src/config/env.ts";
import { createOutput } from "../../src/cli/output.ts";
import { createProgram } from "../../src/cli/program.ts";
import { createTestDatabase, type TestDatabase } from "../support/database/test-database.ts";
import { read } from "../support/docs/facts.ts";
import { codeBlocks, guidePages, readPage } from "../support/docs/guide-pages.ts";

interface Text {
  readonly file: string;
  readonly text: string;
}

const pages: readonly Text[] = [
  ...guidePages.map((page) => `docs/${page}`),
  "README.md",
  "SECURITY.md",
  "CONTRIBUTING.md",
].map((file) => ({ file, text: read(file) }));

function blocksOf(...languages: string[]): Text[] {
  return pages.flatMap(({ file, text }) =>
    codeBlocks(text)
      .filter(({ language }) => languages.includes(language))
      .map((block) => ({ file, text: block.text })),
  );
}

const shell = blocksOf("sh", "bash");
/** Lines of shell blocks, with continued lines joined, and the code in running text. */
const lines: readonly (Text & { readonly isBlock: boolean })[] = [
  ...shell.flatMap(({ file, text }) =>
    text
      .replaceAll("\\\n", " ")
      .split("\n")
      .map((line) => ({ file, text: line.trim(), isBlock: true })),
  ),
  ...pages.flatMap(({ file, text }) =>
    [...text.replaceAll(/^ *```[^]*?^ *```$/gm, "").matchAll(/`([^`\n]+)`/g)].map(([, line = ""]) => ({
      file,
      text: line,
      isBlock: false,
    })),
  ),
];

/** Splits a command at spaces outside quotes, up to a pipe, a redirection, a comment or the next command. */
function wordsOf(command: string): string[] {
  const words: string[] = [];
  for (const [text, double, single] of command.matchAll(/"([^"]*)"|'([^']*)'|[^\s"']+/g)) {
    if (/^(?:[|<>;#]|&&|2>)/.test(text)) break;
    words.push(double ?? single ?? text.replace(/;$/, ""));
  }
  return words;
}

const PROGRAM = /(?:^|[\s(])(?:npx )?(?:waymark|node src\/cli\/main\.ts) (?=[a-z-])(.+)$/;

/** Every use of the command line, without those that set up a shell function or only name a service or a user. */
const commands = lines
  .filter(({ text }) => !/sudo|psql|pg_|--username|systemctl/.test(text))
  .flatMap(({ file, text, isBlock }) => {
    // A comment can name the same command without Compose.
    return text.split(/\s+#\s/).flatMap((part) => {
      const [, args] = PROGRAM.exec(part) ?? [];
      return args === undefined ? [] : [{ file, command: args, words: wordsOf(args), isBlock }];
    });
  });

/** Returns the command that the words name, and the other words. */
function find(words: readonly string[]): { command: Command; rest: string[] } {
  let command: Command = createProgram({ host: process, output: createOutput(false, process), exitCode: 0 });
  const rest = [...words];
  for (let next; (next = command.commands.find((each) => each.name() === rest[0])); rest.shift())
    command = next;
  return { command, rest };
}

/** Returns why the program would reject the words before it does anything, or null. */
function usageProblem(words: readonly string[]): string | null {
  const { command, rest } = find(words);
  if (rest.some((word) => ["--help", "--version"].includes(word))) return null;
  if (command.commands.length > 0 && rest.length > 0 && !rest[0]?.startsWith("-"))
    return `unknown command ${rest[0]}`;
  try {
    const { operands, unknown } = command.parseOptions(rest.filter((word) => word !== "--json"));
    if (unknown.length > 0) return `unknown ${unknown.join(" ")}`;
    if (operands.length > command.registeredArguments.length)
      return `too many arguments: ${operands.join(" ")}`;
    return null;
  } catch (error) {
    if (error instanceof CommanderError) return error.message;
    throw error;
  }
}

/** Returns the required options and arguments that the words lack. Code in running text can be a part of a command. */
function missingParts(words: readonly string[]): string[] {
  const { command, rest } = find(words);
  const { operands } = command.parseOptions(rest);
  const options = command.options.filter(({ mandatory, long }) => mandatory && long && !rest.includes(long));
  const args = command.registeredArguments.filter(
    ({ required }, index) => required && operands[index] === undefined,
  );
  return [...options.map(({ flags }) => flags), ...args.map((argument) => argument.name())];
}

describe("the commands", () => {
  it("are known to the program, with their options", () => {
    expect(commands.length).toBeGreaterThan(60);
    const wrong = commands.flatMap(({ file, command, words }) => {
      const problem = usageProblem(words);
      return problem === null ? [] : [`${file}: ${command}: ${problem}`];
    });
    expect(wrong).toEqual([]);
  });

  it("of shell blocks are complete", () => {
    const wrong = commands
      .filter(({ isBlock }) => isBlock)
      .flatMap(({ file, command, words }) => {
        const missing = missingParts(words);
        return missing.length === 0 ? [] : [`${file}: ${command} lacks ${missing.join(", ")}`];
      });
    expect(wrong).toEqual([]);
  });

  it.each([
    [["key", "lst"], "unknown command lst"],
    [["key", "rotate", "wmk_a", "--keep", "1"], "unknown --keep 1"],
    [["org", "list", "more"], "too many arguments: more"],
  ])("are rejected if they are wrong: %j", (words, problem) => {
    expect(usageProblem(words)).toBe(problem);
  });

  it("of Docker Compose name its services", () => {
    const { services } = parse(read("docker-compose.yml"), { merge: true }) as { services: object };
    const named = lines.flatMap(({ file, text }) => {
      const [, words = ""] =
        /docker compose (?:exec|stop|start|logs|ps|rm|run|build|restart) (.+)/.exec(text) ?? [];
      const service = wordsOf(words).find(
        (word, index, all) => !word.startsWith("-") && !takesValue(all[index - 1]),
      );
      return service === undefined || service === "$1" ? [] : [{ file, service }];
    });
    expect(named.length).toBeGreaterThan(30);
    expect(named.filter(({ service }) => !(service in services))).toEqual([]);
  });

  it("of the shell have no syntax error", () => {
    // One child of this process: its size makes each fork slow.
    const check = 'for text; do bash -n <<<"$text" || { echo "$text" >&2; exit 1; }; done';
    const texts = shell.map(({ text }) => text);
    expect(() =>
      execFileSync("bash", ["-c", check, "bash", ...texts], { stdio: ["ignore", "ignore", "pipe"] }),
    ).not.toThrow();
  });
});

const takesValue = (option: string | undefined): boolean =>
  ["--volume", "--entrypoint", "--tail", "--since", "--scale"].includes(option ?? "");

describe("the SQL of the runbooks", () => {
  let database: TestDatabase;
  let client: pg.Client;
  beforeAll(async () => {
    database = await createTestDatabase();
    client = new pg.Client(database.url);
    await client.connect();
  });
  afterAll(async () => {
    await client.end();
    await database[Symbol.asyncDispose]();
  });

  const statements = lines
    .filter(({ file }) => file.startsWith("docs/operate/"))
    .flatMap(({ text }) => [
      ...[...text.matchAll(/(?:^|`)sql "([^"]+)"/g)].map(([, statement = ""]) => statement),
      ...(text.startsWith("select ") ? [text] : []),
    ]);

  it("are more than a few", () => {
    expect(statements.length).toBeGreaterThan(15);
  });

  /** Errors of statements whose placeholder names nothing that exists, or that a primary refuses. */
  const refusals: readonly (readonly [part: string, message: RegExp])[] = [
    ["'NAME'", /^replication slot/],
    ["'GID'", /^prepared transaction .* does not exist/],
    ["pg_promote", /recovery is not in progress/],
  ];

  it.each(statements)("runs: %s", async (statement) => {
    const filled = statement.replace("(PID)", "(2147483647)").replace("'UUID'", "gen_random_uuid()");
    const message = await client.query(filled).then(
      () => null,
      (error: unknown) => (error as Error).message,
    );
    const [, refusal = /^$/] = refusals.find(([part]) => statement.includes(part)) ?? [];
    expect(message ?? "").toMatch(refusal);
  });
});

interface Override {
  services?: Record<
    string,
    {
      image?: string;
      ports?: string[];
      environment?: Record<string, string>;
      extends?: { file: string; service: string };
    }
  >;
}

const resetTag = { tag: "!reset", collection: "seq" as const, resolve: () => [] };

function parseOverride(text: string): Override {
  const [document] = parseAllDocuments(text, { customTags: [resetTag] });
  expect(document?.errors).toEqual([]);
  expect(document?.warnings).toEqual([]);
  return (document?.toJS() ?? {}) as Override;
}

describe("the YAML of the pages", () => {
  const { services } = parse(read("docker-compose.yml"), { merge: true }) as Required<Override>;

  it("is valid, and changes only existing services or defines complete ones", () => {
    const blocks = blocksOf("yaml");
    expect(blocks.length).toBeGreaterThan(4);
    for (const { text } of blocks) {
      const { services: overrides = {} } = parseOverride(text);
      for (const [name, service] of Object.entries(overrides)) {
        const isComplete = service.image !== undefined || (service.extends?.service ?? "") in services;
        expect(name in services || isComplete, `the service ${name}`).toBe(true);
      }
    }
  });

  it("with two API containers publishes only the proxy, which knows both and is trusted", () => {
    const page = readPage("operate/scaling.md");
    const blocks = codeBlocks(page);
    const override =
      blocks.find(({ language, text }) => language === "yaml" && text.includes("api2"))?.text ?? "";
    const caddyfile = blocks.find(({ text }) => text.includes("reverse_proxy api:"))?.text ?? "";
    const { services: overrides = {} } = parseOverride(override);
    expect(Object.keys(overrides)).toEqual(["api", "api2", "proxy"]);

    const [, list = ""] = /reverse_proxy (.+) \{/.exec(caddyfile) ?? [];
    const port = readEnv({}).PORT;
    expect(list.split(" ")).toEqual([`api:${port}`, `api2:${port}`]);
    for (const name of ["api", "api2"]) {
      expect(overrides[name]?.ports).toEqual([]);
      // One proxy is in front of both.
      expect(readEnv(overrides[name]?.environment).TRUST_PROXY).toBe(1);
    }
    const published = Object.entries({ ...services, ...overrides })
      .filter(([, { ports = [] }]) => ports.some((entry) => !entry.startsWith("127.0.0.1:")))
      .map(([name]) => name);
    expect(published).toEqual(["proxy"]);
  });

  it("and the proxies of the pages keep idle connections for less time than Waymark", () => {
    const keepaliveS = pages
      .filter(({ file }) => file.startsWith("docs/operate/"))
      .flatMap(({ text }) =>
        [...text.matchAll(/^ +keepalive (\d+)s$/gm)].map(([, seconds]) => Number(seconds)),
      );
    expect(keepaliveS.length).toBeGreaterThan(2);
    expect(Math.max(...keepaliveS) * 1000).toBeLessThan(readEnv({}).KEEP_ALIVE_TIMEOUT);
  });
});

describe("the log messages", () => {
  it("that the pages search for are in the source", () => {
    const source = globSync("src/**/*.ts").map(read).join("\n");
    const searched = lines
      .filter(({ file }) => file.startsWith("docs/operate/"))
      .flatMap(({ text }) => {
        const [, quoted = ""] = /logs .*grep (?:-E )?'([a-z][\w |]+)'/.exec(text) ?? [];
        return quoted === "" ? [] : quoted.split("|");
      });
    expect(searched.length).toBeGreaterThan(3);
    expect(searched.filter((message) => !source.includes(message))).toEqual([]);
  });
});
