/** The browser script of the guide: tabs, copy buttons, the contents on phones, the colour scheme, and on demand search and test keys. */
import { addCopyButton, element } from "./elements.mjs";

const LANGUAGE_KEY = "waymark-guide-language";
const SCHEME_KEY = "waymark-color-scheme";

document.querySelectorAll(".tabs").forEach(addTabs);
document.querySelectorAll(".code").forEach(addCopyButton);
if (matchMedia("(max-width: 52rem)").matches) document.querySelector(".contents details").open = false;
addSchemeButton();
addSearch();
if (document.querySelector("article").textContent.includes("WAYMARK_KEY")) void import("./test-key.mjs");

/** Shows one code block of `group` at a time. The choice applies to all groups, and to later pages. */
function addTabs(group, groupIndex) {
  const panels = [...group.querySelectorAll(".code")];
  const list = element("div", { className: "tab-list", role: "tablist", ariaLabel: "Language" });
  for (const panel of panels) {
    const { language } = panel.dataset;
    panel.id = `code-${groupIndex}-${language}`;
    panel.role = "tabpanel";
    const tab = element(
      "button",
      { type: "button", role: "tab" },
      panel.querySelector(".code-title").textContent,
    );
    tab.dataset.language = language;
    tab.setAttribute("aria-controls", panel.id);
    tab.addEventListener("click", () => {
      localStorage.setItem(LANGUAGE_KEY, language);
      document.querySelectorAll(".tabs").forEach(selectLanguage);
    });
    list.append(tab);
  }
  list.addEventListener("keydown", (event) => moveFocus(event, [...list.children]));
  group.prepend(list);
  group.dataset.ready = "";
  selectLanguage(group);
}

function selectLanguage(group) {
  const panels = [...group.querySelectorAll(".code")];
  const wanted = localStorage.getItem(LANGUAGE_KEY);
  const selected = panels.find(({ dataset }) => dataset.language === wanted) ?? panels[0];
  for (const panel of panels) panel.hidden = panel !== selected;
  for (const tab of group.querySelectorAll("[role=tab]")) {
    const isSelected = tab.dataset.language === selected.dataset.language;
    tab.ariaSelected = String(isSelected);
    tab.tabIndex = isSelected ? 0 : -1;
  }
}

function moveFocus(event, tabs) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (step === undefined) return;
  const index = tabs.indexOf(document.activeElement);
  const next = tabs[(index + step + tabs.length) % tabs.length];
  next.focus();
  next.click();
}

/** Steps through the schemes of the console's switch, and shares its choice. */
function addSchemeButton() {
  const names = { auto: "System colours", light: "Light colours", dark: "Dark colours" };
  const order = Object.keys(names);
  const button = element("button", { className: "scheme-button", type: "button" });
  const show = () => (button.textContent = names[document.documentElement.dataset.scheme] ?? names.auto);
  button.addEventListener("click", () => {
    const next = order[(order.indexOf(document.documentElement.dataset.scheme) + 1) % order.length];
    localStorage.setItem(SCHEME_KEY, next);
    document.documentElement.dataset.scheme = next;
    show();
  });
  show();
  document.querySelector("main footer").append(button);
}

function addSearch() {
  let search;
  const open = async () => {
    search ??= await import("./search.mjs");
    search.openSearch();
  };
  for (const button of document.querySelectorAll(".search-button")) {
    button.hidden = false;
    button.addEventListener("click", () => void open());
  }
  document.addEventListener("keydown", (event) => {
    const isTyping = /^(input|textarea|select)$/i.test(event.target.tagName);
    const isShortcut =
      (event.key === "k" && (event.ctrlKey || event.metaKey)) || (event.key === "/" && !isTyping);
    if (!isShortcut) return;
    event.preventDefault();
    void open();
  });
}
