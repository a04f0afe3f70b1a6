/** Programs that are run under observation, as tasks; the page that they write is opened when they end. */

import * as fs from "node:fs/promises";
import * as os from "node:os";
import * as path from "node:path";
import * as vscode from "vscode";

import { resolve } from "./command";

const TYPE = "torchlint";

interface Definition extends vscode.TaskDefinition {
  readonly task: "trace" | "optimize";
  readonly file: string;
  readonly options?: readonly string[];
}

/** Makes tasks of what `tasks.json` says. */
export class Provider implements vscode.TaskProvider {
  constructor(private readonly storage: vscode.Uri) {}

  provideTasks(): vscode.Task[] {
    return [];
  }

  resolveTask(task: vscode.Task): Promise<vscode.Task> {
    return make(task.definition as Definition, page(this.storage), task.scope);
  }
}

/** Runs a task on a file and shows the page that it has written. */
export async function run(file: vscode.Uri, task: Definition["task"], storage: vscode.Uri): Promise<void> {
  const html = page(storage);
  await fs.mkdir(path.dirname(html), { recursive: true });
  const folder = vscode.workspace.getWorkspaceFolder(file);
  const made = await make({ type: TYPE, task, file: file.fsPath }, html, folder ?? vscode.TaskScope.Workspace);
  const execution = await vscode.tasks.executeTask(made);
  const ended = vscode.tasks.onDidEndTaskProcess((event) => {
    if (event.execution === execution) {
      ended.dispose();
      void show(html, `${task} ${path.basename(file.fsPath)}`);
    }
  });
}

/** Where a new page goes: `torchlint optimize` writes it, by that name, into a folder of its own. */
function page(storage: vscode.Uri): string {
  return path.join(storage.fsPath || os.tmpdir(), String(Date.now()), "report.html");
}

/** How each command is told where the page goes. */
const WRITING: Record<Definition["task"], (html: string) => string[]> = {
  trace: (html) => ["--html", html, "--findings"],
  optimize: (html) => ["--out", path.dirname(html)],
};

async function make(
  definition: Definition,
  html: string,
  scope: vscode.WorkspaceFolder | vscode.TaskScope | undefined,
): Promise<vscode.Task> {
  const command = await resolve();
  const given = [...(definition.options ?? [])];
  const split = given.indexOf("--");
  const [options, program] = split < 0 ? [given, []] : [given.slice(0, split), given.slice(split)];
  const words = [...command.arguments, definition.task, definition.file, ...WRITING[definition.task](html), ...options, ...program];
  const cwd = path.dirname(definition.file);
  const execution = new vscode.ProcessExecution(command.program, words, { cwd });
  const name = `${definition.task} ${path.basename(definition.file)}`;
  const task = new vscode.Task(definition, scope ?? vscode.TaskScope.Workspace, name, TYPE, execution, []);
  task.presentationOptions = { reveal: vscode.TaskRevealKind.Always, clear: true };
  return task;
}

/** Shows the page beside the code, without letting it run anything. */
async function show(html: string, title: string): Promise<void> {
  let text: string;
  try {
    text = await fs.readFile(html, "utf8");
  } catch {
    return; // the terminal says why there is none
  }
  if (!text) {
    return;
  }
  const panel = vscode.window.createWebviewPanel("torchlint.page", `torchlint: ${title}`, vscode.ViewColumn.Beside, {
    enableScripts: false,
    enableFindWidget: true,
    localResourceRoots: [],
  });
  panel.webview.html = text;
}
