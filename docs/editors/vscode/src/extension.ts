/** The extension: a language client for `torchlint server`, a status, and tasks that trace or optimize a program. */

import * as vscode from "vscode";

import { onInterpreterChange } from "./command";
import { Server } from "./server";
import { Provider, run } from "./tasks";

/** Settings that the server must be started anew for; it is told of the others. */
const RESTARTING = ["enable", "command", "interpreter", "trace"];

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const server = new Server();
  const storage = context.storageUri ?? context.globalStorageUri;
  const command = (name: string, action: () => unknown) => vscode.commands.registerCommand(`torchlint.${name}`, action);
  context.subscriptions.push(
    server,
    command("restart", () => server.restart()),
    command("showLog", () => server.showLog()),
    command("fixAll", fixAll),
    command("traceFile", () => onFile((file) => run(file, "trace", storage))),
    command("optimizeFile", () => onFile((file) => run(file, "optimize", storage))),
    vscode.tasks.registerTaskProvider("torchlint", new Provider(storage)),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (RESTARTING.some((key) => event.affectsConfiguration(`torchlint.${key}`))) {
        void server.restart();
      } else if (event.affectsConfiguration("torchlint")) {
        void server.configure();
      }
    }),
  );
  const watch = await onInterpreterChange(() => void server.restart());
  if (watch) {
    context.subscriptions.push(watch);
  }
  await server.restart();
}

/** Asks for the server's `source.fixAll.torchlint`, as saving with `editor.codeActionsOnSave` does. */
async function fixAll(): Promise<void> {
  await vscode.commands.executeCommand("editor.action.codeAction", { kind: "source.fixAll.torchlint", apply: "first" });
}

async function onFile(action: (file: vscode.Uri) => Promise<void>): Promise<void> {
  const document = vscode.window.activeTextEditor?.document;
  if (document?.uri.scheme === "file" && (!document.isDirty || (await document.save()))) {
    await action(document.uri);
  }
}
