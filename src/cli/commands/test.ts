/** `waymark test` */
import type { TestUse } from "../../test-mode/api.ts";
import { toTypedId } from "../../core/ids.ts";
import { commandGroup, serviceCommand } from "../command.ts";
import { cliAuditContext } from "../context.ts";
import { escapeControlCharacters, listResult } from "../output.ts";

function presentTestUse({ live: { id, name }, jobs, runs, activeKeys, lastUsedAt }: TestUse) {
  const organization = { organization_id: toTypedId("org", id), name };
  return { ...organization, jobs, runs, active_keys: activeKeys, last_used_at: lastUsedAt };
}

const list = serviceCommand("list", {
  description:
    "list the organisations that use test mode, with their test jobs, runs in progress and test keys",
  async run({ testUse }) {
    return listResult(await testUse.list(), {
      columns: {
        ORGANISATION: ({ live: { id } }) => toTypedId("org", id),
        JOBS: ({ jobs }) => String(jobs),
        RUNS: ({ runs }) => String(runs),
        KEYS: ({ activeKeys }) => String(activeKeys),
        "LAST USED": ({ lastUsedAt }) => lastUsedAt?.toISOString() ?? "never",
        NAME: ({ live: { name } }) => name,
      },
      toItem: presentTestUse,
      empty: "No organisation uses test mode.",
    });
  },
});

const reset = serviceCommand("reset", {
  description: "delete the test jobs, events, deliveries and logged requests of an organisation",
  argument: ["<org>", "live organisation (ID or exact name)"],
  help: "Test keys and webhook endpoints stay. Runs in progress are cancelled.",
  async run({ organizations, testUse }, _options, org) {
    const organization = await organizations.get(org);
    const document = await testUse.reset(cliAuditContext, organization);
    const name = escapeControlCharacters(organization.name);
    return { document, text: `Deleted the test data of ${name}: ${document.jobs} jobs.` };
  },
});

export const testCommands = commandGroup("test", "manage test data of organisations", [list, reset]);
