// Names for screen readers, which the theme leaves out or hides.
document.addEventListener("DOMContentLoaded", () => {
  for (const button of document.querySelectorAll(".search-button__button")) {
    button.removeAttribute("aria-label"); // its text says "Search"
  }
  for (const summary of document.querySelectorAll("nav details > summary")) {
    const entry = summary.closest("li").querySelector("a");
    summary.setAttribute("aria-label", `Pages below ${entry.textContent.trim()}`);
  }
});
