/** Sends GraphQL requests over HTTP. */
import type { AppInstance } from "../app/app-instance.ts";

export interface GraphqlError {
  message: string;
  path?: (string | number)[];
  extensions: { code: string; requestId?: string; problems?: { field: string; message: string }[] };
}

export interface GraphqlResponse {
  status: number;
  headers: Headers;
  // Tests read data of any shape.
  // oxlint-disable-next-line typescript/no-explicit-any
  data: any;
  errors: GraphqlError[] | undefined;
  /** The unparsed body. */
  text: string;
}

export interface GraphqlRequestOptions {
  key?: string | undefined;
  variables?: Record<string, unknown>;
  headers?: Record<string, string>;
}

export async function graphql(
  { url }: Pick<AppInstance, "url">,
  query: string,
  { key, variables, headers = {} }: GraphqlRequestOptions = {},
): Promise<GraphqlResponse> {
  const response = await fetch(`${url}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json", ...(key && { "x-api-key": key }), ...headers },
    body: JSON.stringify({ query, variables }),
  });
  const text = await response.text();
  const { data, errors } = JSON.parse(text) as { data?: unknown; errors?: GraphqlError[] };
  return { status: response.status, headers: response.headers, data, errors, text };
}

/** Returns the data, or throws if the response has errors. */
export async function queryData(
  app: Pick<AppInstance, "url">,
  query: string,
  options: GraphqlRequestOptions,
): Promise<GraphqlResponse["data"]> {
  const { data, errors } = await graphql(app, query, options);
  if (errors) throw new Error(`The GraphQL response has errors: ${JSON.stringify(errors)}`);
  return data;
}
