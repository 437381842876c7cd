'use strict'
// A proxy as people write it with node-minecraft-protocol, for tests/bench: a server and a client that
// pass every packet on. Takes the server's address as its argument.

const mc = require('minecraft-protocol')
const { emit, die } = require('./common')

const [host, port] = process.argv[2].split(':')
const version = '1.8.8'
const server = mc.createServer({ host: '127.0.0.1', port: 0, version, keepAlive: false, 'online-mode': false })

server.on('error', die)
server.on('login', client => {
  const target = mc.createClient({ host, port: Number(port), version, keepAlive: false, username: client.username })
  const waiting = []
  client.on('packet', (data, { name, state }) => {
    if (state !== mc.states.PLAY) return
    if (target.state === mc.states.PLAY) target.write(name, data)
    else waiting.push([name, data])
  })
  target.on('state', state => {
    if (state === mc.states.PLAY) waiting.splice(0).forEach(([name, data]) => target.write(name, data))
  })
  target.on('packet', (data, { name, state }) => {
    if (state === mc.states.PLAY) client.write(name, data)
  })
  for (const end of [client, target]) end.on('error', die)
  client.on('end', () => target.end())
  target.on('end', () => client.end())
})
server.on('listening', () => emit('listening', { port: server.socketServer.address().port }))
