"""One module a rule, holding one function of the same name; they import `torchlint.rule` and the facts, nothing else."""
