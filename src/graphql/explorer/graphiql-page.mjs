// Runs in the browser, once GraphiQL is loaded: starts it with what the page brings along.
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
  // A key is not written down in the browser.
  shouldPersistHeaders: false,
  subscriptionsProtocol: "WS",
  // A WebSocket has no headers of its own: the key goes into its first message.
  connectionParams: () => JSON.parse(headers),
  onEditHeaders(text) {
    headers = text;
  },
});
document.title = "Waymark GraphiQL";
