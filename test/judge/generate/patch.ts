/** A resource with patches applied. */
import type { Patch } from './candidate.ts'
import type { Tree } from './definitions.ts'

export function applyPatches(resource: Tree, patches: readonly Patch[]): Tree {
  const copy = structuredClone(resource)
  for (const patch of patches) apply(copy, patch[0].slice(1).split('/'), patch)
  return copy
}

function apply(tree: Tree, [key, ...rest]: readonly string[], patch: Patch): void {
  if (rest.length > 0) apply(tree[key!], rest, patch)
  else if (patch.length === 2) tree[key!] = structuredClone(patch[1])
  else if (Array.isArray(tree)) tree.splice(Number(key), 1)
  else delete tree[key!]
}
