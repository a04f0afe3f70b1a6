-- Run by test_nvim.py: opens a file, waits for its diagnostics, applies the first fix, saves, and writes what it saw as JSON.
local python, file, report = vim.env.TORCHLINT_PYTHON, vim.env.TORCHLINT_FILE, vim.env.TORCHLINT_REPORT
local seen = {}

local function diagnostics()
  return vim.tbl_map(function(one) return { one.lnum + 1, one.code or vim.tbl_get(one, "user_data", "lsp", "code"), one.message } end, vim.diagnostic.get(0))
end

vim.cmd("edit " .. file)
local client = vim.lsp.start_client({
  name = "torchlint",
  cmd = { python, "-m", "torchlint", "server" },
  root_dir = vim.fn.fnamemodify(file, ":h"),
})
vim.lsp.buf_attach_client(0, client)
vim.wait(60000, function() return #vim.diagnostic.get(0) > 0 end, 50)
seen.before = diagnostics()

local params = vim.lsp.util.make_given_range_params({ seen.before[1][1], 0 }, { seen.before[1][1], 200 })
params.context = { diagnostics = {}, only = { "quickfix" } }
local answer = vim.lsp.buf_request_sync(0, "textDocument/codeAction", params, 60000)[client]
seen.titles = vim.tbl_map(function(action) return action.title end, answer.result)
vim.lsp.util.apply_workspace_edit(answer.result[1].edit, "utf-16")
seen.text = vim.api.nvim_buf_get_lines(0, 0, -1, false)
vim.wait(60000, function() return #vim.diagnostic.get(0) < #seen.before end, 50)
seen.after = diagnostics()

vim.fn.writefile({ vim.json and vim.json.encode(seen) or vim.fn.json_encode(seen) }, report)
vim.lsp.stop_client(client)
vim.wait(10000, function() return vim.lsp.client_is_stopped(client) end, 50)
vim.cmd("qall!")
