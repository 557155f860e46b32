/** Commands as data: argument, options, and a function that returns the result to print. */
import { Command, InvalidArgumentError, Option } from "commander";
import {
  type CliContext,
  type CliServices,
  type WebhookServices,
  withServices,
  withWebhooks,
} from "./context.ts";

export interface Result {
  /** Printed with --json. */
  readonly document: object;
  /** Printed without --json. */
  readonly text: string;
  /** 1 reports a partial failure, for example failed rows of an import; default 0. */
  readonly exitCode?: 0 | 1;
}

export type CliCommand = (cli: CliContext) => Command;

interface OptionSpec<Value> {
  /** `name` is the option's name in kebab case. */
  create(name: string): Option;
  /** Only a type: what the parsed option is. */
  readonly value?: Value;
}

type OptionSpecs = Readonly<Record<string, OptionSpec<unknown>>>;
export type OptionValues<Specs> = {
  readonly [Name in keyof Specs]: Specs[Name] extends OptionSpec<infer Value> ? Value : never;
};
type ArgumentValue<Name> = Name extends `<${string}>` ? string : string | undefined;

interface CommandSpec<Context, Specs, ArgumentName> {
  readonly description: string;
  /** `<required>` or `[optional]`, and its description. */
  readonly argument?: readonly [ArgumentName, string];
  /** By the option's name in camel case. */
  readonly options?: Specs;
  /** Printed after the help of the options. */
  readonly help?: string;
  /** Runs before the services are opened. Throws InvalidArgumentError or AppError. */
  check?(options: OptionValues<Specs>, argument: ArgumentValue<ArgumentName>): void;
  /** Returns nothing if it has printed its result itself. */
  run(
    context: Context,
    options: OptionValues<Specs>,
    argument: ArgumentValue<ArgumentName>,
  ): Promise<Result | undefined>;
}

/** An option with a value, for example `<org>`. `parse` throws InvalidArgumentError. */
export function option(placeholder: string, description: string): OptionSpec<string | undefined>;
export function option<Value>(
  placeholder: string,
  description: string,
  parse: (text: string, previous?: Value) => Value,
): OptionSpec<Value | undefined>;
export function option(
  placeholder: string,
  description: string,
  parse?: (text: string, previous: never) => unknown,
): OptionSpec<unknown> {
  return {
    create(name) {
      const created = new Option(`--${name} ${placeholder}`, description);
      // Commander passes the default or the previous value, which is of the parser's type.
      return parse ? created.argParser(parse as (text: string, previous: unknown) => unknown) : created;
    },
  };
}

export function flag(description: string): OptionSpec<true | undefined> {
  return { create: (name) => new Option(`--${name}`, description) };
}

export function choice<Value extends string>(
  placeholder: string,
  description: string,
  choices: readonly Value[],
): OptionSpec<Value | undefined> {
  return { create: (name) => option(placeholder, description).create(name).choices(choices) };
}

export function required<Value>(spec: OptionSpec<Value | undefined>): OptionSpec<Value> {
  return { create: (name) => spec.create(name).makeOptionMandatory() };
}

export function withDefault<Value>(value: Value, spec: OptionSpec<Value | undefined>): OptionSpec<Value> {
  return { create: (name) => spec.create(name).default(value) };
}

/** Defines a command that opens no services, or opens them itself. */
export const command = definer<CliContext>((cli, work) => work(cli));
/** Defines a command that uses the services of the database. */
export const serviceCommand = definer<CliServices>(withServices);
/** Defines a command that uses webhook endpoints and deliveries, too. */
export const webhookCommand = definer<WebhookServices>(withWebhooks);

function definer<Context>(
  open: (cli: CliContext, work: (context: Context) => Promise<void>) => Promise<void>,
) {
  return <const Specs extends OptionSpecs, ArgumentName extends string>(
    name: string,
    spec: CommandSpec<Context, Specs, ArgumentName>,
  ): CliCommand =>
    (cli) => {
      const created = new Command(name).description(spec.description);
      if (spec.argument) created.argument(...spec.argument);
      for (const [key, each] of Object.entries(spec.options ?? {}))
        created.addOption(each.create(kebabCase(key)));
      if (spec.help !== undefined) created.addHelpText("after", spec.help);
      return created.action(async () => {
        const options = created.opts<OptionValues<Specs>>();
        const argument = created.processedArgs[0] as ArgumentValue<ArgumentName>;
        try {
          spec.check?.(options, argument);
        } catch (error) {
          if (error instanceof InvalidArgumentError)
            created.error(`error: ${error.message}`, { exitCode: 2 });
          throw error;
        }
        await open(cli, async (context) => {
          const result = await spec.run(context, options, argument);
          if (result === undefined) return;
          cli.exitCode = result.exitCode ?? 0;
          cli.output.printResult(result.document, result.text);
        });
      });
    };
}

export function commandGroup(name: string, description: string, commands: readonly CliCommand[]): CliCommand {
  return (cli) => {
    const group = new Command(name).description(description);
    for (const create of commands) group.addCommand(create(cli));
    return group;
  };
}

function kebabCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
