/** The command tree, and how its errors become output and an exit code: 0 success, 1 failure, 2 usage error. */
import { type Command, CommanderError } from "commander";
import manifest from "../../package.json" with { type: "json" };
import { commandGroup } from "./command.ts";
import { deliveryCommands } from "./commands/deliveries.ts";
import { endpointCommands } from "./commands/endpoints.ts";
import { jobCommands } from "./commands/jobs.ts";
import { keyCommands } from "./commands/keys.ts";
import {
  operatorCommands,
  organizationCommands,
  testCommands,
  userCommands,
} from "./commands/organizations.ts";
import { serverCommands } from "./commands/server.ts";
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
  ...serverCommands,
  organizationCommands,
  operatorCommands,
  userCommands,
  keyCommands,
  testCommands,
  jobCommands,
  endpointCommands,
  deliveryCommands,
]);

/** Returns the command tree, which runs nothing until it is parsed. */
export function createProgram(cli: CliContext): Command {
  const program = createCommands(cli)
    .version(manifest.version)
    .option("--json", "print one JSON document on standard output")
    .addHelpText("after", HELP_TEXT);
  configureCommand(program, cli);
  return program;
}

/** Turns Commander's exits into errors that name the command, and routes its output. */
function configureCommand(command: Command, cli: CliContext, parent = ""): void {
  const path = `${parent} ${command.name()}`.trimStart();
  command
    .exitOverride((error) => {
      if (error.exitCode === 0) throw error;
      const isHelpShown = error.code === "commander.help";
      const message = isHelpShown ? "No command was given" : error.message.replace(/^error: /, "");
      throw new UsageError(message, path);
    })
    .configureOutput({
      writeOut: (text) => cli.host.stdout.write(text),
      writeErr: cli.output.printStatus,
      // `reportError` prints it, like every other error.
      outputError: () => undefined,
    });
  for (const subcommand of command.commands) configureCommand(subcommand, cli, path);
}

function reportError(error: unknown, output: Output): number {
  // The help or the version was printed.
  if (error instanceof CommanderError) return 0;
  const { exitCode, text, document } = toCliFailure(error);
  if (output.isJson) output.printResult({ data: { error: document } });
  if (text !== "") output.printStatus(text);
  return exitCode;
}
