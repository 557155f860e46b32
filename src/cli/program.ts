/** The command tree, and how its errors become output and an exit code: 0 success, 1 failure, 2 usage error. */
import { Command, CommanderError } from "commander";
import manifest from "../../package.json" with { type: "json" };
import type { CliContext } from "./context.ts";
import { acceptSecretCommand } from "./commands/accept-secret.ts";
import { afterRestoreCommand } from "./commands/after-restore.ts";
import { demoCommand } from "./commands/demo.ts";
import { deliveriesListCommand } from "./commands/deliveries/list.ts";
import { deliveriesReplayCommand } from "./commands/deliveries/replay.ts";
import { deliveriesShowCommand } from "./commands/deliveries/show.ts";
import { endpointCreateCommand } from "./commands/endpoint/create.ts";
import { endpointListCommand } from "./commands/endpoint/list.ts";
import { endpointRotateSecretCommand } from "./commands/endpoint/rotate-secret.ts";
import {
  endpointDeleteCommand,
  endpointPauseCommand,
  endpointResumeCommand,
} from "./commands/endpoint/lifecycle.ts";
import { endpointTestCommand } from "./commands/endpoint/test.ts";
import { endpointUpdateCommand } from "./commands/endpoint/update.ts";
import { toCliFailure, UsageError } from "./exit.ts";
import { jobsExportCommand } from "./commands/jobs/export.ts";
import { jobsImportCommand } from "./commands/jobs/import.ts";
import { keyCreateCommand } from "./commands/key/create.ts";
import { keyListCommand } from "./commands/key/list.ts";
import { keyRevokeCommand } from "./commands/key/revoke.ts";
import { keyRotateCommand } from "./commands/key/rotate.ts";
import { keyUpdateCommand } from "./commands/key/update.ts";
import { listenCommand } from "./commands/listen.ts";
import { migrateCommand } from "./commands/migrate.ts";
import { operatorCreateCommand } from "./commands/operator/create.ts";
import { orgCreateCommand } from "./commands/org/create.ts";
import { orgListCommand } from "./commands/org/list.ts";
import { orgRestoreCommand, orgSuspendCommand } from "./commands/org/suspend.ts";
import { createOutput, type Output } from "./output.ts";
import { userResetTwoFactorCommand } from "./commands/user/reset-two-factor.ts";
import { serveCommand } from "./commands/serve.ts";
import { withServices } from "./with-services.ts";

const DESCRIPTION = `Runs and administers Waymark: organisations, API keys, webhooks, job imports and exports.
Commands use the server's database, including the embedded one, whether or not a server is running.`;

const HELP_TEXT = `
With --json, standard output is exactly one JSON document: the command's result, or {"error": {code,
message, hint, details}}. All other output goes to standard error.

Exit codes: 0 success, 1 failure, 2 usage error. Settings come from the environment; see .env.example.`;

/** Runs the command in `argv` (without node and script) and returns the exit code. Never throws. */
export async function runCommandLine(argv: readonly string[]): Promise<number> {
  const output = createOutput(argv.includes("--json"));
  const cli: CliContext = { output, exitCode: 0, withServices };
  try {
    await createProgram(cli).parseAsync(argv, { from: "user" });
    return cli.exitCode;
  } catch (error) {
    return reportError(error, output);
  }
}

function createProgram(cli: CliContext): Command {
  const program = createCommandGroup("waymark", DESCRIPTION, [
    serveCommand(cli),
    migrateCommand(cli),
    afterRestoreCommand(cli),
    acceptSecretCommand(cli),
    createCommandGroup("org", "manage organisations: agents and contractors", [
      orgCreateCommand(cli),
      orgListCommand(cli),
      orgSuspendCommand(cli),
      orgRestoreCommand(cli),
    ]),
    createCommandGroup("operator", "manage operators, the users who run the service", [
      operatorCreateCommand(cli),
    ]),
    createCommandGroup("user", "manage user accounts", [userResetTwoFactorCommand(cli)]),
    createCommandGroup("key", "manage API keys", [
      keyCreateCommand(cli),
      keyListCommand(cli),
      keyRevokeCommand(cli),
      keyRotateCommand(cli),
      keyUpdateCommand(cli),
    ]),
    createCommandGroup("jobs", "import and export jobs", [jobsImportCommand(cli), jobsExportCommand(cli)]),
    createCommandGroup("endpoint", "manage webhook endpoints", [
      endpointCreateCommand(cli),
      endpointListCommand(cli),
      endpointPauseCommand(cli),
      endpointResumeCommand(cli),
      endpointDeleteCommand(cli),
      endpointRotateSecretCommand(cli),
      endpointUpdateCommand(cli),
      endpointTestCommand(cli),
    ]),
    createCommandGroup("deliveries", "list and replay webhook deliveries", [
      deliveriesListCommand(cli),
      deliveriesShowCommand(cli),
      deliveriesReplayCommand(cli),
    ]),
    listenCommand(cli),
    demoCommand(cli),
  ]);
  program
    .version(manifest.version)
    .option("--json", "print one JSON document on standard output")
    .addHelpText("after", HELP_TEXT)
    // Another option's value may be "--json", so the guess from argv is corrected after parsing.
    .hook("preAction", () => void (cli.output.isJson = program.opts<{ json?: true }>().json === true));
  configureCommand(program, cli.output);
  return program;
}

function createCommandGroup(name: string, description: string, commands: readonly Command[]): Command {
  const parent = new Command(name).description(description);
  for (const command of commands) parent.addCommand(command);
  return parent;
}

/** Turns Commander's exits into errors that name the command, and routes its output. */
function configureCommand(command: Command, output: Output): void {
  command
    .exitOverride((error) => {
      throw error.exitCode === 0 ? error : new UsageError(error, commandPath(command));
    })
    .configureOutput({
      writeOut: (text) => output.bufferedHelp.push(text),
      writeErr: (text) => output.printStatus(text),
      // `reportError` prints it, like every other error.
      outputError: () => undefined,
    });
  for (const subcommand of command.commands) configureCommand(subcommand, output);
}

function commandPath(command: Command): string {
  return command.parent ? `${commandPath(command.parent)} ${command.name()}` : command.name();
}

function reportError(error: unknown, output: Output): number {
  if (error instanceof CommanderError && error.exitCode === 0) {
    const text = output.bufferedHelp.join("");
    output.printResult(
      error.code === "commander.version" ? { version: text.trim() } : { help: text },
      text.trimEnd(),
    );
    return 0;
  }
  const failure = toCliFailure(error);
  if (output.isJson) output.printResult({ error: failure.document }, "");
  if (failure.text !== "") output.printStatus(failure.text);
  return failure.exitCode;
}
