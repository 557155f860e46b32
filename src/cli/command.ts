/** Commands as rows: an argument, options, and a function that returns the result to print. */
import { Command, Option } from "commander";
import { type CliContext, type ServiceContext, type WebhookContext, withServices } from "./context.ts";
import type { Result } from "./output.ts";

export type CliCommand = (cli: CliContext) => Command;

/** An option, by its name in camel case. Without a value it is a flag. */
interface OptionRow {
  readonly value?: `<${string}>` | `[${string}]`;
  readonly text: string;
  readonly choices?: readonly string[];
  /** Throws InvalidArgumentError. `previous`: the parsed value of the same option before it. */
  readonly parse?: (text: string, previous: never) => unknown;
  readonly required?: true;
  readonly default?: unknown;
  readonly conflicts?: string[];
}

type OptionRows = Readonly<Record<string, OptionRow>>;
type ValueOf<Row> =
  | (Row extends { parse: (text: string, previous: never) => infer Value }
      ? Value
      : Row extends { choices: readonly (infer Choice)[] }
        ? Choice
        : Row extends { value: string }
          ? string
          : true)
  | (Row extends { value: `[${string}]` } ? true : never);
type OptionValues<Rows> = {
  readonly [Name in keyof Rows]:
    | ValueOf<Rows[Name]>
    | (Rows[Name] extends { required: true } | { default: unknown } ? never : undefined);
};
type ArgumentValue<Argument> = Argument extends `[${string}]` ? string | undefined : string;

interface CommandRow<Context, Rows, Argument> {
  readonly description: string;
  /** `<required>` or `[optional]`, and its description. */
  readonly argument?: readonly [Argument, string];
  readonly options?: Rows;
  /** Printed after the help of the options. */
  readonly help?: string;
  /** Returns nothing if it has printed its result itself. */
  readonly run: (
    context: Context,
    options: OptionValues<Rows>,
    argument: ArgumentValue<Argument>,
  ) => Promise<Result | undefined>;
}

/** Opens what commands share, for `work`, which prints the result: closing may fail. */
type Open<Context> = (cli: CliContext, work: (context: Context) => Promise<void>) => Promise<void>;

/** Defines a command that opens no services, or opens them itself. */
export const command = definer<CliContext>((cli, work) => work(cli));
export const serviceCommand = definer<ServiceContext>(withServices);
/** Defines a command that uses webhook endpoints and deliveries, too. */
export const webhookCommand = definer<WebhookContext>((cli, work) =>
  withServices(cli, async (context) => {
    await using webhooks = await context.openWebhooks();
    const { endpoints, deliveries } = webhooks;
    await work({ ...context, endpoints, deliveries });
  }),
);

export function definer<Context>(open: Open<Context>) {
  return <const Rows extends OptionRows, Argument extends string>(
    name: string,
    {
      description,
      argument: expected,
      options = {} as Rows,
      help = "",
      run,
    }: CommandRow<Context, Rows, Argument>,
  ): CliCommand =>
    (cli) => {
      const created = new Command(name).description(description).addHelpText("after", help);
      if (expected) created.argument(...expected);
      for (const [key, row] of Object.entries(options)) created.addOption(toOption(key, row));
      return created.action(async () => {
        const argument = created.processedArgs[0] as ArgumentValue<Argument>;
        await open(cli, async (context) => {
          const result = await run(context, created.opts(), argument);
          if (result === undefined) return;
          cli.exitCode = result.exitCode ?? 0;
          cli.output.printResult(result);
        });
      });
    };
}

function toOption(name: string, row: OptionRow): Option {
  const flag = `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  const option = new Option(`${flag} ${row.value ?? ""}`.trimEnd(), row.text)
    .makeOptionMandatory(row.required ?? false)
    .default(row.default)
    .conflicts(row.conflicts ?? []);
  if (row.choices) option.choices(row.choices);
  // Commander passes the previous value, which is of the parser's type.
  if (row.parse) option.argParser(row.parse as (text: string, previous: unknown) => unknown);
  return option;
}

export function commandGroup(name: string, description: string, commands: readonly CliCommand[]): CliCommand {
  return (cli) => {
    const group = new Command(name).description(description);
    for (const create of commands) group.addCommand(create(cli));
    return group;
  };
}
