// Look at pages: node look_at_results.mjs CHROMIUM FOLDER PAGE... prints JSON with what is wrong.
//
// Screenshots are written to the folder. Needs puppeteer-core and axe-core beside this file.
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import puppeteer from "puppeteer-core";

const [chromium, folder, ...pages] = process.argv.slice(2);
const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const SIZES = [[1200, 800], [400, 800]];
const SCHEMES = ["light", "dark"];

// In the page: what is wider than the window, or drawn outside of its drawing.
function cutOff() {
  const root = document.scrollingElement, found = [];
  if (root.scrollWidth > root.clientWidth) found.push(`the page scrolls to ${root.scrollWidth} px`);
  const scrolls = (node) => node.closest(".scroll, pre") !== null;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (!node.data.trim() || scrolls(parent)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const box = range.getBoundingClientRect(), drawing = parent.closest("svg");
    if (!box.width) continue;
    const limits = drawing ? drawing.getBoundingClientRect() : { left: 0, right: root.clientWidth };
    if (box.left < limits.left - 1 || box.right > limits.right + 1)
      found.push(`cut off: ${node.data.trim().slice(0, 60)}`);
  }
  for (const region of document.querySelectorAll(".scroll")) {
    if (region.tabIndex < 0) found.push("a table that scrolls cannot be reached by keys");
  }
  return found;
}

async function look(browser, page, [width, height], scheme, scripts) {
  const tab = await browser.newPage(), found = [];
  tab.on("console", (message) => found.push(`console: ${message.text()}`));
  tab.on("pageerror", (error) => found.push(`error: ${error.message}`));
  tab.on("request", (request) => {
    if (!/^(file|data):/.test(request.url())) found.push(`request: ${request.url()}`);
  });
  await tab.setViewport({ width, height });
  await tab.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await tab.setJavaScriptEnabled(scripts);
  await tab.goto(pathToFileURL(page).href, { waitUntil: "networkidle0" });
  const image = await tab.screenshot({ fullPage: true, captureBeyondViewport: true });
  const digest = createHash("sha256").update(image).digest("hex");
  if (scripts) {
    const name = `${basename(page, ".html")}-${width}-${scheme}.png`;
    await tab.screenshot({ path: join(folder, name), fullPage: true });
    found.push(...(await tab.evaluate(cutOff)));
    await tab.evaluate(axe);
    const { violations } = await tab.evaluate(() => axe.run(document));
    for (const one of violations)
      found.push(`axe, ${one.impact}: ${one.id}: ${one.nodes[0].html.slice(0, 120)}`);
  }
  await tab.close();
  return { found, digest };
}

const browser = await puppeteer.launch({
  executablePath: chromium,
  args: ["--no-sandbox", "--disable-gpu", "--hide-scrollbars"],
});
const report = {};
for (const page of pages) {
  for (const size of SIZES) {
    for (const scheme of SCHEMES) {
      const scripted = await look(browser, page, size, scheme, true);
      const plain = await look(browser, page, size, scheme, false);
      const found = [...scripted.found, ...plain.found];
      if (scripted.digest !== plain.digest) found.push("without scripts it looks different");
      report[`${basename(page)} at ${size.join(" x ")}, ${scheme}`] = [...new Set(found)];
    }
  }
}
await browser.close();
console.log(JSON.stringify(report, null, 1));
