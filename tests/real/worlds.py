"""What anvil-parser2 and nbtlib read in a world: for each chunk from 1.13 on its blocks, from the lowest up, by z and x, as
a hash of their names with properties, and what `level.dat` says.

    python worlds.py WORLD REGIONS BOTTOM TOP X,Z ..
"""

import hashlib
import json
import sys

import anvil
import nbtlib

world, regions, bottom, top, *places = sys.argv[1:]
level = nbtlib.load(f"{world}/level.dat")
data = level["Data"]
print(json.dumps({"version": int(data["version"]), "data": int(data.get("DataVersion", 0)), "keys": sorted(data)}))
known = {}
for place in places:
    x, z = map(int, place.split(","))
    if (x >> 5, z >> 5) not in known:
        known[x >> 5, z >> 5] = anvil.Region.from_file(f"{regions}/r.{x >> 5}.{z >> 5}.mca")
    chunk = anvil.Chunk.from_region(known[x >> 5, z >> 5], x, z)
    names = []
    for y in range(int(bottom), int(top)):
        # anvil-parser2 takes a section of a single block for air.
        section = chunk.get_section(y >> 4)
        palette = chunk.get_palette(section) if section else None
        single = palette[0] if palette and len(palette) == 1 else None
        for at in range(256):
            block = single or chunk.get_block(at & 15, y, at >> 4)
            properties = sorted(f"{key}={value}" for key, value in (block.properties or {}).items())
            names.append(f"{block.id}[{','.join(properties)}]")
    text = "\n".join(names).encode()
    print(json.dumps({"x": x, "z": z, "named": hashlib.sha1(text).hexdigest(), "count": len(names)}))
