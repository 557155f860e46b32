// Runs in the browser after GraphiQL has loaded, and starts it with the options in the page.
const root = document.querySelector("#root");
const { assets, ...options } = JSON.parse(root.dataset.options);
const workers = {
  editorWorkerService: "editor-worker.js",
  json: "json-worker.js",
  graphql: "graphql-worker.js",
};
let headers = options.headers;
Object.assign(options, readUrl(new URLSearchParams(location.search)));

globalThis.MonacoEnvironment = {
  globalAPI: false,
  getWorkerUrl: (_module, label) => new URL(`${assets}/${workers[label]}`, location.href).href,
};

globalThis.YogaGraphiQL.renderYogaGraphiQL(root, {
  ...options,
  title: "Waymark",
  logo: '<img alt="" src="' + document.querySelector("link[rel=icon]").href + '">',
  defaultQuery: options.query,
  // Do not store the API key in the browser.
  shouldPersistHeaders: false,
  subscriptionsProtocol: "WS",
  // Browsers cannot set headers on a WebSocket, so the key goes into connection_init.
  connectionParams: () => JSON.parse(headers),
  onEditHeaders(text) {
    headers = text;
  },
});
document.title = "Waymark GraphiQL";

/**
 * Returns the operation that a link puts into the editor; it is never run. Any site can make such a link, so headers are ignored,
 * and so are texts that a reader could not check: very long ones, and those with invisible characters.
 */
function readUrl(parameters) {
  const query = parameters.get("query");
  if (query === null) return {};
  if (!isReadable(query)) return { query: "# The link to this page has an operation that can't be shown.\n" };
  return { query, variables: readVariables(parameters.get("variables") ?? "") };
}

/** Returns variables for the editor; undefined if `text` is no JSON object. */
function readVariables(text) {
  try {
    const variables = isReadable(text) ? JSON.parse(text) : null;
    const isObject = typeof variables === "object" && variables !== null && !Array.isArray(variables);
    return isObject ? JSON.stringify(variables, null, 2) : undefined;
  } catch {
    return undefined;
  }
}

function isReadable(text) {
  return text.length <= 10_000 && !/[^\P{C}\n\r\t]/u.test(text);
}
