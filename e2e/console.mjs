// Uses the console as people do, in Chromium: node console.mjs SETTINGS, as JSON. Prints
// a line for each thing that is not as it should be, and exits 1 if there is one.

import { execFileSync } from "node:child_process";
import { base, browser, check, end, eachScreen, settings, signIn } from "./screens.mjs";

const { operator, viewer, pages, collect, args } = settings;
const ana = await signIn(operator), eye = await signIn(viewer);

// The page of an account has the hash of the account in its address.
await ana.page.goto(base + "/providers");
pages.provider = await ana.page.locator("main a[href*='/providers/acme']").first().getAttribute("href");

await eachScreen(ana.state, pages);

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

await end();
