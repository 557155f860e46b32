/** `waymark endpoint rotate-secret` */
import { Command } from "commander";
import { systemPrincipal } from "../../../webhooks/api.ts";
import type { CliContext } from "../../context.ts";
import { SECRET_NOTICE } from "./create.ts";
import { ENDPOINT_ARGUMENT_HELP, presentEndpoint } from "../../presenters/endpoint.ts";
import { formatList } from "../../output.ts";
import { withWebhooks } from "../../with-webhooks.ts";

export function endpointRotateSecretCommand(cli: CliContext): Command {
  return new Command("rotate-secret")
    .description("create a new secret for an endpoint; the previous one also signs for 24 hours")
    .argument("<endpoint>", ENDPOINT_ARGUMENT_HELP)
    .action((id: string) =>
      withWebhooks(cli, async ({ endpoints }) => {
        const { endpoint, secret } = await endpoints.rotateSecret(systemPrincipal, id);
        const [previousValidUntil = ""] = endpoint.previousSecretsExpireAt;
        const summary = { Secret: secret, URL: endpoint.url, "Previous valid until": previousValidUntil };
        cli.output.printResult(
          { secret, previous_valid_until: previousValidUntil, ...presentEndpoint(endpoint) },
          `${formatList(summary)}\n${SECRET_NOTICE}`,
        );
      }),
    );
}
