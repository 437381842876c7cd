'use strict'
// A Minecraft 1.8 client on node-minecraft-protocol that says what stdin tells it, a line each, and
// prints what it hears. Exits 0 once kicked.

const mc = require('minecraft-protocol')
const readline = require('readline')
const { args, emit, die } = require('./common')

const opt = args({ host: '127.0.0.1', port: 25565, name: 'Sayer' })
const client = mc.createClient({ version: '1.8.8', host: opt.host, port: opt.port, username: opt.name, auth: 'offline' })
let age = 0
let inOrder = true
let kicked = false

client.on('error', die)
client.once('position', ({ x, y, z, yaw, pitch }) => {
  client.write('custom_payload', { channel: 'MC|Brand', data: Buffer.from('\x07vanilla', 'latin1') })
  client.write('position_look', { x, y, z, yaw, pitch, onGround: false })
  emit('ready', {})
  readline.createInterface({ input: process.stdin }).on('line', message => client.write('chat', { message }))
})
client.on('update_time', packet => {
  inOrder &&= packet.age[1] === age + 1
  age = packet.age[1]
})
client.on('chat', ({ message }) => {
  const { text, extra, with: parts } = JSON.parse(message)
  if (extra) return // the server's welcome
  emit('chat', { text: parts ? parts[1] : text })
})
client.on('playerlist_header', ({ header, footer }) => {
  emit('list', { header: JSON.parse(header).text, footer: JSON.parse(footer).text })
})
client.on('kick_disconnect', ({ reason }) => {
  kicked = true
  emit('kicked', { text: JSON.parse(reason).text, 'in order': inOrder })
  process.exit(0)
})
client.on('end', () => { if (!kicked) die('the connection ended') })
