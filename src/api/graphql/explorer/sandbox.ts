/** Apollo Sandbox, shown to browsers that open the GraphQL endpoint: with our example operations and without telemetry. */
import { readFileSync } from "node:fs";
import type { ApolloServerPlugin, GraphQLServerContext } from "@apollo/server";
import { ApolloServerPluginLandingPageLocalDefault } from "@apollo/server/plugin/landingPage/default";
import type { Response } from "express";
import { invariant } from "../../../core/errors.ts";

/** Example operations that both explorers show first. */
export const exampleDocument = readFileSync(new URL("./examples.graphql", import.meta.url), "utf8");

/** Adds to the policy in the page itself, which covers what it loads from Apollo's servers. */
const CONTENT_SECURITY_POLICY =
  "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Sends the page. The page sends `key` with every operation. */
export async function sendSandbox(response: Response, key: string | null): Promise<void> {
  response.setHeader("Content-Security-Policy", CONTENT_SECURITY_POLICY);
  response.type("html").send(await sandboxPage(key));
}

/** Creates Apollo's landing page plugin per request, because the key is set after the server has started. */
async function sandboxPage(key: string | null): Promise<string> {
  const plugin: ApolloServerPlugin = ApolloServerPluginLandingPageLocalDefault({
    document: exampleDocument,
    embed: {
      runTelemetry: false,
      endpointIsEditable: false,
      initialState: { pollForSchemaUpdates: false, sharedHeaders: key === null ? {} : { "x-api-key": key } },
    },
  });
  const listener = await plugin.serverWillStart?.({} as GraphQLServerContext);
  const page = await listener?.renderLandingPage?.();
  invariant(page, "the landing page plugin has renderLandingPage");
  return typeof page.html === "string" ? page.html : await page.html();
}
