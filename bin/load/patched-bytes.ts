/** A range of bytes in which some places have another text: it is copied once, to where it is needed. */
export type PatchedBytes = {
  readonly bytes: Buffer
  readonly start: number
  readonly end: number
  /** In the order of their places. */
  readonly patches: readonly BytePatch[]
}

/** `text` stands for what is between two places; without one it stays. */
export type BytePatch = { readonly start: number; readonly end: number; readonly text: SizedText | undefined }

export type SizedText = { readonly text: string; readonly size: number }

export const sizedTextOf = (text: string): SizedText => ({ text, size: Buffer.byteLength(text) })

export function patchedSizeOf({ start, end, patches }: PatchedBytes): number {
  let size = end - start
  for (const patch of patches) if (patch.text !== undefined) size += patch.text.size - (patch.end - patch.start)
  return size
}

/** Returns where it ends. */
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
