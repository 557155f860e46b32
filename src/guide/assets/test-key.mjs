/** Shows the test key of a reader who is signed in to the console in the samples. The key is stored in the tab only. */
import { addCopyButton, element } from "./elements.mjs";

const STORAGE_KEY = "waymark-guide-test-key";
/** What samples have where the reader's key belongs. */
const PLACEHOLDER = "wmk_…";
const LIFETIME_MS = 24 * 60 * 60 * 1_000;
const CREATE_KEY = `mutation CreateGuideKey($input: CreateApiKeyInput!) {
  result: createApiKey(input: $input) { apiKey { id } secret userErrors { message } }
}`;
const REVOKE_KEY = `mutation RevokeGuideKey($id: ID!) {
  result: revokeApiKey(id: $id) { userErrors { message } }
}`;

const { root } = document.documentElement.dataset;
const article = document.querySelector("article");
const firstSample = article.querySelector(".tabs, .code");
// A page about test mode has samples for a live key too, which a test key can't run.
const variable = article.textContent.includes("WAYMARK_TEST_KEY") ? "WAYMARK_TEST_KEY" : "WAYMARK_KEY";
const hasPlaceholder = samples().some((sample) => sample.textContent.includes(PLACEHOLDER));
const panel = element("section", { className: "sample-key", ariaLabel: "API key of the samples" });
firstSample.before(panel);
const stored = readStoredKey();
if (stored) showKey(stored);
else showOffer();

function showOffer() {
  const button = element("button", { type: "button" }, "Use a test key");
  const status = element("p", { role: "status" });
  button.addEventListener("click", async () => {
    button.disabled = true;
    status.replaceChildren("Creating a test key…");
    const result = await createKey();
    if (result.key) showKey(result.key);
    else status.replaceChildren(...result.failure);
    button.disabled = false;
  });
  const text = element("p", {}, "The samples read your API key from ", code(variable), ". ", button);
  panel.replaceChildren(text, status);
}

/** Returns `{key}`, or `{failure}`: what the reader can do. */
async function createKey() {
  const expiresAt = new Date(Date.now() + LIFETIME_MS).toISOString();
  const input = { name: "Samples of the guide", mode: "TEST", expiresAt };
  const { result, failure } = await callGraphql(CREATE_KEY, { input });
  if (failure) return { failure };
  return { key: { id: result.apiKey.id, secret: result.secret, expiresAt } };
}

/** Returns `{result}`, or `{failure}`: what the reader can do. */
async function callGraphql(query, variables) {
  try {
    const response = await fetch(`${root}../graphql`, {
      method: "POST",
      headers: { "content-type": "application/json", "apollo-require-preflight": "true" },
      body: JSON.stringify({ query, variables }),
    });
    if (response.status === 401) {
      const link = element("a", { href: `${root}../sign-in`, target: "_blank" }, "Sign in to the console");
      return { failure: [link, " as an owner or developer of your organisation, then try again here."] };
    }
    const { data, errors } = await response.json();
    const [problem] = errors ?? data.result.userErrors;
    if (problem) return { failure: [`The server refused: ${problem.message}.`] };
    return { result: data.result };
  } catch {
    return { failure: ["The server can’t be reached. Try again."] };
  }
}

function showKey(key) {
  const { secret, expiresAt } = key;
  sessionStorage.setItem(STORAGE_KEY, JSON.stringify(key));
  const revoke = element("button", { type: "button" }, "Revoke it");
  const status = element("p", { role: "status" });
  revoke.addEventListener("click", async () => {
    revoke.disabled = true;
    status.replaceChildren("Revoking the key…");
    const { failure } = await callGraphql(REVOKE_KEY, { id: key.id });
    revoke.disabled = false;
    if (failure) {
      status.replaceChildren("The key may still be valid. ", ...failure);
      return;
    }
    sessionStorage.removeItem(STORAGE_KEY);
    fillPlaceholders(secret, PLACEHOLDER);
    showOffer();
  });
  const until = new Date(expiresAt).toLocaleString("en-GB", { dateStyle: "long", timeStyle: "short" });
  const note = `Your test key sees only test data. It is valid until ${until} and stored in this tab only. `;
  const text = element("p", {}, note, revoke);
  panel.replaceChildren(text, status, ...(hasPlaceholder ? [] : [exportBlock(secret)]));
  fillPlaceholders(PLACEHOLDER, secret);
}

function exportBlock(secret) {
  const title = element("div", { className: "code-title" }, "Shell");
  const line = element("pre", { tabIndex: 0 }, code(`export ${variable}='${secret}'`));
  const block = element("div", { className: "code" }, title, line);
  addCopyButton(block);
  return block;
}

/** Replaces `from` in the samples of the page. */
function fillPlaceholders(from, to) {
  for (const sample of samples()) {
    const texts = document.createTreeWalker(sample, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replaceAll(from, to);
  }
}

function samples() {
  return [...article.querySelectorAll(":scope > .code code, .tabs code")];
}

function readStoredKey() {
  const key = JSON.parse(sessionStorage.getItem(STORAGE_KEY));
  return key && Date.parse(key.expiresAt) > Date.now() ? key : null;
}

function code(text) {
  return element("code", {}, text);
}
