'use strict'
// What prismarine-provider-anvil reads in the regions of worlds: for each chunk its blocks, from the lowest up, by z and
// x, as a hash of the numbers of their states.
//
//   node worlds.js VERSION:FOLDER:BOTTOM:TOP:X,Z:X,Z ..

const crypto = require('crypto')
const { Anvil } = require('prismarine-provider-anvil')
const { Vec3 } = require('vec3')

async function read (version, folder, bottom, top, places) {
  const world = new (Anvil(version))(folder)
  for (const place of places) {
    const [x, z] = place.split(',').map(Number)
    const chunk = await world.load(x, z)
    const states = []
    const pos = new Vec3(0, 0, 0)
    for (pos.y = bottom; pos.y < top; pos.y++) {
      for (pos.z = 0; pos.z < 16; pos.z++) {
        for (pos.x = 0; pos.x < 16; pos.x++) states.push(chunk.getBlockStateId(pos))
      }
    }
    const bytes = Buffer.from(Uint32Array.from(states).buffer)
    const line = { version, x, z, states: crypto.createHash('sha1').update(bytes).digest('hex'), count: states.length }
    process.stdout.write(JSON.stringify(line) + '\n')
  }
}

async function main () {
  for (const argument of process.argv.slice(2)) {
    const [version, folder, bottom, top, ...places] = argument.split(':')
    await read(version, folder, Number(bottom), Number(top), places)
  }
}

main()
