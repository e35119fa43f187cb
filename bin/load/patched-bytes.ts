/** A range of bytes with replacements. They are applied while the range is copied to its destination, without an intermediate copy. */
export type PatchedBytes = {
  readonly bytes: Buffer
  readonly start: number
  readonly end: number
  /** Replacements in the order of their offsets. */
  readonly patches: readonly BytePatch[]
}

/** `text` replaces the bytes between two offsets. Without it these bytes stay. */
export type BytePatch = { readonly start: number; readonly end: number; readonly text: SizedText | undefined }

export type SizedText = { readonly text: string; readonly size: number }

export const sizedTextOf = (text: string): SizedText => ({ text, size: Buffer.byteLength(text) })

export function patchedSizeOf({ start, end, patches }: PatchedBytes): number {
  let size = end - start
  for (const patch of patches) if (patch.text !== undefined) size += patch.text.size - (patch.end - patch.start)
  return size
}

/** Writes the patched bytes at an offset of `out`. Returns the offset of their end. */
export function writePatched({ bytes, start, end, patches }: PatchedBytes, out: Buffer, at: number): number {
  let from = start
  let to = at
  for (const patch of patches) {
    if (patch.text === undefined) continue
    to += bytes.copy(out, to, from, patch.start)
    to += out.write(patch.text.text, to)
    from = patch.end
  }
  return to + bytes.copy(out, to, from, end)
}

export function patchedBufferOf(patched: PatchedBytes): Buffer {
  const out = Buffer.allocUnsafe(patchedSizeOf(patched))
  writePatched(patched, out, 0)
  return out
}
