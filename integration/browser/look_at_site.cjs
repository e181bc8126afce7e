// Look at pages in headless Chromium, and print what was found as JSON.
//
// node look_at_site.cjs [--root FOLDER] [--search WORDS] [--pictures FOLDER] PAGE...
//
// A PAGE is a file, or a path below --root, which is then served on this machine. Every page is opened
// 1200 and 400 pixels wide, light and dark. Found are: what is wider than the window, errors of the
// console, requests that leave this machine, and violations of axe-core that are serious or critical.
// With --search, the words are looked for on ROOT/search.html. The exit code is 1 if anything was found.
// `integration/browser/look_at_site` installs what is needed first.
const fs = require("fs");
const http = require("http");
const path = require("path");
const { pathToFileURL } = require("url");
const { parseArgs } = require("util");
const puppeteer = require("puppeteer-core");

const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf-8");
const KINDS = {
  ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml",
  ".png": "image/png", ".json": "application/json", ".woff2": "font/woff2",
};

function serve(root) {
  const server = http.createServer((request, response) => {
    const name = decodeURIComponent(new URL(request.url, "http://localhost").pathname);
    const file = path.join(root, path.normalize(name));
    if (!fs.existsSync(file) || !fs.statSync(file).isFile()) {
      response.writeHead(name === "/favicon.ico" ? 204 : 404).end();
      return;
    }
    response.writeHead(200, { "Content-Type": KINDS[path.extname(file)] || "application/octet-stream" });
    fs.createReadStream(file).pipe(response);
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

// A tab in which nothing leaves this machine: what tries is recorded and refused.
async function tab(browser, width, theme) {
  const page = await browser.newPage();
  const found = { left: [], console: [] };
  await page.setViewport({ width, height: 900 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: theme }]);
  await page.setRequestInterception(true);
  page.on("request", (request) => {
    const url = new URL(request.url());
    const near = ["file:", "data:", "blob:"].includes(url.protocol) || url.hostname === "127.0.0.1";
    if (!near) found.left.push(request.url());
    near ? request.continue() : request.abort();
  });
  page.on("console", (message) => message.type() === "error" && found.console.push(message.text()));
  page.on("pageerror", (error) => found.console.push(String(error.stack || error)));
  return { page, found };
}

async function look(browser, name, address, width, theme, pictures) {
  const { page, found } = await tab(browser, width, theme);
  await page.goto(address, { waitUntil: "networkidle0", timeout: 60000 });
  const overflow = await page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    return Math.max(0, scrollWidth - clientWidth);
  });
  await page.evaluate(axe);
  const violations = await page.evaluate(async () => {
    const { violations } = await axe.run(document, { resultTypes: ["violations"] });
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(({ id, nodes }) => ({ id, count: nodes.length, first: nodes[0].html.slice(0, 160) }));
  });
  if (pictures) {
    const file = `${name.replace(/\W+/g, "-")}-${width}-${theme}.png`;
    await page.screenshot({ path: path.join(pictures, file) });
  }
  await page.close();
  return { page: name, width, theme, overflow, ...found, violations };
}

async function search(browser, address, words) {
  const { page, found } = await tab(browser, 1200, "light");
  await page.goto(`${address}/search.html?q=${encodeURIComponent(words)}`, { waitUntil: "networkidle0" });
  await page.waitForSelector("#search-results li", { timeout: 20000 }).catch(() => null);
  const results = await page.$$eval("#search-results li a", (links) => links.map((link) => link.textContent));
  await page.close();
  return { words, results: results.length, first: results.slice(0, 3), ...found };
}

async function main() {
  const text = { type: "string" };
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { root: text, pictures: text, search: { ...text, multiple: true } },
  });
  const server = values.root ? await serve(path.resolve(values.root)) : null;
  const base = server ? `http://127.0.0.1:${server.address().port}` : "";
  const executablePath = process.env.CHROMIUM || "/usr/bin/chromium";
  if (values.pictures) fs.mkdirSync(values.pictures, { recursive: true });
  const browser = await puppeteer.launch({ executablePath, args: ["--no-sandbox"] });
  const pages = [];
  for (const name of positionals) {
    const address = server ? `${base}/${name}` : pathToFileURL(path.resolve(name)).href;
    for (const width of [1200, 400]) {
      for (const theme of ["light", "dark"]) {
        pages.push(await look(browser, name, address, width, theme, values.pictures));
      }
    }
  }
  const searches = [];
  for (const words of values.search || []) searches.push(await search(browser, base, words));
  await browser.close();
  if (server) server.close();
  const bad = pages.filter((one) => one.overflow || one.left.length || one.console.length || one.violations.length);
  const lost = searches.filter((one) => !one.results || one.left.length || one.console.length);
  const views = pages.length;
  console.log(JSON.stringify({ views, faults: bad.length + lost.length, pages: bad, searches }, null, 1));
  process.exitCode = bad.length + lost.length ? 1 : 0;
}

main().catch((error) => {
  console.error(error);
  process.exit(2);
});
