/** Applies the colour scheme chosen in the guide or the console before the page is painted. */
let scheme = null;
try {
  scheme = localStorage.getItem("waymark-color-scheme");
} catch {
  // Storage is blocked: use the scheme of the system.
}
document.documentElement.dataset.scheme = scheme ?? "auto";
