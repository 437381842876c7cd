import assert from 'node:assert'
import { test } from 'node:test'
import { asSettings } from '../../../src/web/page/colors.js'

test('colours are written as the configuration has them', () => {
  const colors = [{ color: 'red', where: 'pkt.error' }, { color: 'blue', where: 'chat.message contains "it\'s \\\\ \u007f"' }]
  assert.strictEqual(asSettings(colors), String.raw`highlight = [
    'red: pkt.error',
    "blue: chat.message contains \"it's \\\\ \u007f\"",
]
`)
  assert.strictEqual(asSettings([]), "highlight = [\n    'none',\n]\n")
})
