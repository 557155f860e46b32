/** Requests to try a new key with, ready to run: of this server, and of what the key may do. */
import type { Scope } from "../../../generated/api-keys.ts";

export interface Snippet {
  id: "curl" | "graphql" | "javascript";
  label: string;
  code: string;
}

interface SnippetOptions {
  /** An address of this server, such as `https://example.com/v1/jobs`. */
  toUrl: (path: string) => string;
  key: string;
  scopes: readonly Scope[];
}

const VIEWER_QUERY = "{ viewer { kind scopes } }";
const JOBS_QUERY = "{ jobs(first: 2) { nodes { markingNumber normalizedStatus } } }";

export function keySnippets(asked: SnippetOptions): Snippet[] {
  const hasScope = (scope: Scope): boolean => asked.scopes.includes(scope);
  const graphql: Snippet = {
    id: "graphql",
    label: "GraphQL",
    code: graphqlRequest(asked, hasScope("JOBS_READ") ? JOBS_QUERY : VIEWER_QUERY),
  };
  if (hasScope("JOBS_READ")) {
    return [
      { id: "curl", label: "curl", code: readRequest(asked) },
      graphql,
      { id: "javascript", label: "JavaScript", code: fetchRequest(asked) },
    ];
  }
  return hasScope("JOBS_WRITE")
    ? [{ id: "curl", label: "curl", code: dryRunRequest(asked) }, graphql]
    : [graphql];
}

function readRequest({ toUrl, key }: SnippetOptions): string {
  return `curl -H "x-api-key: ${key}" \\\n  "${toUrl("v1/jobs?page_size=2")}"`;
}

/** It changes nothing: `dry_run` answers as if it had. */
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

/** The key comes from the environment: what is written into a program ends in its repository. */
function fetchRequest({ toUrl, key }: SnippetOptions): string {
  return `// WAYMARK_KEY=${key} node jobs.mjs
const response = await fetch("${toUrl("v1/jobs?page_size=2")}", {
  headers: { "x-api-key": process.env.WAYMARK_KEY },
});
const { success, data, error, request_id } = await response.json();
if (!success) throw new Error(\`\${error.message} (\${request_id})\`);
console.log(data);`;
}
