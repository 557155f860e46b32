/** Compares the numbers in the guide with the constants of the code. */
import { describe, expect, it } from "vitest";
import { sections } from "../../src/guide/contents.ts";
import {
  constantIn,
  count,
  duration,
  findUnheldQuantities,
  findUnusedExemptions,
  findWrongFacts,
  type Exemptions,
} from "../support/docs/facts.ts";
import { guideFacts } from "../support/docs/guide-facts.ts";
import { operateFacts } from "../support/docs/operate-facts.ts";

const facts = [...guideFacts, ...operateFacts];
const pages = ["README.md", ...sections.flatMap(({ files }) => files).map((file) => `docs/${file}`)];

const MEASURED = "a benchmark measures it";
const OTHER_TEST = "another test compares the table";
const OTHER_PROGRAM = "it is of another program";
const ADVICE = "it is advice";

/** Quantities that are no constants of the code, by page. */
const exempt: Readonly<Record<string, Exemptions>> = {
  "docs/guide/index.md": { "five minutes": ADVICE },
  "docs/guide/quickstart.md": { Quickstart: ADVICE },
  "docs/guide/jobs.md": { "The job object": OTHER_TEST },
  "docs/guide/webhooks/quickstart.md": { "A body is usually": OTHER_TEST },
  "docs/guide/test-mode.md": {
    "See every state of a delivery > Delays before the ten attempts": OTHER_TEST,
  },
  "docs/guide/webhooks/verify.md": {
    "five minutes": ADVICE,
    "1 MiB": ADVICE,
    "A valid request, new or repeated": OTHER_TEST,
  },
  "docs/guide/webhooks/reliability.md": {
    Retries: OTHER_TEST,
    "Limits > Requests to one endpoint per second": OTHER_TEST,
    "Limits > Endpoints of an organisation": OTHER_TEST,
  },
  "docs/guide/webhooks/troubleshooting.md": { "HTTP statuses > http_413": ADVICE },
  "docs/guide/contract-text.md": { "Job object": "it is the contract", Limits: "it is the contract" },
  "docs/operate/install.md": {
    "600 s": OTHER_PROGRAM,
    "nginx rejects every batch above 1 MiB": OTHER_PROGRAM,
    "Caddy keeps idle connections": OTHER_PROGRAM,
    "300 MB": MEASURED,
  },
  "docs/operate/settings.md": { Server: OTHER_TEST },
  "docs/operate/monitoring.md": {
    "Metrics > waymark_replica_up{replica}": ADVICE,
    "Metrics > waymark_webhook_claim_duration_seconds": ADVICE,
    "Alerts and dashboard": OTHER_TEST,
    "Traces cost CPU time": MEASURED,
  },
  "docs/operate/security.md": { "Network > API processes": OTHER_PROGRAM },
  "docs/operate/runbooks.md": {
    "1. **Is it one client?**": ADVICE,
    "5. **Is PostgreSQL slow?**": ADVICE,
  },
  "docs/operate/scaling.md": {
    "When to add what": ADVICE,
    "In the `Caddyfile` of a server": OTHER_PROGRAM,
    "A replica took": MEASURED,
    "Measured on one core": MEASURED,
    Throughput: MEASURED,
    Cost: MEASURED,
    Memory: MEASURED,
    Disk: MEASURED,
    "Large installations": MEASURED,
    "Connections > Worker": "the rest of the row is zero",
    "Connections > A command, and each process while it starts": "the rest of the row is zero",
  },
};

describe("the pages", () => {
  it("have the numbers of the code", () => {
    expect(facts.length).toBeGreaterThan(100);
    expect(findWrongFacts(facts)).toEqual([]);
  });

  it.each(pages)("have no number that no fact holds: %s", (page) => {
    expect(findUnheldQuantities(page, facts, exempt[page])).toEqual([]);
    expect(findUnusedExemptions(page, exempt[page] ?? {})).toEqual([]);
  });
});

describe("the checker", () => {
  const page =
    "# Limits\n\nWait a minute.\n\n## Sizes\n\n| What | Limit |\n|---|---|\n| Batch | 1,000 jobs in 15 s |\n";
  const check = (place: string, ...states: Parameters<typeof findWrongFacts>[0][number]["states"]) =>
    findWrongFacts([{ page: "a.md", place, states }], () => page);

  it.each([
    ["a number in a row", "Sizes > Batch", count(1000)],
    ["a duration in seconds", "Sizes > Batch", duration(15_000)],
    ["a duration in words", "Limits", duration(60_000)],
  ])("accepts %s", (_, place, quantity) => {
    expect(check(place, quantity)).toEqual([]);
  });

  it.each([
    ["another number", "Sizes > Batch", count(100)],
    ["a part of a number", "Sizes > Batch", duration(5_000)],
    ["a duration instead of a count", "Sizes > Batch", count(15)],
    ["a number of another section", "Limits", count(1000)],
    ["an unknown place", "Sizes > Page", count(1000)],
  ])("reports %s", (_, place, quantity) => {
    expect(check(place, quantity)).toHaveLength(1);
  });

  it("reads constants, members, products and powers", () => {
    expect(constantIn("src/core/http-client/client.ts", "defaultLimits.keepBytes")).toBe(4096);
    expect(constantIn("src/api/server/server.ts", "TIMEOUTS_MS.upload")).toBe(3_600_000);
    expect(constantIn("src/idempotency/purge.sql.ts", "IDEMPOTENCY_STORAGE_LIMITS.bytes")).toBe(
      8 * 1024 ** 3,
    );
    expect(() => constantIn("src/api/server/server.ts", "NO_SUCH_MS")).toThrow("has no constant NO_SUCH_MS");
  });
});
