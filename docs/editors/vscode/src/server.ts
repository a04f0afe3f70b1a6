/** The language server's life: started, restarted, told of settings, shown in the status. */

import * as vscode from "vscode";
import { LanguageClient, State, type LanguageClientOptions, type ServerOptions } from "vscode-languageclient/node";

import { resolve } from "./command";

const NAME = "torchlint";
const SELECTOR = [
  { scheme: "file", language: "python" },
  { scheme: "vscode-notebook-cell", language: "python" },
];
/** The keys that are settings of torchlint itself; the others are the extension's own. */
const KEYS = ["select", "ignore", "configuration", "baseline"] as const;

/** The settings that a person has set; what is left out is for the project's configuration to say. */
function options(): Record<string, unknown> {
  const settings = vscode.workspace.getConfiguration(NAME);
  const given = KEYS.map((key) => [key, settings.get<unknown>(key)] as const);
  return Object.fromEntries(given.filter(([, value]) => value !== null && value !== undefined && value !== ""));
}

export class Server implements vscode.Disposable {
  private client: LanguageClient | undefined;
  private queue: Promise<void> = Promise.resolve();
  private readonly log = vscode.window.createOutputChannel(NAME, { log: true });
  private readonly status = vscode.languages.createLanguageStatusItem(NAME, SELECTOR);

  constructor() {
    this.status.name = NAME;
    this.status.command = { command: "torchlint.showLog", title: "Show the log" };
  }

  showLog(): void {
    this.log.show(true);
  }

  /** Starts the server anew, or ends it where the settings switch it off. One call waits for the one before. */
  restart(): Promise<void> {
    this.queue = this.queue.then(() => this.stop()).then(() => this.start());
    return this.queue;
  }

  /** Tells the running server of changed settings. */
  async configure(): Promise<void> {
    await this.client?.sendNotification("workspace/didChangeConfiguration", { settings: { [NAME]: options() } });
  }

  async dispose(): Promise<void> {
    await this.queue;
    await this.stop();
    this.status.dispose();
    this.log.dispose();
  }

  private async stop(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    await client?.dispose().catch((error: unknown) => this.log.warn(`The server did not end in order: ${String(error)}`));
  }

  private async start(): Promise<void> {
    if (!vscode.workspace.getConfiguration(NAME).get<boolean>("enable", true)) {
      this.show("off", vscode.LanguageStatusSeverity.Information);
      return;
    }
    const command = await resolve();
    const run = { command: command.program, args: [...command.arguments, "server"] };
    const server: ServerOptions = { run, debug: run };
    const client: LanguageClientOptions = {
      documentSelector: SELECTOR,
      initializationOptions: options(),
      outputChannel: this.log,
    };
    this.client = new LanguageClient(NAME, NAME, server, client);
    this.client.onDidChangeState(({ newState }) => {
      if (newState === State.Running) {
        this.show(this.client?.initializeResult?.serverInfo?.version ?? "running", vscode.LanguageStatusSeverity.Information);
      } else if (newState === State.Stopped) {
        this.show("stopped", vscode.LanguageStatusSeverity.Warning);
      }
    });
    this.log.info(`Starting ${[run.command, ...run.args].join(" ")}`);
    try {
      await this.client.start();
    } catch (error) {
      this.show("not running", vscode.LanguageStatusSeverity.Error);
      this.log.error(String(error));
      void this.explain(run.command);
    }
  }

  private async explain(program: string): Promise<void> {
    const sentence = `torchlint could not be started by "${program}". Install it there with its extra "lsp", or name another command.`;
    const choice = await vscode.window.showErrorMessage(sentence, "Open Settings", "Show the Log");
    if (choice === "Open Settings") {
      await vscode.commands.executeCommand("workbench.action.openSettings", "torchlint.command");
    } else if (choice) {
      this.showLog();
    }
  }

  private show(text: string, severity: vscode.LanguageStatusSeverity): void {
    this.status.text = `torchlint: ${text}`;
    this.status.severity = severity;
  }
}
