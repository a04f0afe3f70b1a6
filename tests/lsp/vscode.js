// Drives a VS Code in a headless browser: node vscode.js ADDRESS lint|trace|optimize FOLDER. Prints what it saw as JSON.
const path = require("node:path");
const { chromium } = require("playwright-core");

const [address, what, folder] = process.argv.slice(2);
const ROW = ".markers-panel .monaco-list-row";

async function open(page, name) {
  await page.goto(address);
  await page.locator(".explorer-folders-view .monaco-list-row", { hasText: name }).dblclick({ timeout: 60000 });
  await page.locator(".view-lines").first().click();
}

async function command(page, name) {
  await page.keyboard.press("F1");
  await page.locator(".quick-input-widget input").waitFor({ state: "visible" });
  await page.keyboard.type(name);
  await page.locator(".quick-input-list .monaco-list-row", { hasText: name }).first().click();
}

async function codes(page) {
  const rows = await page.locator(ROW).allInnerTexts();
  return rows.flatMap((row) => /\bTL\d+\b/.exec(row) ?? []);
}

async function lint(page) {
  await open(page, "train.py");
  await page.locator(".squiggly-warning").first().waitFor({ state: "attached", timeout: 60000 });
  await page.keyboard.press("Control+Shift+M");
  await page.locator(ROW, { hasText: "TL901" }).waitFor({ timeout: 30000 });
  const before = await codes(page);
  await page.screenshot({ path: path.join(folder, "findings.png") });
  await page.locator(".view-lines").first().click();
  await command(page, "torchlint: Fix All Safe Problems");
  await page.locator(ROW, { hasText: "TL901" }).waitFor({ state: "detached", timeout: 30000 });
  const after = await codes(page);
  await page.locator(".view-lines").first().click();
  await page.keyboard.press("Control+S");
  await page.waitForTimeout(1000);
  return { before, after };
}

const trace = (page) => run(page, "program.py", "Trace This File", "trace.png");
const optimize = (page) => run(page, "cpu.py", "Optimize This File", "optimize.png");

/** Runs a program by a command, and waits for the page that it writes. */
async function run(page, file, name, picture) {
  await open(page, file);
  await command(page, `torchlint: ${name}`);
  const outer = page.frameLocator("iframe.webview.ready").first();
  const body = outer.frameLocator("iframe#active-frame").locator("body");
  await body.locator("h1, h2").first().waitFor({ timeout: 240000 });
  await page.screenshot({ path: path.join(folder, picture) });
  return { page: await body.innerText() };
}

(async () => {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });
  const page = await browser.newPage({ viewport: { width: 1400, height: 850 } });
  try {
    const seen = await { lint, trace, optimize }[what](page);
    process.stdout.write(JSON.stringify(seen));
  } catch (error) {
    await page.screenshot({ path: path.join(folder, "failed.png") });
    throw error;
  } finally {
    await browser.close();
  }
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
