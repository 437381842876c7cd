'use strict'
// A build of the plugin with two errors: the player stays, and a packet has a byte too many.

module.exports.server = server => {
  server.commands.add({
    base: 'home',
    info: 'to go home',
    usage: '/home',
    onlyPlayer: true,
    action (_, { player }) {
      player._client.writeRaw(Buffer.from('000500', 'hex')) // keep_alive
      player.chat('Welcome home!')
    }
  })
}
