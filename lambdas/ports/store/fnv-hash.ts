/**
 * Returns the 32-bit FNV-1a hash of the text's UTF-16 code units. It is the same in every process.
 * http://www.isthe.com/chongo/tech/comp/fnv/
 */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash >>> 0
}
