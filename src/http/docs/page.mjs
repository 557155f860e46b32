/** In the browser: Swagger UI on this server's document, the table of contents beside it, and the colour scheme. */
const { prefix } = document.body.dataset;
const reference = document.getElementById("reference");
const contents = document.getElementById("contents");

const dark = matchMedia("(prefers-color-scheme: dark)");
const applyScheme = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
applyScheme();
dark.addEventListener("change", applyScheme);

// On a phone the table of contents waits until it is asked for.
const narrow = matchMedia("(max-width: 60rem)");
if (narrow.matches) contents.parentElement.open = false;

const response = await fetch(`${prefix}/openapi.json`);
const spec = await response.json();
const operations = operationsOf(spec.paths);
const webhooks = operationsOf(spec.webhooks);
const tags = spec.tags.map(({ name }) => name);

// Requests are tried on the server that shows the page, whatever its public address is.
spec.servers = [{ url: `${location.origin}${prefix}/v1` }];
// Swagger UI shows webhooks under a heading of their own, and their tag as one more that stands empty.
spec.tags = spec.tags.filter(({ name }) => operations.some((operation) => operation.tags[0] === name));
// The limits' headers are told with the successes; under every failure again they would bury it.
Object.values(spec.components.responses).forEach(dropLimits);
operations.flatMap(failuresOf).forEach(dropLimits);

const ui = globalThis.SwaggerUIBundle({
  spec,
  domNode: reference,
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  syntaxHighlight: { theme: "tomorrow-night" },
  validatorUrl: null,
  queryConfigEnabled: false,
});

for (const tag of tags) contents.append(section(tag));

function operationsOf(paths) {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ ...operation, method, path })),
  );
}

function failuresOf({ responses }) {
  return Object.entries(responses)
    .filter(([status]) => status >= "300")
    .map(([, failure]) => failure);
}

function dropLimits({ headers = {} }) {
  for (const name of Object.keys(headers)) if (name.includes("RateLimit")) delete headers[name];
}

/** What the table of contents says under `tag`. */
function section(tag) {
  const has = ({ tags: [first] }) => first === tag;
  const entries = [
    ...operations
      .filter(has)
      .map(({ operationId, summary, method }) => entry(tag, operationId, summary, method)),
    ...webhooks.filter(has).map(({ operationId, path }) => entry("webhooks", operationId, path, "event")),
  ];
  const items = entries.map((link) => element("li", {}, link));
  return element("section", {}, element("h2", {}, tag), element("ul", {}, ...items));
}

function entry(tag, operationId, name, badge) {
  const parts = [element("span", {}, name), element("b", { className: badge }, badge)];
  const link = element("a", { href: `#/${tag}/${operationId}` }, ...parts);
  link.addEventListener("click", (event) => {
    event.preventDefault();
    if (narrow.matches) contents.parentElement.open = false;
    show(["operations", tag, operationId]);
  });
  return link;
}

/** Opens an operation and goes to it. */
function show(where) {
  ui.layoutActions.show(["operations-tag", where[1]], true);
  ui.layoutActions.show(where, true);
  requestAnimationFrame(() => document.getElementById(where.join("-"))?.scrollIntoView());
}

function element(name, properties, ...children) {
  const created = Object.assign(document.createElement(name), properties);
  created.append(...children);
  return created;
}
