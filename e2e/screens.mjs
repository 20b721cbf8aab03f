// What every look at the console needs: a browser, signing in, and each page on each screen.

import { chromium } from "playwright-core";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

export const settings = JSON.parse(process.argv[2]);
export const { base } = settings;
const { shots } = settings;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
export const browser = await chromium.launch({
  executablePath: "/usr/bin/chromium",
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
let wrong = 0, checked = 0;
export function check(ok, what) {
  checked++;
  if (!ok) { wrong++; console.log("wrong: " + what); }
}

// end closes the browser, and exits with what was found.
export async function end() {
  await browser.close();
  console.log(`${checked} checks, ${wrong} wrong`);
  process.exit(wrong ? 1 : 0);
}

export async function signIn(link, options = {}) {
  const context = await browser.newContext(options), page = await context.newPage();
  await page.goto(link);
  await page.getByRole("button", { name: "Sign in" }).click();
  check(page.url() === base + "/", "signing in leads to " + page.url());
  return { context, page, state: await context.storageState() };
}

const sizes = [{ width: 1280, height: 800 }, { width: 768, height: 1024 }, { width: 390, height: 844 }];

// eachScreen looks at each page at each size and in each theme: nothing for axe to find, nothing wider than
// the screen, no text in a picture too small or too large to read, no error.
export async function eachScreen(state, pages) {
  for (const viewport of sizes) for (const colorScheme of ["light", "dark"]) {
    const context = await browser.newContext({ storageState: state, viewport, colorScheme, bypassCSP: true });
    const page = await context.newPage();
    const where = () => `${page.url()} at ${viewport.width}, ${colorScheme}`;
    page.on("pageerror", (e) => check(false, `${where()}: ${e.message}`));
    page.on("console", (m) => m.type() === "error" && check(false, `${where()}: ${m.text()}`));
    for (const [name, path] of Object.entries(pages)) {
      await page.goto(base + path);
      if (!path.startsWith("/orders/")) await page.waitForFunction(() => document.getElementById("stamp").className === "live"); // a form does not follow
      if (shots) await page.screenshot({ path: `${shots}/console-${name}-${viewport.width}-${colorScheme}.png`, fullPage: viewport.width > 600 });
      await page.evaluate(axe);
      const found = await page.evaluate(() => axe.run());
      for (const v of found.violations) check(false, `${where()}: ${v.id}: ${v.nodes[0].html}`);
      check(found.passes.length > 10, `${where()}: axe found only ${found.passes.length} things to check`);
      check(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${where()} is wider than the screen`);
      const texts = await page.evaluate(() => [...document.querySelectorAll("svg.pic text")].filter((t) => t.getBoundingClientRect().width).map((t) => {
        const svg = t.ownerSVGElement, scale = svg.getBoundingClientRect().width / (svg.viewBox.baseVal.width || svg.width.baseVal.value);
        return parseFloat(getComputedStyle(t).fontSize) * scale;
      }));
      check(texts.every((px) => px >= 10.5 && px <= 16), `${where()}: text in a picture of ${texts.filter((px) => px < 10.5 || px > 16)} px`);
      if (["run", "connector", "provider"].includes(name)) check(texts.length > 0, `${where()}: no picture with text`);
    }
    await context.close();
  }
}
