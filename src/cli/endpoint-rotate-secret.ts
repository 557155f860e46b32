/** `waymark endpoint rotate-secret` */
import { Command } from "commander";
import { operator } from "../webhooks/caller.ts";
import type { Cli } from "./cli.ts";
import { KEEP_SECRET } from "./endpoint-create.ts";
import { ENDPOINT_ARGUMENT, endpointDocument } from "./endpoint-document.ts";
import { listOf } from "./output.ts";
import { withWebhooks } from "./with-webhooks.ts";

export function endpointRotateSecret(cli: Cli): Command {
  return new Command("rotate-secret")
    .description("give an endpoint a new secret, beside which the former one signs for 24 hours")
    .argument("<endpoint>", ENDPOINT_ARGUMENT)
    .action((id: string) =>
      withWebhooks(cli, async ({ endpoints }) => {
        const { endpoint, secret } = await endpoints.rotateSecret(operator, id);
        const [until = ""] = endpoint.formerSecretsUntil;
        const shown = { Secret: secret, Url: endpoint.url, "Former until": until };
        cli.output.result(
          { secret, former_until: until, ...endpointDocument(endpoint) },
          `${listOf(shown)}\n${KEEP_SECRET}`,
        );
      }),
    );
}
