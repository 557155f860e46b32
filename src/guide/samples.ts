/** The GraphQL operations in code blocks of the guide, and the links that open them in an explorer. */
import { Kind, parse, print, type OperationDefinitionNode } from "graphql";
import type { Token } from "markdown-it";
import { escapeHtml } from "../core/escape-html.ts";
import { invariant } from "../core/errors.ts";
import { SAMPLE_BASE_URL } from "./placeholders.ts";

export interface Sample {
  kind: `${OperationDefinitionNode["operation"]}`;
  document: string;
  /** Null if the operation has none. */
  variables: object | null;
}

interface RequestBody {
  query: string;
  variables?: object;
}

/** The JSON that a curl command sends, as an argument or as a here-document. */
const CURL_BODY = / -d (?:'(?<argument>\{.+?\})'$|@- <<'BODY'\n(?<document>.+?)\nBODY$)/ms;

/**
 * Returns the operation of a code block: of one in GraphQL, or of a curl command that sends one. Null if it has none. `next` is the
 * token that follows; if it is a block of JSON, it has the variables.
 */
export function readSample(token: Token, next: Token | undefined): Sample | null {
  if (token.type !== "fence") return null;
  if (token.info === "graphql") {
    const hasVariables = next?.type === "fence" && next.info === "json";
    return toSample(token.content.trim(), hasVariables ? (JSON.parse(next.content) as object) : null);
  }
  if (token.info !== "sh" || !token.content.includes("/graphql")) return null;
  const body = CURL_BODY.exec(token.content)?.groups;
  if (!body) return null;
  const { query, variables } = JSON.parse(body["argument"] ?? body["document"] ?? "") as RequestBody;
  return toSample(print(parse(query)), variables ?? null);
}

function toSample(document: string, variables: object | null): Sample {
  const [operation, ...others] = parse(document).definitions;
  invariant(
    operation?.kind === Kind.OPERATION_DEFINITION && others.length === 0,
    "a sample is one operation",
  );
  return { kind: operation.operation, document, variables };
}

/**
 * Returns the links that open `sample` in GraphiQL and in Apollo Sandbox. `graphiqlUrl` is the URL of GraphiQL in the page. The
 * server removes the link to Sandbox in production.
 */
export function explorerLinks({ document, variables }: Sample, graphiqlUrl: string): string {
  const json = variables && JSON.stringify(variables, null, 2);
  const graphiql = `${graphiqlUrl}?${toQuery({ query: document, variables: json })}`;
  const headers = JSON.stringify({ "x-api-key": "your key" });
  // The server replaces the base URL, so it is not encoded.
  const sandbox = `https://studio.apollographql.com/sandbox/explorer?endpoint=${SAMPLE_BASE_URL}/graphql&${toQuery({ document, variables: json, headers })}`;
  return `<p class="explorers"><a href="${escapeHtml(graphiql)}">Open in GraphiQL</a><a class="sandbox" href="${escapeHtml(sandbox)}">Open in Apollo Sandbox</a></p>`;
}

/** Encodes a URL query without the parameters that are null, and spaces as `%20`, which every explorer decodes. */
function toQuery(parameters: Readonly<Record<string, string | null>>): string {
  return Object.entries(parameters)
    .flatMap(([name, value]) => (value === null ? [] : `${name}=${encodeURIComponent(value)}`))
    .join("&");
}
