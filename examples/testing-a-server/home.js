'use strict'
// The plugin under test: `/home` takes the player back to where the world begins.

const { Vec3 } = require('vec3')

module.exports.server = server => {
  server.commands.add({
    base: 'home',
    info: 'to go home',
    usage: '/home',
    onlyPlayer: true,
    action (_, { player }) {
      player.teleport(new Vec3(0.5, 80, 0.5))
      player.chat('Welcome home!')
    }
  })
}
