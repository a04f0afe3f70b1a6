"""The language server: editors see findings while people type. Needs the extra `lsp` (pygls)."""
