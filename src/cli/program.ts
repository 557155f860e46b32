/** The commands put together, and what becomes of a run: its exit code is 0, 1 (it failed) or 2 (wrong use). */
import { Command, CommanderError } from "commander";
import manifest from "../../package.json" with { type: "json" };
import type { Cli } from "./cli.ts";
import { acceptSecret } from "./accept-secret.ts";
import { afterRestore } from "./after-restore.ts";
import { demo } from "./demo.ts";
import { deliveriesList } from "./deliveries-list.ts";
import { deliveriesReplay } from "./deliveries-replay.ts";
import { deliveriesShow } from "./deliveries-show.ts";
import { endpointCreate } from "./endpoint-create.ts";
import { endpointList } from "./endpoint-list.ts";
import { endpointRotateSecret } from "./endpoint-rotate-secret.ts";
import { endpointDelete, endpointPause, endpointResume } from "./endpoint-status.ts";
import { endpointTest } from "./endpoint-test.ts";
import { endpointUpdate } from "./endpoint-update.ts";
import { failureOf, WrongUse } from "./failure.ts";
import { jobsExport } from "./jobs-export.ts";
import { jobsImport } from "./jobs-import.ts";
import { keyCreate } from "./key-create.ts";
import { keyList } from "./key-list.ts";
import { keyRevoke } from "./key-revoke.ts";
import { keyRotate } from "./key-rotate.ts";
import { keyUpdate } from "./key-update.ts";
import { listen } from "./listen.ts";
import { migrate } from "./migrate.ts";
import { operatorCreate } from "./operator-create.ts";
import { orgCreate } from "./org-create.ts";
import { orgList } from "./org-list.ts";
import { orgRestore, orgSuspend } from "./org-suspend.ts";
import { createOutput, type Output } from "./output.ts";
import { personResetSecondFactor } from "./person-reset-second-factor.ts";
import { serve } from "./serve.ts";
import { withServices } from "./with-services.ts";

const ABOUT = `Runs Waymark and looks after it: organisations, API keys, webhooks, jobs from and to files.
Works on the server's database, the embedded one included, whether or not a server is up.`;

const NOTES = `
With --json there is exactly one JSON document on standard output: the command's result, or {"error": {code,
message, hint, details}}. Everything else goes to standard error.

Exit code: 0, 1 (it failed) or 2 (wrong use). Settings come from the environment; .env.example lists them.`;

/** Runs the command that `argv` names and answers with the exit code. */
export async function runCommandLine(argv: readonly string[]): Promise<number> {
  const output = createOutput(argv.includes("--json"));
  const cli: Cli = { output, exitCode: 0, withServices };
  try {
    await programOf(cli).parseAsync(argv, { from: "user" });
    return cli.exitCode;
  } catch (error) {
    return concludeWith(error, output);
  }
}

function programOf(cli: Cli): Command {
  const program = group("waymark", ABOUT, [
    serve(cli),
    migrate(cli),
    afterRestore(cli),
    acceptSecret(cli),
    group("org", "organisations: agents and contractors", [
      orgCreate(cli),
      orgList(cli),
      orgSuspend(cli),
      orgRestore(cli),
    ]),
    group("operator", "people who run the service", [operatorCreate(cli)]),
    group("person", "people who sign in", [personResetSecondFactor(cli)]),
    group("key", "API keys", [keyCreate(cli), keyList(cli), keyRevoke(cli), keyRotate(cli), keyUpdate(cli)]),
    group("jobs", "jobs from and to files", [jobsImport(cli), jobsExport(cli)]),
    group("endpoint", "where webhooks go", [
      endpointCreate(cli),
      endpointList(cli),
      endpointPause(cli),
      endpointResume(cli),
      endpointDelete(cli),
      endpointRotateSecret(cli),
      endpointUpdate(cli),
      endpointTest(cli),
    ]),
    group("deliveries", "what was sent there", [
      deliveriesList(cli),
      deliveriesShow(cli),
      deliveriesReplay(cli),
    ]),
    listen(cli),
    demo(cli),
  ]);
  program
    .version(manifest.version)
    .option("--json", "print one JSON document on standard output")
    .addHelpText("after", NOTES)
    // An option's value may read "--json"; here it is known which it was.
    .hook("preAction", () => void (cli.output.isJson = program.opts<{ json?: true }>().json === true));
  prepare(program, cli.output);
  return program;
}

function group(name: string, description: string, commands: readonly Command[]): Command {
  const parent = new Command(name).description(description);
  for (const command of commands) parent.addCommand(command);
  return parent;
}

/** Commander's own endings become ours, each with the command that it was about. */
function prepare(command: Command, output: Output): void {
  command
    .exitOverride((error) => {
      throw error.exitCode === 0 ? error : new WrongUse(error, pathOf(command));
    })
    .configureOutput({
      writeOut: (text) => output.held.push(text),
      writeErr: (text) => output.note(text),
      // Told in `concludeWith`, as every other failure.
      outputError: () => undefined,
    });
  for (const inner of command.commands) prepare(inner, output);
}

function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
}

function concludeWith(error: unknown, output: Output): number {
  if (error instanceof CommanderError && error.exitCode === 0) {
    const text = output.held.join("");
    output.result(
      error.code === "commander.version" ? { version: text.trim() } : { help: text },
      text.trimEnd(),
    );
    return 0;
  }
  const failure = failureOf(error);
  if (output.isJson) output.result({ error: failure.document }, "");
  if (failure.text !== "") output.note(failure.text);
  return failure.exitCode;
}
