"""One module a subcommand: `add(commands)` declares its arguments, `run(args)` does it and returns the exit code."""
