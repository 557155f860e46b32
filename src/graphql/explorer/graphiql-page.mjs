// Runs in the browser after GraphiQL has loaded, and starts it with the options in the page.
const root = document.querySelector("#root");
const { assets, ...options } = JSON.parse(root.dataset.options);
const workers = {
  editorWorkerService: "editor-worker.js",
  json: "json-worker.js",
  graphql: "graphql-worker.js",
};
let headers = options.headers;

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
