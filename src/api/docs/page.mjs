/** Browser script of the reference page: starts Swagger UI and builds the table of contents. */
const { prefix } = document.body.dataset;
const reference = document.getElementById("reference");
const contents = document.getElementById("contents");

const dark = matchMedia("(prefers-color-scheme: dark)");
const applyScheme = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
applyScheme();
dark.addEventListener("change", applyScheme);

// On a phone the table of contents starts closed.
const narrow = matchMedia("(max-width: 60rem)");
if (narrow.matches) contents.parentElement.open = false;

const response = await fetch(`${prefix}/openapi.json`);
const spec = await response.json();
const operations = operationsOf(spec.paths);
const webhooks = operationsOf(spec.webhooks);
const tags = spec.tags.map(({ name }) => name);

// Send requests to the server of this page instead of its public URL.
spec.servers = [{ url: `${location.origin}${prefix}/v1` }];
// Swagger UI shows webhooks in a separate section and would show their tag as an empty one.
spec.tags = spec.tags.filter(({ name }) => operations.some((operation) => operation.tags[0] === name));
// Show the rate limit headers only for successful responses, to keep errors readable.
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

/** Returns the section of `tag` in the table of contents. */
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

/** Expands an operation and scrolls to it. */
function show(operationPath) {
  ui.layoutActions.show(["operations-tag", operationPath[1]], true);
  ui.layoutActions.show(operationPath, true);
  requestAnimationFrame(() => document.getElementById(operationPath.join("-"))?.scrollIntoView());
}

function element(name, properties, ...children) {
  const created = Object.assign(document.createElement(name), properties);
  created.append(...children);
  return created;
}
