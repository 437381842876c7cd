'use strict'
// A flying-squid server of 1.8.8 with the plugin that is given. Prints its port, and runs until it is killed.

const path = require('path')

const plugin = require(path.resolve(process.argv[2]))

// flying-squid opens a command prompt on stdin and stdout when it is loaded.
const say = process.stdout.write.bind(process.stdout)
Object.defineProperty(process, 'stdout', { value: process.stderr })

const server = require('flying-squid').createMCServer({
  version: '1.8.8',
  host: '127.0.0.1',
  port: Number(process.env.PORT || 0),
  motd: 'under test',
  'online-mode': false,
  'max-players': 5,
  'max-entities': 10,
  'view-distance': 2,
  gameMode: 1,
  difficulty: 0,
  generation: { name: 'superflat', options: { seed: 1 } },
  'player-list-text': { header: { text: '' }, footer: { text: '' } },
  'everybody-op': true,
  kickTimeout: 10000,
  plugins: {},
  logging: false,
  noConsoleOutput: true
})
server.on('error', error => { console.error(error); process.exit(2) })
server.on('pluginsReady', () => plugin.server(server))
server.on('ready', () => say(`${server.listeningPort}\n`))
