// Looks at the workers of a fleet as people do, in Chromium: node fleet.mjs SETTINGS, as
// JSON. Prints a line for each thing that is not as it should be, and exits 1 if there is one.

import { execFileSync } from "node:child_process";
import { base, browser, check, end, eachScreen, settings, signIn } from "./screens.mjs";

const { operator, collect, args, worker } = settings;
const ana = await signIn(operator);

// By keyboard alone, from the first page to the workers.
const { page } = ana;
await page.goto(base + "/");
const link = page.getByRole("link", { name: "Fleet" }).first();
for (let i = 0; i < 30 && !await link.evaluate((l) => l === document.activeElement); i++) await page.keyboard.press("Tab");
await page.keyboard.press("Enter");
await page.waitForURL(base + "/fleet");
const text = async (of) => (await of.locator("main").textContent()).replace(/\s+/g, " ");
const shown = await text(page);
const rows = (section) => page.locator(`section:has(h2:text("${section}")) tbody tr`).count();
check(await rows("Workers") === 2, "two workers are shown: " + shown);
check(await rows("In hand") === 1, "the turn in hand is shown: " + shown);
check(shown.includes("0 3 * * MON-SUN") && shown.includes("one late turn"), "the schedule is shown: " + shown);

await eachScreen(ana.state, { fleet: "/fleet" });

// Without JavaScript it says the same.
{
  const context = await browser.newContext({ storageState: ana.state, javaScriptEnabled: false }), still = await context.newPage();
  check((await still.goto(base + "/fleet")).status() === 200 && (await text(still)).includes("slow"), "without JavaScript the turn is shown");
  await context.close();
}

// It follows: an order of the command line comes, and when a worker is
// killed, the one that is left has its turn.
await page.waitForFunction(() => document.getElementById("stamp").className === "live");
execFileSync(collect, ["enqueue", "later", "--reason", "ana asks for it", ...args.flags], { cwd: args.cwd });
await page.getByText("ana asks for it").waitFor({ timeout: 20000 });
process.kill(worker, "SIGKILL");
await page.waitForFunction(() => {
  const [workers, hand] = [...document.querySelectorAll("#fleet section")].map((s) => s.querySelectorAll("tbody tr"));
  return workers.length === 1 && hand.length > 0 && [...hand].every((turn) => turn.textContent.includes(workers[0].querySelector("th").textContent));
}, null, { timeout: 60000 });
await end();
