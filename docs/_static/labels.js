// Names for screen readers, which the theme leaves out or hides.
document.addEventListener("DOMContentLoaded", () => {
  for (const button of document.querySelectorAll(".search-button__button")) {
    // As the text is, which narrow screens hide.
    const text = button.textContent.trim().replace(/\s+/g, " ");
    button.setAttribute("aria-label", text || "Search");
  }
  for (const summary of document.querySelectorAll("nav details > summary")) {
    const entry = summary.closest("li").querySelector("a");
    summary.setAttribute("aria-label", `Pages below ${entry.textContent.trim()}`);
  }
});
