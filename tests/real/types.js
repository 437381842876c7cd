// Validates lines of captures with a JSON Schema, and makes a TypeScript module of them.
//
//   node types.js SCHEMA LINES MODULE TYPES
//
// LINES is a JSONL capture. MODULE gets its packets as a constant of the type `Packet` that the module TYPES exports.
// Prints the number of packets that are valid and the errors of the others, as JSON.
"use strict"

const fs = require("fs")
const Ajv = require("ajv")

const [schema, lines, module_, types] = process.argv.slice(2)
const validate = new Ajv({ unknownFormats: ["uuid"] }).compile(JSON.parse(fs.readFileSync(schema, "utf8")))
const packets = fs.readFileSync(lines, "utf8").trim().split("\n").map((line) => JSON.parse(line))
const wrong = []
let valid = 0
for (const line of packets) {
  if (!validate(line)) {
    // Of a union, only the errors within the packet's own type.
    const errors = validate.errors.filter((it) => it.schemaPath.startsWith("#/definitions")).slice(0, 3)
    wrong.push({ packet: line.packet, fields: line.fields, errors: errors.map((it) => `${it.dataPath} ${it.message}`) })
  }
  else if (line.packet && !line.error) valid++
}
const typed = packets.filter((line) => line.packet && !line.error)
const parts = typed.map(({ state, dir, packet, fields }) => JSON.stringify({ state, dir, packet, fields }))
fs.writeFileSync(module_, `import type { Packet } from ${JSON.stringify(types)};\nexport const packets: Packet[] = [\n${parts.join(",\n")}\n];\n`)
console.log(JSON.stringify({ valid, wrong: wrong.slice(0, 3) }))
