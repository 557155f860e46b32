/** The command tree, and how its errors become output and an exit code: 0 success, 1 failure, 2 usage error. */
import { type Command, CommanderError } from "commander";
import manifest from "../../package.json" with { type: "json" };
import { commandGroup } from "./command.ts";
import { databaseCommands, demoCommand } from "./commands/database.ts";
import { deliveryCommands } from "./commands/deliveries.ts";
import { endpointCommands } from "./commands/endpoints.ts";
import { jobsExportCommand } from "./commands/jobs-export.ts";
import { jobsImportCommand } from "./commands/jobs-import.ts";
import { keyCommands } from "./commands/keys.ts";
import { organizationCommands } from "./commands/organizations.ts";
import { serveCommand } from "./commands/serve.ts";
import { testCommands } from "./commands/test.ts";
import { operatorCommands, userCommands } from "./commands/users.ts";
import type { CliContext, CliProcess } from "./context.ts";
import { toCliFailure, UsageError } from "./exit.ts";
import { createOutput, type Output } from "./output.ts";

const DESCRIPTION = `Runs and administers Waymark: organisations, API keys, webhooks, job imports and exports.
Commands use the server's database, including the embedded one, whether or not a server is running.`;

const HELP_TEXT = `
With --json, standard output is exactly one JSON document: the command's result, or {"error": {code,
message, hint, details}}. All other output goes to standard error.

Exit codes: 0 success, 1 failure, 2 usage error. Settings come from the environment; see .env.example.`;

/** Runs the command in `argv` (without node and script) and returns the exit code. Never throws. */
export async function runCommandLine(argv: readonly string[], host: CliProcess = process): Promise<number> {
  const output = createOutput(argv.includes("--json"), host);
  const cli: CliContext = { host, output, exitCode: 0 };
  try {
    await createProgram(cli).parseAsync(argv, { from: "user" });
    return cli.exitCode;
  } catch (error) {
    return reportError(error, output);
  }
}

const createCommands = commandGroup("waymark", DESCRIPTION, [
  serveCommand,
  ...databaseCommands,
  organizationCommands,
  operatorCommands,
  userCommands,
  keyCommands,
  testCommands,
  commandGroup("jobs", "import and export jobs", [jobsImportCommand, jobsExportCommand]),
  endpointCommands,
  deliveryCommands,
  demoCommand,
]);

/** Returns the command tree, which runs nothing until it is parsed. */
export function createProgram(cli: CliContext): Command {
  const program = createCommands(cli);
  program
    .version(manifest.version)
    .option("--json", "print one JSON document on standard output")
    .addHelpText("after", HELP_TEXT)
    // Another option's value may be "--json", so the guess from argv is corrected after parsing.
    .hook("preAction", () => void (cli.output.isJson = program.opts<{ json?: true }>().json === true));
  configureCommand(program, cli.output);
  return program;
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
