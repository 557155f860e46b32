/** The search dialog. Its script is loaded when a reader first opens it; its index a moment later. */
import { element } from "./elements.mjs";
import MiniSearch from "./minisearch.js";

const MAX_RESULTS = 8;
const { root } = document.documentElement.dataset;

const input = element("input", {
  type: "search",
  placeholder: "Search the guide",
  role: "combobox",
  ariaLabel: "Search the guide",
  ariaExpanded: "true",
  autocomplete: "off",
  spellcheck: false,
  maxLength: 200,
});
input.setAttribute("aria-controls", "search-results");
const list = element("div", { id: "search-results", role: "listbox", ariaLabel: "Results" });
const status = element("p", { role: "status" });
const dialog = element("dialog", { className: "search", ariaLabel: "Search the guide" }, input, list, status);
document.body.append(dialog);

let index = null;
let failure = null;
void loadIndex();

input.addEventListener("input", showResults);
input.addEventListener("keydown", (event) => {
  const options = [...list.children];
  const selected = options.findIndex(({ ariaSelected }) => ariaSelected === "true");
  if (event.key === "ArrowDown") select(options, selected + 1);
  else if (event.key === "ArrowUp") select(options, selected - 1);
  else if (event.key === "Enter") options[selected]?.click();
  else return;
  event.preventDefault();
});
dialog.addEventListener("click", (event) => {
  if (event.target === dialog) dialog.close();
});

export function openSearch() {
  if (!dialog.open) dialog.showModal();
  input.select();
  showResults();
}

async function loadIndex() {
  try {
    const response = await fetch(new URL("search.json", import.meta.url));
    index = MiniSearch.loadJSON(await response.text(), {
      fields: ["title", "page", "text"],
      storeFields: ["title", "page", "url", "excerpt"],
    });
  } catch {
    failure = "The search index could not be loaded. Reload the page to try again.";
  }
  showResults();
}

function showResults() {
  const query = input.value.trim();
  const options = { prefix: true, fuzzy: 0.15, boost: { title: 4, page: 2 }, combineWith: "AND" };
  const results = index === null || query === "" ? [] : index.search(query, options).slice(0, MAX_RESULTS);
  list.replaceChildren(...results.map(toOption));
  list.hidden = results.length === 0;
  status.textContent = statusOf(query, results);
  select([...list.children], 0);
}

function statusOf(query, results) {
  if (failure !== null) return failure;
  if (query === "") return "Type to search all pages.";
  if (index === null) return "Searching…";
  return results.length === 0 ? `No results for “${query}”. Try fewer or other words.` : "";
}

function toOption({ title, page, url, excerpt }, position) {
  const name = title === page ? title : `${page}: ${title}`;
  const parts = [element("b", {}, name), element("span", {}, excerpt)];
  const properties = { id: `search-result-${position}`, role: "option", href: root + url, tabIndex: -1 };
  const option = element("a", properties, ...parts);
  option.addEventListener("click", ({ ctrlKey, metaKey, shiftKey }) => {
    if (!ctrlKey && !metaKey && !shiftKey) dialog.close();
  });
  return option;
}

function select(options, position) {
  const selected = options[(position + options.length) % options.length];
  for (const option of options) option.ariaSelected = String(option === selected);
  if (selected) input.setAttribute("aria-activedescendant", selected.id);
  else input.removeAttribute("aria-activedescendant");
  selected?.scrollIntoView({ block: "nearest" });
}
