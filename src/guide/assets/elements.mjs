/** Elements that the scripts of the guide add to a page. */

/** Sets texts only as text: nothing of a query, a page or a response becomes HTML. */
export function element(name, properties, ...children) {
  const created = Object.assign(document.createElement(name), properties);
  created.append(...children);
  return created;
}

/** Adds a button that copies the code of `block`. */
export function addCopyButton(block) {
  const button = element("button", { className: "copy", type: "button" }, "Copy");
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(block.querySelector("code").textContent);
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 2_000);
  });
  block.append(button);
}
