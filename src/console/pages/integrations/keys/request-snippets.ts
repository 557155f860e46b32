/** Example requests for a new key, which fit this server and the key's permissions. */
import type { Scope } from "../../../generated/api-keys.ts";

export interface Snippet {
  id: "curl" | "graphql" | "javascript";
  label: string;
  code: string;
}

interface SnippetOptions {
  /** Returns the URL of a path on this server, such as `https://example.com/v1/jobs`. */
  toUrl: (path: string) => string;
  key: string;
  scopes: readonly Scope[];
}

const VIEWER_QUERY = "{ viewer { kind scopes } }";
const JOBS_QUERY = "{ jobs(first: 2) { nodes { markingNumber normalizedStatus } } }";

export function keySnippets(options: SnippetOptions): Snippet[] {
  const hasScope = (scope: Scope): boolean => options.scopes.includes(scope);
  const graphql: Snippet = {
    id: "graphql",
    label: "GraphQL",
    code: graphqlRequest(options, hasScope("JOBS_READ") ? JOBS_QUERY : VIEWER_QUERY),
  };
  if (hasScope("JOBS_READ")) {
    return [
      { id: "curl", label: "curl", code: readRequest(options) },
      graphql,
      { id: "javascript", label: "JavaScript", code: fetchRequest(options) },
    ];
  }
  return hasScope("JOBS_WRITE")
    ? [{ id: "curl", label: "curl", code: dryRunRequest(options) }, graphql]
    : [graphql];
}

function readRequest({ toUrl, key }: SnippetOptions): string {
  return `curl -H "x-api-key: ${key}" \\\n  "${toUrl("v1/jobs?page_size=2")}"`;
}

/** A dry run, which changes nothing. */
function dryRunRequest({ toUrl, key }: SnippetOptions): string {
  return [
    `curl -X PATCH -H "x-api-key: ${key}" \\`,
    `  -H "content-type: application/json" \\`,
    `  -d '{"instructions": "Ring twice"}' \\`,
    `  "${toUrl("v1/jobs/by-marking/YOUR-MARKING-NUMBER?dry_run=true")}"`,
  ].join("\n");
}

function graphqlRequest({ toUrl, key }: SnippetOptions, query: string): string {
  return [
    `curl -H "x-api-key: ${key}" \\`,
    `  -H "content-type: application/json" \\`,
    `  -d '${JSON.stringify({ query })}' \\`,
    `  "${toUrl("graphql")}"`,
  ].join("\n");
}

/** Reads the key from the environment, so that it is not committed to a repository. */
function fetchRequest({ toUrl, key }: SnippetOptions): string {
  return `// WAYMARK_KEY=${key} node jobs.mjs
const response = await fetch("${toUrl("v1/jobs?page_size=2")}", {
  headers: { "x-api-key": process.env.WAYMARK_KEY },
});
const { success, data, error, request_id } = await response.json();
if (!success) throw new Error(\`\${error.message} (\${request_id})\`);
console.log(data);`;
}
