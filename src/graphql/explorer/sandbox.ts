/** Apollo Sandbox, for a browser that is pointed at the endpoint: Apollo's own page, with our examples and no telemetry. */
import type { ApolloServerPlugin, GraphQLServerContext } from "@apollo/server";
import { ApolloServerPluginLandingPageLocalDefault } from "@apollo/server/plugin/landingPage/default";
import type { Response } from "express";
import { invariant } from "../../platform/errors.ts";
import { exampleDocument } from "./example-document.ts";

/** The page says itself what it loads, from Apollo's servers; this is what it leaves open. */
const CONTENT_SECURITY_POLICY =
  "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Answers with the page; `key` is sent along with every operation that is run there. */
export async function sendSandbox(response: Response, key: string | null): Promise<void> {
  response.setHeader("Content-Security-Policy", CONTENT_SECURITY_POLICY);
  response.type("html").send(await sandboxPage(key));
}

/** Apollo renders it through a plugin; made for each request, since the key comes after the server has begun. */
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
  invariant(page, "Apollo's landing page renders itself");
  return typeof page.html === "string" ? page.html : await page.html();
}
