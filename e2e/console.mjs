// Uses the console as people do, in Chromium: node console.mjs SETTINGS, as JSON. Prints
// a line for each thing that is not as it should be, and exits 1 if there is one.

import { chromium } from "playwright-core";
import { readFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";

const { base, operator, viewer, pages, collect, args, shots } = JSON.parse(process.argv[2]);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const browser = await chromium.launch({
  executablePath: "/usr/bin/chromium",
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
let wrong = 0, checked = 0;
function check(ok, what) {
  checked++;
  if (!ok) { wrong++; console.log("wrong: " + what); }
}

async function signIn(link, options = {}) {
  const context = await browser.newContext(options), page = await context.newPage();
  await page.goto(link);
  await page.getByRole("button", { name: "Sign in" }).click();
  check(page.url() === base + "/", "signing in leads to " + page.url());
  return { context, page, state: await context.storageState() };
}
const ana = await signIn(operator), eye = await signIn(viewer);

// The page of an account has the hash of the account in its address.
await ana.page.goto(base + "/providers");
pages.provider = await ana.page.locator("main a[href*='/providers/acme']").first().getAttribute("href");

// Each page at each size and in each theme: nothing for axe to find, nothing wider than
// the screen, no text in a picture too small or too large to read, no error.
const sizes = [{ width: 1280, height: 800 }, { width: 768, height: 1024 }, { width: 390, height: 844 }];
for (const viewport of sizes) for (const colorScheme of ["light", "dark"]) {
  const context = await browser.newContext({ storageState: ana.state, viewport, colorScheme, bypassCSP: true });
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

// By keyboard alone: go to the gaps, open the first, ask for help and close it.
{
  const { page } = ana;
  await page.goto(base + "/");
  await page.keyboard.press("Tab");
  check(await page.evaluate(() => document.activeElement.className === "skip"), "the first stop of Tab is the skip link");
  await page.keyboard.press("g");
  await page.keyboard.press("g");
  await page.waitForURL(base + "/gaps");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.waitForURL(base + "/gaps/g_*");
  await page.keyboard.press("?");
  check(await page.locator("#keys").evaluate((d) => d.open), "? opens the help");
  await page.keyboard.press("Escape");
  check(!await page.locator("#keys").evaluate((d) => d.open), "Esc closes the help");
  await page.keyboard.press(".");
  check((await page.locator("#stamp").textContent()).startsWith("Held"), ". holds the page");
  await page.keyboard.press("t");
  await page.waitForFunction(() => document.documentElement.dataset.theme === "light");
  await page.keyboard.press("t");
  await page.waitForFunction(() => document.documentElement.dataset.theme === "dark");
  await page.goto(base + "/gaps");
  await page.keyboard.press("/");
  await page.keyboard.type("t");
  check(await page.locator("#q").inputValue() === "t" && await page.evaluate(() => !document.documentElement.dataset.theme === false), "a letter in a field is no shortcut");
}

// Without JavaScript: all pages, the theme, and an order.
{
  const context = await browser.newContext({ storageState: ana.state, javaScriptEnabled: false }), page = await context.newPage();
  for (const path of Object.values(pages)) {
    const answer = await page.goto(base + path);
    check(answer.status() === 200 && await page.locator("h1").count() === 1, `without JavaScript ${path} is ${answer.status()}`);
  }
  await page.goto(base + "/connectors/tickets");
  await page.getByRole("link", { name: "Pause…" }).click();
  await page.getByLabel("Why").fill("they migrate");
  await page.getByRole("button", { name: "Pause" }).click();
  check((await page.locator("main").textContent()).includes("Paused: no run of tickets begins"), "without JavaScript an order says what it did");
  await context.close();
}

// A page that is open follows: what the command line changes is on it, and what is being
// typed stays.
{
  const context = await browser.newContext({ storageState: ana.state }), page = await context.newPage();
  await page.goto(base + "/connectors/tickets");
  await page.getByText("paused by", { exact: false }).first().waitFor();
  await page.waitForFunction(() => document.getElementById("stamp").className === "live");
  execFileSync(collect, ["unpause", "tickets", "--reason", "they are done", ...args]);
  await page.getByRole("link", { name: "Pause…" }).waitFor({ timeout: 20000 });
  await context.close();
}

// Two operators see the same. The second is told that the first came before, and keeps
// what was typed.
{
  const ben = await browser.newContext({ storageState: ana.state }), second = await ben.newPage();
  await second.goto(base + "/orders/pause?connector=tickets");
  await ana.page.goto(base + "/orders/pause?connector=tickets");
  await ana.page.getByLabel("Why").fill("first");
  await ana.page.getByRole("button", { name: "Pause" }).click();
  await second.getByLabel("Why").fill("second");
  await second.getByRole("button", { name: "Pause" }).click();
  check((await second.locator("main").textContent()).includes("is paused already; nothing was changed"), "the second order says that the first came before");

  await second.goto(base + "/orders/unpause?connector=tickets");
  await ana.page.goto(base + "/orders/unpause?connector=tickets");
  execFileSync(collect, ["unpause", "tickets", "--reason", "now", ...args]);
  execFileSync(collect, ["pause", "tickets", "--reason", "again", ...args]);
  await second.getByLabel("Why").fill("what I saw is over");
  await second.getByRole("button", { name: "Unpause" }).click();
  check((await second.locator("main").textContent()).includes("Things have changed since this form was made"), "a stale order is refused");
  check(await second.getByLabel("Why").inputValue() === "what I saw is over", "a stale order keeps what was typed");
  await ben.close();
}

// A viewer sees no order, and gives none.
check(await eye.page.goto(base + "/connectors/tickets") && await eye.page.getByRole("link", { name: "pause…" }).count() === 0, "a viewer has no button");
check((await eye.page.goto(base + "/orders/pause?connector=tickets")).status() === 403, "a viewer's order is refused");

await browser.close();
console.log(`${checked} checks, ${wrong} wrong`);
process.exit(wrong ? 1 : 0);
