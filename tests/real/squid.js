'use strict'
// A flying-squid server: creative world in memory, flat unless --generation says otherwise, or that in the folder --world,
// offline.
// Exits 0 after --sessions players left (0: runs until SIGTERM).

const { args, emit, die, settle, witness } = require('./common')

const opt = args({ version: '1.8.8', host: '127.0.0.1', port: 0, log: '', sessions: 1, generation: 'superflat', world: '' })
witness(opt.log)

// flying-squid opens a command prompt on stdin and stdout when it is loaded.
Object.defineProperty(process, 'stdout', { value: process.stderr })

const squid = require('flying-squid').createMCServer({
  version: opt.version,
  host: opt.host,
  port: opt.port,
  motd: 'flying-squid',
  'online-mode': false,
  'max-players': 5,
  'max-entities': 10,
  'view-distance': 2,
  gameMode: 1,
  difficulty: 0,
  generation: { name: opt.generation, options: { seed: 1 } },
  ...(opt.world && { worldFolder: opt.world }), // without it, nothing is saved
  'player-list-text': { header: { text: 'header' }, footer: { text: 'footer' } },
  'everybody-op': true,
  kickTimeout: 10000,
  plugins: {},
  logging: false,
  noConsoleOutput: true
})
squid.on('error', die)
squid.on('ready', () => emit('listening', { port: squid.listeningPort }))
squid.on('newPlayer', player => {
  player.on('connected', () => emit('join', { name: player.username }))
  player.on('chat', ({ message }) => emit('chat', { message }))
  player._client.on('end', () => settle(() => {
    emit('left', { name: player.username })
    if (--opt.sessions === 0) process.exit(0)
  }))
})
