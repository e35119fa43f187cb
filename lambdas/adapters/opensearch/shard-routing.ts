/**
 * Routing values that address the shards of an index. OpenSearch stores a document in the shard that the hash of its routing value selects:
 * MurmurHash3 of 32 bits of the text in UTF-16, modulo the number of shards. The indices set `number_of_routing_shards` to that number.
 * https://docs.opensearch.org/latest/field-types/metadata-fields/routing/
 */

/** Returns one routing value for each shard, in the order of the shards. The only shard of an index needs none. */
export function shardRoutings(shards: number): readonly (string | undefined)[] {
  if (shards === 1) return [undefined]
  const routings: (string | undefined)[] = Array(shards).fill(undefined)
  for (let value = 0, missing = shards; missing > 0; value++) {
    const shard = ((hashOf(`${value}`) % shards) + shards) % shards
    if (routings[shard] !== undefined) continue
    routings[shard] = `${value}`
    missing--
  }
  return routings
}

/** MurmurHash3 x86_32 with the seed 0, as a signed number. https://github.com/aappleby/smhasher/blob/master/src/MurmurHash3.cpp */
function hashOf(text: string): number {
  const bytes = Buffer.from(text, 'utf16le')
  const whole = bytes.length & ~3
  let hash = 0
  for (let at = 0; at < whole; at += 4) {
    hash = rotate(hash ^ mix(bytes.readInt32LE(at)), 13)
    hash = (Math.imul(hash, 5) + 0xe6546b64) | 0
  }
  // UTF-16 has two bytes for each unit, so either nothing or one unit is left.
  if (bytes.length > whole) hash ^= mix(bytes.readUInt16LE(whole))
  hash ^= bytes.length
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return hash ^ (hash >>> 16)
}

const mix = (block: number): number => Math.imul(rotate(Math.imul(block, 0xcc9e2d51), 15), 0x1b873593)

const rotate = (number: number, bits: number): number => (number << bits) | (number >>> (32 - bits))
