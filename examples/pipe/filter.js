// Masks words in chat, and answers `!ping` (1.8 to 1.15) itself. Needs nothing but Node.
//
//   mitmcraft proxy mc.example.org --pipe 'node examples/pipe/filter.js darn heck' \
//     --pipe-where 'serverbound and role.chat'
'use strict'

const words = process.argv.slice(2)

// Returns what becomes of a packet: the answer without its `id`.
function decide (packet) {
  const message = packet.fields?.message
  if (packet.error !== undefined || message === undefined) return { pass: true }
  if (message === '!ping') {
    const fields = { message: { text: 'pong' }, position: 0 }
    return { drop: true, send: [{ to: 'client', packet: 'chat', fields }] }
  }
  let masked = message
  for (const word of words) masked = masked.replaceAll(word, '*'.repeat(word.length))
  return masked === message ? { pass: true } : { set: { message: masked } }
}

require('readline').createInterface({ input: process.stdin }).on('line', line => {
  const packet = JSON.parse(line)
  console.log(JSON.stringify({ id: packet.id, ...decide(packet) }))
})
