'use strict'
// Asks for the server list entry; prints it, with the latency nmp measured.

const mc = require('minecraft-protocol')
const { args, emit, die, settle, witness } = require('./common')

const opt = args({ version: '1.8.8', host: '127.0.0.1', port: 25565, log: '' })
witness(opt.log)

mc.ping({ version: opt.version, host: opt.host, port: opt.port }).then(status => {
  // Without a pong nmp still resolves, after 5 s, but has no latency then.
  if (status.latency === undefined) die('status, but no pong')
  emit('status', { status })
  settle(() => process.exit(0))
}, die)
