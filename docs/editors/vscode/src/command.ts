/** How torchlint is run: the command of the settings, an interpreter's module, or what is on the PATH. */

import * as vscode from "vscode";

export interface Command {
  readonly program: string;
  readonly arguments: readonly string[];
}

/** What the Python extension exports, as far as it is needed here. */
interface PythonApi {
  readonly environments: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { readonly path: string };
    resolveEnvironment(environment: { readonly path: string }): Thenable<
      { readonly executable: { readonly uri?: vscode.Uri } } | undefined
    >;
    readonly onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
  };
}

const PYTHON = "ms-python.python";

/** The command that runs torchlint in this window. */
export async function resolve(): Promise<Command> {
  const settings = vscode.workspace.getConfiguration("torchlint");
  const [program, ...rest] = settings.get<string[]>("command", []);
  if (program) {
    return { program, arguments: rest };
  }
  const interpreter = settings.get<string>("interpreter", "") || (await chosen());
  return interpreter ? { program: interpreter, arguments: ["-m", "torchlint"] } : { program: "torchlint", arguments: [] };
}

/** Calls back when the Python extension's choice changes. */
export async function onInterpreterChange(changed: () => void): Promise<vscode.Disposable | undefined> {
  return (await python())?.environments.onDidChangeActiveEnvironmentPath(changed);
}

async function chosen(): Promise<string | undefined> {
  const environments = (await python())?.environments;
  if (!environments) {
    return undefined;
  }
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const environment = await environments.resolveEnvironment(environments.getActiveEnvironmentPath(folder));
  return environment?.executable.uri?.fsPath;
}

async function python(): Promise<PythonApi | undefined> {
  return vscode.extensions.getExtension<PythonApi>(PYTHON)?.activate();
}
